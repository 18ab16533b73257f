"""What a measurement was made on and with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

import loopwright
from loopwright.sched.runtime.hardware import core_count, processor_name


def numpy_text() -> str:
    """NumPy's version, and that of the library that does its matrix multiplications."""
    import numpy as np

    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    name, version = blas.get("name", ""), blas.get("version", "")
    return f"{np.__version__} ({name} {version})" if name else np.__version__


def facts(threads: int, target: Any = None) -> dict[str, str]:
    """Machine, threads and versions, in words."""
    named = f", {target.mcpu}" if target is not None else ""
    times = {"times": "of kernels, by the device's events, without copies"} if on_device(target) else {}
    return {
        "machine": f"{processor_name()}{named}, {core_count()} cores",
        "threads": f"{threads}, for every contender",
        **times,
        "versions": (
            f"loopwright {loopwright.__version__}, TVM {importlib.metadata.version('apache-tvm')}, "
            f"NumPy {numpy_text()}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
        ),
    }


def on_device(target: Any) -> bool:
    """Whether a target is a device, which times its kernels itself."""
    return target is not None and target.kind != "cpu"


def other_load(threads: int) -> str | None:
    """Say that other programs keep the machine busy, if they do: what is measured then is their noise.

    Args:
        threads: how many a contender will use.
    """
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
    if load + threads <= (os.cpu_count() or 1) + 0.7:
        return None
    return f"other programs keep this machine busy (load {load:.1f}): times will be too long, and ratios uncertain"

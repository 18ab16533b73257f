"""A CUDA device that is this CPU, for machines without a GPU: TVM's own CUDA runtime, over stand-ins for NVIDIA's libraries.

Kernels are compiled from the CUDA source that a GPU would get, by the system's C++ compiler; see ``emulated/``.

    python -m tests.gpu.emulated_cuda python -m tests.gpu.hunt --target cuda --cases 20
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).with_name("emulated")
ROOT = HERE.parents[2]
NEEDED = ("gcc", "g++")


def lacking() -> str | None:
    """Which compiler is missing; None if all is there."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"no {missing[0]} on the path" if missing else None


def emulated(folder: Path) -> dict[str, str]:
    """The environment of processes that have the device; its libraries are made in ``folder``."""
    versions = folder / "versions"
    versions.write_text("libcudart.so.13 { global: *; };")
    runtime = [str(HERE / "cuda.c"), f"-Wl,--version-script={versions}"]
    for name, sources in {"libcudart.so.13": runtime, "libcuda.so.1": ["-xc", os.devnull]}.items():
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-o", str(folder / name), f"-Wl,-soname,{name}"]
        subprocess.run(["gcc", *options, *sources], check=True)
    nvcc = folder / "nvcc"
    nvcc.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(HERE / "nvcc.py"))} "$@"\n'
    )
    nvcc.chmod(0o755)
    first = {"PATH": folder, "LD_LIBRARY_PATH": folder, "PYTHONPATH": ROOT}
    return {**os.environ, **{name: _before(str(place), name) for name, place in first.items()}}


def _before(place: str, name: str) -> str:
    """A folder before those that an environment variable lists."""
    return os.pathsep.join(filter(None, [place, os.environ.get(name)]))


def main() -> int:
    """Run a command with the device."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(sys.argv[1:], env=emulated(Path(folder)), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

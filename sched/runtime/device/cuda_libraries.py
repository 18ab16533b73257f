"""Where NVIDIA's tools and libraries are: in its toolkit, in packages for Python, or where the system looks."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# What names the folder of the toolkit, and where it usually is.
HOMES = ("CUDA_PATH", "CUDA_HOME")
USUAL_HOME = "/usr/local/cuda"
# Where packages keep their files, in the namespace `nvidia`: the second is of a library's older packages.
_TOGETHER, _APART = "cu13", "cuda_*"


def find_nvcc() -> str | None:
    """NVIDIA's compiler: on the path, or in the toolkit; None if it is not there."""
    in_homes = (shutil.which("nvcc", path=str(home / "bin")) for home in _homes())
    return shutil.which("nvcc") or next(filter(None, in_homes), None)


def load(name: str) -> ctypes.CDLL | None:
    """A library, such as ``"libcudart.so.13"``, for all that is loaded later; None if it is nowhere."""
    for path in (name, *(str(folder / name) for folder in folders("lib", "lib64"))):
        with suppress(OSError):
            return ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    return None


def folders(*names: str) -> Iterator[Path]:
    """The folders of these names in NVIDIA's packages and in its toolkit."""
    spec = importlib.util.find_spec("nvidia")
    for package in map(Path, (spec and spec.submodule_search_locations) or ()):
        for part in (package / _TOGETHER, *sorted(package.glob(_APART))):
            yield from (part / name for name in names if (part / name).is_dir())
    for home in _homes():
        yield from (home / name for name in names if (home / name).is_dir())


def _homes() -> Iterator[Path]:
    """The folders in which the toolkit may be, the likeliest first."""
    yield from (Path(os.environ[name]) for name in HOMES if os.environ.get(name))
    on_path = shutil.which("nvcc")
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent
    yield Path(USUAL_HOME)

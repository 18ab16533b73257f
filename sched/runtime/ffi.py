"""The part of TVM a finished kernel needs, brought in without importing the compiler."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from loopwright.sched.errors import LoadError


@cache
def runtime_library() -> ctypes.CDLL:
    """TVM's runtime, loaded so that kernels find its symbols.

    Raises:
        LoadError: it is not installed, or broken.
    """
    foreign_functions()
    spec = importlib.util.find_spec("tvm")  # finds the folder; runs nothing in it
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder) / "lib" / "libtvm_runtime.so"
        if path.exists():
            try:
                return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
            except OSError as error:
                raise LoadError(f"TVM's runtime cannot be loaded: {error}") from None
    raise LoadError("TVM's runtime is not installed: pip install apache-tvm==0.27.0.post1")


@cache
def foreign_functions() -> Any:
    """The module ``tvm_ffi``, through which compiled functions are called.

    Raises:
        LoadError: it is not installed.
    """
    if "tvm_ffi" not in sys.modules:
        with _hidden("torch", "cuda"):
            _import_ffi()
    return _import_ffi()


def _import_ffi() -> Any:
    try:
        import tvm_ffi
    except ImportError as error:
        raise LoadError(
            f"tvm_ffi cannot be imported ({error}): pip install apache-tvm-ffi==0.1.14.post1"
        ) from None
    return tvm_ffi


class _Hide:
    """Makes packages look absent to one thread. (Its base class would take longer to import than it saves.)"""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname.split(".")[0] in self.names and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextmanager
def _hidden(*names: str) -> Iterator[None]:
    """Keep ``tvm_ffi`` from importing packages of whole seconds that it only looks for, unless they are loaded."""
    finder = _Hide(tuple(name for name in names if name not in sys.modules))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)

"""Kernels as a static library and a C header: for programs without Python, on nothing but the C library."""

from __future__ import annotations

import ctypes
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from loopwright.sched.errors import ExportError, path_of
from loopwright.sched.runtime.c_source import SIGN, CFunction, header, identifier, source
from loopwright.sched.runtime.library import check_exportable
from loopwright.sched.runtime.toolchain import run, tool, writing
from loopwright.sched.runtime.versions import versions

if TYPE_CHECKING:
    from loopwright.sched.runtime.kernel import Kernel

RUNTIME = Path(__file__).with_name("c_runtime.c")


def export_c(kernel: Kernel, path: str | PathLike[str], name: str | None, threads: bool) -> Path:
    """Write ``kernel`` as a static library with a header; see :meth:`Kernel.export_c`."""
    if path_of(path, "export_c", ExportError).suffix != ".a":
        raise ExportError(
            f"a static library is called NAME.a, and its header, written beside it, NAME.h; not {path}"
        )
    function = _function(kernel, name)
    with writing(path) as (goal, folder):
        _check_header(goal.with_suffix(".h"))
        made, text = _archived(kernel, function, folder, threads), folder / "library.h"
        text.write_text(_header(function, goal), encoding="utf-8")
        text.replace(goal.with_suffix(".h"))
        made.replace(goal)
    return goal


def _function(kernel: Kernel, name: str | None) -> CFunction:
    check_exportable(kernel)
    if kernel.prepacking is not None:
        raise ExportError(
            f"{kernel.signature.name} packs its weights, which static libraries do not hold yet"
        )
    called = identifier(kernel.signature.name) if name is None else name
    if not isinstance(called, str) or called != identifier(called):
        raise ExportError(f"name={name!r} is no name for a C function")
    if _in_the_c_library(called):
        if name is not None:
            raise ExportError(f"name={name!r}: the C library has a function of that name")
        called += "_"
    return CFunction(called, kernel.signature, kernel.target, kernel.provenance)


def _in_the_c_library(name: str) -> bool:
    """Whether a function of that name would stand in the way of one that programs call: `exp`, say."""
    return hasattr(ctypes.CDLL(None), name)


def _check_header(path: Path) -> None:
    """A header of the user's own that happens to have the name stays."""
    if path.exists() and not path.read_bytes().startswith(SIGN.encode()):
        raise ExportError(f"cannot write {path}: it is there already, and Loopwright did not make it")


def _header(function: CFunction, goal: Path) -> str:
    guard = f"LOOPWRIGHT_{identifier(goal.stem).upper()}_H"
    return header([function], goal.name, guard, versions().get("loopwright", "of unknown version"))


def _archived(kernel: Kernel, function: CFunction, folder: Path, threads: bool) -> Path:
    """Compile everything, and put the object files into one archive.

    A linker takes from an archive the files it needs, and from the first archive what several have: so the kernels of a
    program share one set of workers.
    """
    from loopwright.sched.runtime.compile import compile_for_c, pool_module

    compiler, archiver = tool("CC"), tool("AR")
    module = compile_for_c(kernel.lowered, kernel.signature, kernel.target, function.entry)
    objects = [folder / f"{function.entry}.o"]
    module.write_to_file(str(objects[0]), "o")
    if threads:
        objects.append(folder / "loopwright_pool.o")
        pool_module(module).write_to_file(str(objects[-1]), "o")
    text = folder / f"{function.name}.c"
    text.write_text(source([function]), encoding="utf-8")
    for file, name in ((text, function.name), (RUNTIME, "loopwright_runtime")):
        made = folder / f"{name}.o"
        options = ["-O2", "-fPIC", *([] if threads else ["-DLOOPWRIGHT_SERIAL"])]
        objects.append(run([compiler, "-c", *options, "-o", str(made), str(file)], made))
    archive = folder / "library.a"
    return run([archiver, "rcsD", str(archive), *map(str, objects)], archive)

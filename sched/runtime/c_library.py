"""Kernels as a static library and a C header: for programs without Python, on nothing but the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from loopwright.sched.errors import ExportError, path_of
from loopwright.sched.runtime.c_source import SIGN, CFunction, header, identifier, source
from loopwright.sched.runtime.library import check_exportable
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.toolchain import find_tool, run, tool, writing
from loopwright.sched.runtime.triples import host_triple
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
    sources = _sources(function, threads)
    with writing(path) as (goal, folder):
        objects = _machine_code(kernel, function, folder, threads)
        if lacks_compiler(kernel.target):
            beside = {goal.with_name(name): text for name, text in sources.items()}
            what = f"compile {' and '.join(sources)} along with the program, and link with {goal.name}"
        else:
            objects += _compiled(sources, kernel.target, folder)
            beside, what = {}, f"link with {goal.name}"
        guard = f"LOOPWRIGHT_{identifier(goal.stem).upper()}_H"
        beside[goal.with_suffix(".h")] = header([function], what, guard, _version())
        for file in beside:
            _check_ours(file)
        archive = folder / "library.a"
        run([tool("AR", kernel.target.triple), "rcsD", str(archive), *map(str, objects)], archive)
        for file, text in beside.items():
            made = folder / f"new_{file.name}"
            made.write_text(text, encoding="utf-8")
            made.replace(file)
        archive.replace(goal)
    return goal


def lacks_compiler(target: Target) -> bool:
    """Whether no C compiler for another kind of machine is here: then its users compile what is written in C."""
    return target.triple != host_triple() and find_tool("CC", target.triple) is None


def _function(kernel: Kernel, name: str | None) -> CFunction:
    check_exportable(kernel)
    called = identifier(kernel.signature.name) if name is None else name
    if not isinstance(called, str) or called != identifier(called):
        raise ExportError(f"name={name!r} is no name for a C function")
    if _in_the_c_library(called):
        if name is not None:
            raise ExportError(f"name={name!r}: the C library has a function of that name")
        called += "_"
    if kernel.signature.weights:
        from loopwright.sched.runtime.c_weights import WeightedFunction

        return WeightedFunction(called, kernel.signature, kernel.target, kernel.provenance, kernel.prepacking)
    return CFunction(called, kernel.signature, kernel.target, kernel.provenance)


def _in_the_c_library(name: str) -> bool:
    """Whether a function of that name would stand in the way of one that programs call: `exp`, say."""
    return hasattr(ctypes.CDLL(None), name)


def _check_ours(path: Path) -> None:
    """A file of the user's own that happens to have the name stays."""
    if path.exists() and not path.read_bytes().startswith(SIGN.encode()):
        raise ExportError(f"cannot write {path}: it is there already, and Loopwright did not make it")


def _sources(function: CFunction, threads: bool) -> dict[str, str]:
    """What of a library is written in C: file -> text.

    Each is an object file of its own. A linker takes from an archive the files it needs, and from the first archive what several
    have: so the kernels of a program share one set of workers.
    """
    sign = f"{SIGN} {_version()}. */\n"
    serial = "" if threads else "#define LOOPWRIGHT_SERIAL\n"
    return {
        f"{function.name}.c": sign + source([function]),
        "loopwright_runtime.c": sign + serial + RUNTIME.read_text(encoding="utf-8"),
    }


def _version() -> str:
    return versions().get("loopwright", "of unknown version")


def _machine_code(kernel: Kernel, function: CFunction, folder: Path, threads: bool) -> list[Path]:
    """The object files that LLVM makes: the kernel, and the pool of workers."""
    from loopwright.sched.runtime.compile import compile_for_c, pool_module

    signatures = [kernel.entry, *([kernel.prepacking.pack] if kernel.prepacking is not None else [])]
    names = (function.entry, function.pack_entry)
    objects = []
    for func, signature, name in zip(kernel.lowered_parts, signatures, names, strict=False):
        module = compile_for_c(func, signature, kernel.target, name)
        objects.append(folder / f"{name}.o")
        module.write_to_file(str(objects[-1]), "o")
    if threads:
        objects.append(folder / "loopwright_pool.o")
        pool_module(module, kernel.target.triple).write_to_file(str(objects[-1]), "o")
    return objects


def _compiled(sources: Mapping[str, str], target: Target, folder: Path) -> list[Path]:
    """The object files of what is written in C."""
    compiler, objects = tool("CC", target.triple), []
    for name, text in sources.items():
        file = folder / name
        file.write_text(text, encoding="utf-8")
        made = file.with_suffix(".o")
        objects.append(run([compiler, "-c", "-O2", "-fPIC", "-o", str(made), str(file)], made))
    return objects

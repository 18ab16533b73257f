"""Kernels as shared libraries: written whole with their own signature inside, loaded without the compiler.

What only exporting needs is imported there: loading has to be quick.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ExportError, LoadError, TargetError, path_of
from loopwright.sched.runtime import threads
from loopwright.sched.runtime.ffi import foreign_functions, runtime_library
from loopwright.sched.runtime.signature import Signature
from loopwright.sched.runtime.target import Target, host_facts

if TYPE_CHECKING:
    from loopwright.sched.runtime.kernel import Kernel

FORMAT = 1
SYMBOL = "loopwright_library"
# Stands before the description inside the file, so that it is found without running the library.
MARKER = b"loopwright-library\n"
ENTRY, POOL = "main", "pool"
# Path -> what it was when it was first loaded: device, number, time and length.
_loaded: dict[str, tuple[int, ...]] = {}


def export(kernel: Kernel, path: str | PathLike[str]) -> Path:
    """Write ``kernel`` as a shared library; see :meth:`Kernel.export`."""
    from loopwright.sched.runtime.toolchain import writing

    with writing(path) as (goal, folder):
        made = _copied(kernel, folder) if kernel.module is None else _linked(kernel, folder)
        made.replace(goal)
    return goal


def load(path: str | PathLike[str]) -> Kernel:
    """Load a library that :meth:`Kernel.export` wrote; it is called just like the kernel it came from.

    Neither TVM's compiler nor the tuner is imported.

    Raises:
        LoadError: no such file, not a library of ours, damaged, or written by a newer version.
        TargetError: it was built for a CPU with features this one lacks.
    """
    from loopwright.sched.runtime.kernel import Kernel

    file = path_of(path, "load", LoadError)
    description = _describe(file)
    try:
        signature = Signature.from_json(description["signature"])
        target = Target.from_json(description["target"])
        parallel, provenance = bool(description["parallel"]), description["provenance"]
    except (KeyError, LoadError, TargetError) as error:
        raise LoadError(f"{file} is damaged: its description lacks something ({error})") from None
    here = host_facts()
    missing = target.missing_on(here)
    if missing:
        raise TargetError(f"{file} was built for a CPU with {', '.join(missing)}; this one lacks it")
    threads.configure(here.cores)
    runtime_library()
    function = _function(file, parallel)
    return Kernel(signature, function, target=target, parallel=parallel, provenance=provenance, path=file)


def _function(file: Path, parallel: bool) -> Any:
    """The entry of a library."""
    # load_module would go by the file's suffix. An absolute path: a bare name would be searched for elsewhere.
    load_shared = foreign_functions().get_global_func("ffi.Module.load_from_file.so")
    try:
        with _name_for(file) as path:
            if parallel and not threads.has_pool():
                threads.install(load_shared(path, "so").get_function(POOL))
            with threads.launching():
                return load_shared(path, "so").get_function(ENTRY)
    except Exception as error:  # the foreign function interface raises classes of its own
        raise LoadError(f"{file} cannot be loaded: {str(error).strip().splitlines()[-1]}") from None


@contextmanager
def _name_for(file: Path) -> Iterator[str]:
    """A path to load a library by.

    The system's loader knows libraries by their paths, and of one that it has it gives the old code again, whatever has been
    written there since: so another file of that path is loaded from a copy.
    """
    path, status = str(file.resolve()), file.stat()
    here = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    if _loaded.setdefault(path, here) == here:
        yield path
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
        yield str(shutil.copy(path, folder))


def _copied(kernel: Kernel, folder: Path) -> Path:
    """A loaded kernel is exported by copying its library."""
    import shutil

    if kernel.path is None:
        raise ExportError(f"{kernel.signature.name} has no code to export")
    return Path(shutil.copy(kernel.path, folder / "library.so"))


def _linked(kernel: Kernel, folder: Path) -> Path:
    from loopwright.sched.runtime.toolchain import run, tool

    if not kernel.checked:
        raise ExportError(
            f"{kernel.signature.name} was built without argument checks; build it with them to export it"
        )
    compiler = tool("CC")
    parts = [folder / "kernel.o"]
    kernel.module.write_to_file(str(parts[0]), "o")
    if kernel.parallel:
        from loopwright.sched.runtime.compile import pool_module

        parts.append(folder / "pool.o")
        pool_module(kernel.module).write_to_file(str(parts[1]), "o")
    text, made = folder / "description.c", folder / "library.so"
    text.write_text(_c_source(kernel))
    files = map(str, [*parts, text])
    options = ["-shared", "-fPIC", "-O1", "-o", str(made)]
    return run([compiler, *options, *files, *_foreign(kernel), "-lm", "-lpthread"], made)


def _foreign(kernel: Kernel) -> list[str]:
    """What links the C functions that a kernel calls; one that is missing where the library is loaded is found out then."""
    from loopwright.sched.language.extern import externs, libraries

    if kernel.schedule is None or not any(externs(kernel.schedule.work)):
        return []
    paths = sorted(set(libraries(kernel.schedule.work).values()))
    return [*paths, *(f"-Wl,-rpath,{Path(path).parent}" for path in paths), "-Wl,-z,now"]


def _c_source(kernel: Kernel) -> str:
    """A C file with the library's description in a constant."""
    description = {
        "format": FORMAT,
        "signature": kernel.signature.to_json(),
        "target": {**kernel.target.to_json(), "caches": list(kernel.target.caches)},
        "parallel": kernel.parallel,
        "provenance": kernel.provenance,
    }
    try:
        data = MARKER + json.dumps(description, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise ExportError(f"the provenance of {kernel.signature.name} is not plain data: {error}") from None
    numbers = ",".join(map(str, data + b"\0"))
    return f"const char {SYMBOL}[] = {{{numbers}}};\n"


def _describe(file: Path) -> dict[str, Any]:
    """Read a library's description without loading it.

    Raises:
        LoadError: as for :func:`load`.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise LoadError(f"cannot read {file}: {error.strerror}") from None
    if not data.startswith(b"\x7fELF"):
        raise LoadError(f"{file} is not a shared library")
    if not _whole(data):
        raise LoadError(f"{file} is damaged: it ends too early")
    start = data.find(MARKER)
    if start < 0:
        raise LoadError(f"{file} is a shared library, but not one that Loopwright exported")
    text = data[start + len(MARKER) : data.find(b"\0", start)]
    try:
        description: dict[str, Any] = json.loads(text)
        known = description["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        raise LoadError(f"{file} is damaged: its description cannot be read") from None
    if not known:
        raise LoadError(
            f"{file} was written by another version of Loopwright (format {description['format']!r})"
        )
    return description


def _whole(data: bytes) -> bool:
    """Whether an ELF file reaches to the end of its section table, which linkers put last."""
    if len(data) < 64 or data[4] != 2:  # the header of a 64-bit file
        return False
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    return bool(table + size * count <= len(data))

"""Kernels as shared libraries: written whole with their own manifest inside, loaded without the compiler.

What only exporting needs is imported there: loading has to be quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ExportError, LoadError, TargetError, path_of
from loopwright.sched.runtime import threads
from loopwright.sched.runtime.ffi import foreign_functions, runtime_library
from loopwright.sched.runtime.manifest import DISPATCH, KERNEL, Entry, Manifest, signed
from loopwright.sched.runtime.target import host_facts
from loopwright.sched.runtime.triples import MACOS

if TYPE_CHECKING:
    from loopwright.sched.runtime.kernel import Kernel

ENTRY, POOL = "main", "pool"
# What the foreign function interface puts before the name of a function.
PREFIX = "__tvm_ffi_"
# Path -> what it was when it was first loaded: device, number, time and length.
_loaded: dict[str, tuple[int, ...]] = {}


def export(kernels: Sequence[Kernel], path: str | PathLike[str], form: str = KERNEL) -> Path:
    """Write kernels as a shared library; see :meth:`Kernel.export`, :meth:`Dispatch.export` and :meth:`Bundle.export`."""
    from loopwright.sched.runtime.toolchain import writing

    with writing(path) as (goal, folder):
        if form == KERNEL and kernels[0].path is not None:
            made = _copied(kernels[0].path, folder)
        else:
            made = _linked(kernels, form, folder)
        made.replace(goal)
    return goal


def load(path: str | PathLike[str]) -> Any:
    """Load a library: a `Kernel`, `Dispatch` or `Bundle`, whichever was exported, to be used in the same way.

    Neither TVM's compiler nor the tuner is imported. Of a dispatch or a bundle, kernels for CPUs with features that this one
    lacks are left out, where there are others.

    Raises:
        LoadError: no such file, not a library of ours, damaged, changed, or written by another version.
        TargetError: it was built for a CPU with features this one lacks.
    """
    from loopwright.sched.runtime.bundle import Bundle, Dispatch

    file = path_of(path, "load", LoadError)
    manifest = Manifest.read(file)
    entries = _that_run_here(file, manifest)
    kernels = kernels_of(file, entries, manifest.form)
    if manifest.form == KERNEL:
        return kernels[0]
    return Dispatch(kernels) if manifest.form == DISPATCH else Bundle(kernels)


def _that_run_here(file: Path, manifest: Manifest) -> list[Entry]:
    """The kernels for this CPU; of every operator there must be one.

    Raises:
        TargetError: there is none.
    """
    here = host_facts()
    usable = [entry for entry in manifest.entries if not entry.target.missing_on(here)]
    names = {entry.signature.name for entry in usable}
    for entry in manifest.entries:
        if entry.signature.name not in names:
            missing = ", ".join(entry.target.missing_on(here))
            what = file if manifest.form == KERNEL else f"{entry.signature.name} in {file}"
            raise TargetError(f"{what} was built for a CPU with {missing}; this one lacks it")
    return usable


def kernels_of(file: Path, entries: Sequence[Entry], form: str) -> list[Kernel]:
    """The kernels of a library, loaded.

    Raises:
        LoadError: the system's loader refuses it.
    """
    from loopwright.sched.runtime.kernel import Kernel

    threads.configure(host_facts().cores)
    runtime_library()
    functions = _functions(file, entries)
    return [
        Kernel(
            entry.signature,
            function,
            target=entry.target,
            parallel=entry.parallel,
            provenance=entry.provenance,
            at=entry.at,
            path=file if form == KERNEL else None,
            prepacking=entry.prepacking,
            pack=pack,
        )
        for entry, (function, pack) in zip(entries, functions, strict=True)
    ]


def _functions(file: Path, entries: Sequence[Entry]) -> list[tuple[Any, Any]]:
    """The entries of the kernels of a library, each with what packs its weights, if it has that."""
    # load_module would go by the file's suffix. An absolute path: a bare name would be searched for elsewhere.
    load_shared = foreign_functions().get_global_func("ffi.Module.load_from_file.so")
    try:
        with _name_for(file) as path:
            if any(entry.parallel for entry in entries) and not threads.has_pool():
                threads.install(load_shared(path, "so").get_function(POOL))
            with threads.launching():
                module = load_shared(path, "so")
                get = module.get_function
                return [(get(e.symbol), e.prepacking and get(e.pack_symbol)) for e in entries]
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


def _copied(path: Path, folder: Path) -> Path:
    """A loaded kernel is exported by copying its library."""
    import shutil

    return Path(shutil.copy(path, folder / "library.so"))


def _linked(kernels: Sequence[Kernel], form: str, folder: Path) -> Path:
    from loopwright.sched.runtime.toolchain import run, tool
    from loopwright.sched.runtime.versions import versions

    for kernel in kernels:
        check_exportable(kernel)
    triple = _one_triple(kernels)
    compiler = tool("CC", triple)
    symbols = [ENTRY] if len(kernels) == 1 else [f"{ENTRY}_{i}" for i in range(len(kernels))]
    entries = tuple(Entry.of(kernel, symbol) for kernel, symbol in zip(kernels, symbols, strict=True))
    parts = [_object(kernel, entry, folder) for kernel, entry in zip(kernels, entries, strict=True)]
    if any(kernel.parallel for kernel in kernels):
        from loopwright.sched.runtime.compile import pool_module

        parts.append(folder / "pool.o")
        pool_module(kernels[0].module, triple).write_to_file(str(parts[-1]), "o")
    text, made = folder / "manifest.c", folder / "library.so"
    text.write_text(Manifest(form, entries, versions()).c_source())
    options = ["-shared", "-fPIC", "-O1", "-o", str(made)]
    foreign = dict.fromkeys(word for kernel in kernels for word in _foreign(kernel))
    run([compiler, *options, *map(str, [*parts, text]), *foreign, "-lm", "-lpthread"], made)
    made.write_bytes(signed(made.read_bytes()))
    return made


def _one_triple(kernels: Sequence[Kernel]) -> str:
    """The kind of machine that all kernels are for.

    Raises:
        ExportError: they are for several, or for one whose libraries are no ELF files.
    """
    kinds = dict.fromkeys(kernel.target.triple for kernel in kernels)
    if len(kinds) > 1:
        raise ExportError(
            f"a library holds kernels for one kind of machine, and these are for {', '.join(kinds)}"
        )
    (triple,) = kinds
    if triple == MACOS:
        raise ExportError(
            "libraries for Python are ELF files, which macOS does not load; export_c makes a static one"
        )
    return triple


def check_exportable(kernel: Kernel) -> None:
    """Find out whether there is code of a kernel to write.

    Raises:
        ExportError: it is for a device, comes from a library itself, or lacks its checks.
    """
    name, kind = kernel.signature.name, kernel.target.kind
    if kind != "cpu":
        raise ExportError(
            f"{name} is a kernel for {kind}, and libraries hold kernels for CPUs; build it from the log where it runs"
        )
    if kernel.module is None:
        raise ExportError(
            f"{name} was loaded from a library, which holds no more of it; build it here to export it"
        )
    if not kernel.checked:
        raise ExportError(f"{name} was built without argument checks; build it with them to export it")


def _object(kernel: Kernel, entry: Entry, folder: Path) -> Path:
    """The object file of a kernel, its functions called as the library's entry says."""
    from loopwright.sched.runtime.compile import entry_name
    from loopwright.sched.runtime.toolchain import run, tool

    made = folder / f"{entry.symbol}.o"
    kernel.module.write_to_file(str(made), "o")
    names = {entry_name(0): entry.symbol, entry_name(1): entry.pack_symbol}
    renamed = [f"--redefine-sym={PREFIX}{old}={PREFIX}{new}" for old, new in names.items() if old != new]
    if entry.symbol != ENTRY or entry.prepacking is not None:
        run([tool("OBJCOPY", kernel.target.triple), *renamed, str(made)], made)
    return made


def _foreign(kernel: Kernel) -> list[str]:
    """What links the C functions that a kernel calls; one that is missing where the library is loaded is found out then."""
    from loopwright.sched.language.extern import externs, libraries

    if kernel.schedule is None or not any(externs(kernel.schedule.work)):
        return []
    paths = sorted(set(libraries(kernel.schedule.work).values()))
    return [*paths, *(f"-Wl,-rpath,{Path(path).parent}" for path in paths), "-Wl,-z,now"]

"""The tools of the system that libraries are made with, and where their files go."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from loopwright.sched.errors import ExportError, path_of
from loopwright.sched.runtime.triples import host_triple

# Environment variable -> the programs it may name instead, and what it is called in an error. For another kind of machine both
# have its triple in their names: CC_aarch64_linux_gnu, aarch64-linux-gnu-gcc.
_TOOLS = {
    "CC": (("cc", "gcc", "clang"), "a C compiler", "gcc"),
    "AR": (("ar", "llvm-ar"), "ar, which makes static libraries", "binutils"),
    "OBJCOPY": (("objcopy", "llvm-objcopy"), "objcopy, which renames symbols", "binutils"),
}
# Those that make files for every kind of machine.
_FOR_ALL = {"AR": ("llvm-ar", "ar"), "OBJCOPY": ("llvm-objcopy",)}


def tool(variable: str, triple: str | None = None) -> str:
    """A tool by its variable, ``"CC"``, ``"AR"`` or ``"OBJCOPY"``: what that names, else the first usual one installed.

    Args:
        variable: which tool.
        triple: the kind of machine it makes files for, if that is not this one.

    Raises:
        ExportError: there is none.
    """
    found = find_tool(variable, triple)
    if found is not None:
        return found
    _, what, package = _TOOLS[variable]
    called, usual = _names(variable, triple)
    asked = os.environ.get(called)
    looked = f"{called}={asked}" if asked else ", ".join(usual)
    if usual[0] == f"{triple}-gcc":
        package, what = f"gcc-{triple}", f"{what} for {triple}"
    raise ExportError(
        f"export needs {what} to link the library, and none was found (looked for {looked}).\n"
        f"Install {package}, or set {called}. Running kernels and tuning here work without one."
    )


def find_tool(variable: str, triple: str | None = None) -> str | None:
    """As :func:`tool`; None if there is none."""
    import shutil

    called, usual = _names(variable, triple)
    asked = os.environ.get(called)
    return next(filter(None, map(shutil.which, [asked] if asked else usual)), None)


def _names(variable: str, triple: str | None) -> tuple[str, tuple[str, ...]]:
    """The environment variable that names a tool, and what the tool is usually called."""
    usual = _TOOLS[variable][0]
    if triple is None or triple == host_triple():
        return variable, usual
    cross = f"{triple}-{'gcc' if variable == 'CC' else variable.lower()}"
    return f"{variable}_{triple.replace('-', '_')}", (cross, *_FOR_ALL.get(variable, ()))


def run(command: Sequence[str], made: Path) -> Path:
    """Run a tool that makes a file.

    Raises:
        ExportError: it failed; the message has the end of what it said.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not made.exists():
        raise ExportError(
            f"{command[0]} could not link the library: {(done.stderr.strip() or 'no message')[-400:]}"
        )
    return made


@contextmanager
def writing(path: str | PathLike[str]) -> Iterator[tuple[Path, Path]]:
    """The file to write, and a folder beside it to make it in, from which it is moved in one step.

    Raises:
        ExportError: the file cannot be written.
    """
    goal = path_of(path, "export", ExportError)
    try:
        is_folder, folder_there = goal.is_dir(), goal.parent.is_dir()
        if is_folder or not folder_there:
            what = "it is a folder" if is_folder else f"there is no folder {goal.parent}"
            raise ExportError(f"cannot write {goal}: {what}")
        with tempfile.TemporaryDirectory(dir=goal.parent, prefix=f".{goal.name}.") as folder:
            yield goal, Path(folder)
    except OSError as error:
        raise ExportError(f"cannot write {goal}: {error.strerror or error}") from None

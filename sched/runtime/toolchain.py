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

# Environment variable -> the programs it may name instead, and what it is called in an error.
_TOOLS = {
    "CC": (("cc", "gcc", "clang"), "a C compiler", "gcc"),
    "AR": (("ar", "llvm-ar"), "ar, which makes static libraries", "binutils"),
    "OBJCOPY": (("objcopy", "llvm-objcopy"), "objcopy, which renames symbols", "binutils"),
}


def tool(variable: str) -> str:
    """A tool by its variable, ``"CC"``, ``"AR"`` or ``"OBJCOPY"``: what that names, else the first usual one installed.

    Raises:
        ExportError: there is none.
    """
    import shutil

    usual, what, package = _TOOLS[variable]
    asked = os.environ.get(variable)
    for name in [asked] if asked else usual:
        found = shutil.which(name)
        if found:
            return found
    looked = f"{variable}={asked}" if asked else ", ".join(usual)
    raise ExportError(
        f"export needs {what} to link the library, and none was found (looked for {looked}).\n"
        f"Install {package}, or set {variable}. Running kernels and tuning work without one."
    )


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

"""This machine by name, and how its measuring processes begin."""

from __future__ import annotations

from pathlib import Path

from loopwright.sched.runtime.hardware import core_count, processor_name

ROOT = Path(__file__).resolve().parents[2]


def machine_id() -> str:
    """By what results are kept: the processor and how many of its cores are used."""
    return f"{processor_name()}, {core_count()} cores"


def boot(module: str) -> str:
    """The program of a measuring process.

    The repository comes last on its path, and not first as the folder it is started in: its ``sched`` is not the standard
    library's module.
    """
    path = f"sys.path[:] = [*filter(None, sys.path), {str(ROOT)!r}]"
    return f"import sys; {path}; from {module} import main; main()"

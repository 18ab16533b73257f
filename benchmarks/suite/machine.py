"""This machine by name, and how its measuring processes begin."""

from __future__ import annotations

import os
from pathlib import Path

from loopwright.bench.machine import cpu_model

ROOT = Path(__file__).resolve().parents[2]


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine_id() -> str:
    """By what results are kept: the processor and how many of its cores are used."""
    return f"{cpu_model()}, {cores()} cores"


def boot(module: str) -> str:
    """The program of a measuring process.

    The repository comes last on its path, and not first as the folder it is started in: its ``sched`` is not the standard
    library's module.
    """
    path = f"sys.path[:] = [*filter(None, sys.path), {str(ROOT)!r}]"
    return f"import sys; {path}; from {module} import main; main()"

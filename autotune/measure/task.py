"""What travels between the tuner and its workers: the task, the limits, the outcome of a candidate."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEBIBYTE = 1 << 20
# How many tasks a worker keeps in memory; the tuner counts along, and sends a forgotten one again.
KEPT_TASKS = 3
# The same for kernels that were built for races.
KEPT_KERNELS = 64


@dataclass(frozen=True)
class Limits:
    """How much one candidate may use before its worker is killed.

    Attributes:
        build_seconds: to lower and compile it.
        run_seconds: to run, check and time it.
        memory_bytes: resident memory of its worker.
    """

    build_seconds: float = 15.0
    run_seconds: float = 20.0
    memory_bytes: int = 4096 * MEBIBYTE


@dataclass(frozen=True)
class Task:
    """A workload as data, with the arrays that candidates run on and the results they must give.

    Attributes:
        key: the workload's key.
        workload: its JSON form.
        target: the target's JSON form.
        folder: where the input arrays and the reference's outputs lie; see ``verify.py``.
        cold: whether the caches are emptied before each timed call.
    """

    key: str
    workload: dict[str, Any]
    target: dict[str, Any]
    folder: Path
    cold: bool = False

    def message(self) -> dict[str, Any]:
        """The task as a worker is told of it."""
        return {
            "op": "task",
            "key": self.key,
            "workload": self.workload,
            "target": self.target,
            "folder": str(self.folder),
            "cold": self.cold,
        }


@dataclass
class Outcome:
    """How a candidate fared.

    ``seconds`` is a time on all cores and ``screen`` one on a single core; either is None where it was not taken.
    ``verified``: its result was compared with the reference's, and agrees. ``code``: a digest of what it was lowered to;
    candidates of the same code are measured once, and fare alike.
    """

    trial: int
    cause: str | None = None
    message: str | None = None
    screen: float | None = None
    seconds: float | None = None
    verified: bool = False
    code: str | None = None
    build_seconds: float = 0.0
    spent: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it ran and was timed."""
        return self.cause is None

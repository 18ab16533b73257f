"""What travels between the tuner and its workers: the task, the limits, the outcome of a candidate."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loopwright.sched.errors import TuneError

MEBIBYTE = 1 << 20
# How many tasks a worker keeps in memory; the tuner counts along, and sends a forgotten one again.
KEPT_TASKS = 3
# The same for kernels that were built for races.
KEPT_KERNELS = 64
# A timed sample lasts at least this long, so that the clock and the call do not show in it.
SAMPLE_SECONDS = 2e-4
# A time is known when its three least samples lie within this of each other, as a share of the least.
KNOWN_SPREAD = 0.01


@dataclass(frozen=True)
class Limits:
    """How much one candidate may use before its worker is killed.

    Attributes:
        build_seconds: to lower and compile it.
        run_seconds: to run, check and time it.
        memory_bytes: resident memory of its worker.
        wait_seconds: until it is its turn on a device; then the run ends.
    """

    build_seconds: float = 15.0
    run_seconds: float = 20.0
    memory_bytes: int = 4096 * MEBIBYTE
    wait_seconds: float = 600.0


@dataclass(frozen=True)
class Repeats:
    """How often the finals of a batch are timed: until their times are known, within limits.

    A sample is a number of calls in a row. A time is known when the three least samples lie within ``spread`` of each other, as a
    share of the least; the record keeps how far apart they were in the end.

    Attributes:
        spread: when a time is known.
        sample_seconds: how long a sample takes, at least.
        least_seconds: for how long each finalist is timed, at least.
        most_seconds: and at most, known or not.

    Raises:
        TuneError: a value makes no sense.

    Example:
        >>> Repeats(spread=0.002, most_seconds=2.0).spread
        0.002
    """

    spread: float = KNOWN_SPREAD
    sample_seconds: float = SAMPLE_SECONDS
    least_seconds: float = 0.03
    most_seconds: float = 0.12

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and 0 < value < 3600):
                raise TuneError(f"Repeats: {name}={value!r}; a positive number, below 3600, is expected")
        if self.least_seconds > self.most_seconds:
            raise TuneError(
                f"Repeats: least_seconds={self.least_seconds!r} is more than most_seconds={self.most_seconds!r}"
            )


@dataclass(frozen=True)
class Task:
    """A workload as data, with the arrays that candidates run on and the results they must give.

    Attributes:
        key: the workload's key.
        workload: its JSON form.
        target: the target's JSON form.
        folder: where the input arrays and the reference's outputs lie; see ``verify.py``.
        cold: whether the caches are emptied before each timed call.
        repeats: how often finals are timed.
        device: where candidates run, if not here.
        session_seconds: how long they may have a device there, at most.
    """

    key: str
    workload: dict[str, Any]
    target: dict[str, Any]
    folder: Path
    cold: bool = False
    repeats: Repeats = Repeats()
    device: str | None = None
    session_seconds: float = 0.0

    def message(self) -> dict[str, Any]:
        """The task as a worker is told of it."""
        return {
            "op": "task",
            "key": self.key,
            "workload": self.workload,
            "target": self.target,
            "folder": str(self.folder),
            "cold": self.cold,
            "repeats": asdict(self.repeats),
            "device": self.device,
            "session_seconds": self.session_seconds,
        }


@dataclass(slots=True)
class Outcome:
    """How a candidate fared.

    ``seconds`` is a time on all cores and ``screen`` one on a single core; either is None where it was not taken.
    ``verified``: its result was compared with the reference's, and agrees. ``code``: a digest of what it was lowered to;
    candidates of the same code are measured once, and fare alike. ``peak_bytes``: the memory that it takes.
    """

    trial: int
    cause: str | None = None
    message: str | None = None
    screen: float | None = None
    seconds: float | None = None
    verified: bool = False
    code: str | None = None
    peak_bytes: int | None = None
    build_seconds: float = 0.0
    spent: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it ran and was timed."""
        return self.cause is None

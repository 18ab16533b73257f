"""What a tuning run returns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from loopwright.autotune.lookup import memory_text, seconds_text
from loopwright.autotune.record import Record
from loopwright.autotune.replay import schedule_of
from loopwright.autotune.search.base import Quality
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule


@dataclass(frozen=True)
class Best:
    """A verified record and what it stands for."""

    record: Record
    workload: Workload

    @property
    def seconds(self) -> float:
        """Its time on all cores."""
        assert self.record.seconds is not None
        return self.record.seconds

    @property
    def peak_bytes(self) -> int | None:
        """The memory that a call takes beside its arguments; None if its record, an old one, does not say."""
        return self.record.peak_bytes

    @property
    def costs(self) -> str:
        """Its time and memory in words."""
        return f"{seconds_text(self.seconds)} with {memory_text(self.peak_bytes)}"

    @cached_property
    def schedule(self) -> Schedule:
        """Its schedule, without knobs."""
        return schedule_of(self.record, self.workload)

    @property
    def chosen(self) -> dict[str, Any]:
        """The knobs' values."""
        return dict(self.record.chosen)

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.chosen.items())
        return f"{seconds_text(self.seconds)}" + (f" ({values})" if values else "")


@dataclass(frozen=True)
class Batch:
    """One round of the search: trials, failures, seconds spent planning, and how well the model had ranked it."""

    trials: int
    failures: int
    planning: float
    quality: Quality | None


@dataclass
class TuneResult:
    """The outcome of :func:`loopwright.autotune.tune.tune`.

    Attributes:
        workload: what was tuned.
        log: where the records are.
        best: the log's best for the workload and target, whichever space or run it came from; of a front, the fastest.
        found: this run's best; if nothing was measured now, the log's best of the same space.
        measured: trials of this run, good and failed.
        failures: cause -> how many of them failed so.
        batches: what each round of the search came to.
        seconds: how long the run took.
        front: of the log's records for the workload and target those that no other one beats both in time and in memory, the
            fastest first, whatever the objective was.
        objective: what was searched for.
        figure: what ``best`` comes to by that: seconds, bytes, the number that the user's function gave; of ``"both"`` the
            least geometric mean of seconds and bytes on the front.
    """

    workload: Workload
    log: Path | None
    best: Best | None = None
    found: Best | None = None
    measured: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    batches: list[Batch] = field(default_factory=list)
    seconds: float = 0.0
    front: list[Best] = field(default_factory=list)
    objective: str = "time"
    figure: float | None = None

    @property
    def rate(self) -> float:
        """Trials a second, search, checks and log included."""
        return self.measured / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        if not self.measured:
            text = f"{self.workload}: nothing to measure"
        else:
            text = (
                f"{self.workload}: {self.measured} trials in {self.seconds:.1f} s ({self.rate:.1f} a second)"
            )
        if self.failures:
            text += f"; {sum(self.failures.values())} failed ({counted(self.failures)})"
        if self.best is None:
            return f"{text}; no verified time yet"
        return f"{text}; best {self.best}{self._outcome}"

    @property
    def _outcome(self) -> str:
        """What another objective than time has come to."""
        if self.objective == "time" or self.best is None:
            return ""
        if self.objective == "both" and len(self.front) > 1:
            return f"; front of {len(self.front)}, from {self.front[0].costs} to {self.front[-1].costs}"
        if self.objective in ("memory", "both"):
            return f" with {memory_text(self.best.peak_bytes)}"
        return f"; {self.objective}: {self.figure:.4g}"


def counted(causes: Counter[str]) -> str:
    """Causes with their counts, the most frequent first.

    Example:
        >>> counted(Counter({"wrong-result": 1, "run-crash": 2}))
        '2 run-crash, 1 wrong-result'
    """
    return ", ".join(f"{count} {cause}" for cause, count in causes.most_common())

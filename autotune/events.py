"""What a tuning run tells whoever watches it: pass ``progress=`` a function that takes these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from loopwright.autotune.record import Record
    from loopwright.autotune.result import TuneResult
    from loopwright.autotune.search.base import Quality


@dataclass(frozen=True)
class Started:
    """A workload's tuning begins (or goes on).

    Attributes:
        workload: ``matmul(M=512, ...)``.
        target: the target in words.
        have: records the log has already.
        wanted: trials to be measured now; None if only time limits the run.
        minutes: the time there is; None if only trials limit the run.
        space_size: combinations in the space.
        sketches: their names.
    """

    workload: str
    target: str
    have: int
    wanted: int | None
    minutes: float | None
    space_size: int
    sketches: tuple[str, ...]


@dataclass(frozen=True)
class Planned:
    """A batch was chosen. ``quality`` says how well the model had ranked the batch before, once it has learnt anything."""

    workload: str
    batch: int
    size: int
    seconds: float
    quality: Quality | None


@dataclass(frozen=True)
class Tried:
    """A trial was built, checked and timed on one core, or failed. ``record`` may be completed by a final later."""

    workload: str
    record: Record
    measured: int
    failed: int
    best_screen: float | None


@dataclass(frozen=True)
class Improved:
    """A trial, timed alone on all cores beside the best so far, is the new best; or it joins the front, if that is asked for.

    Attributes:
        workload: ``matmul(M=512, ...)``.
        record: the trial.
        seconds: its time.
        before: that of the best before it.
        objective: what is searched for.
        figure: how far the run has come by that: seconds, bytes, the number that the user's function gave; of ``"both"`` the
            least geometric mean of seconds and bytes.
        figure_before: the same before.
    """

    workload: str
    record: Record
    seconds: float
    before: float | None
    objective: str = "time"
    figure: float | None = None
    figure_before: float | None = None


@dataclass(frozen=True)
class Noisy:
    """The machine is busy with something else: the best so far took ``spread`` times as long in one race as in another."""

    workload: str
    spread: float


@dataclass(frozen=True)
class Finished:
    """A workload's tuning is over."""

    workload: str
    result: TuneResult


Event: TypeAlias = "Started | Planned | Tried | Improved | Noisy | Finished"
Progress = Callable[[Event], None]


def silent(_: Event) -> None:
    """The progress of a run that nobody watches."""

"""What a session asks of those that measure for it.

On a machine they are the workers of a :class:`~loopwright.autotune.measure.bench.Bench`; over a recording, the recording answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Protocol

from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Outcome, Task
from loopwright.autotune.measure.timing import Timed
from loopwright.autotune.measure.twins import Twins
from loopwright.sched.language.workload import Workload

OnOutcome = Callable[[Outcome], None]
Cut = Callable[[], float | None]


def no_cut() -> None:
    """No candidate is cut short."""


class Screening(Protocol):
    """Tries candidates on one core each, several at a time."""

    @property
    def twins(self) -> Twins:
        """What is known of codes."""

    @property
    def seats(self) -> Sized:
        """One for each candidate that is tried at a time."""

    def run(
        self,
        task: Task,
        candidates: Iterable[Candidate],
        on_outcome: OnOutcome,
        cut: Cut = no_cut,
        until: float | None = None,
    ) -> None:
        """Try candidates, and report every outcome as it comes.

        Args:
            task: what they are candidates for; each has a trial number of its own.
            candidates: in the order in which they are begun.
            on_outcome: called in this thread.
            cut: asked before each candidate: the time above which it is soon given up.
            until: a moment of ``time.monotonic()`` after which no further candidate is begun.
        """


class Racing(Protocol):
    """Times a few candidates on all cores, beside each other."""

    def start(self, task: Task, candidates: Sequence[Candidate]) -> None:
        """Have candidates compiled, and checked on all cores; :meth:`finish` says how that went."""

    def finish(self) -> dict[int, Outcome]:
        """Wait for what was started; trial -> outcome."""

    def race(self, task: Task, trials: Sequence[int]) -> list[Timed] | None:
        """Time built candidates in turns, as often as ``task.repeats`` says; None if they are lost."""

    def show(self, task: Task, trial: int) -> bool:
        """Have a built candidate write its outputs into the task's folder; False if it is lost."""


class Measuring(Protocol):
    """Both, and the arrays that they work on."""

    @property
    def pool(self) -> Screening:
        """Who screens."""

    @property
    def finals(self) -> Racing:
        """Who times the finalists."""

    def task(self, work: Workload) -> Task:
        """The workload, and where its arrays lie."""

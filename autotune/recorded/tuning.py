"""Tuning over a recorded space: the tuner as it is, but for the workers, in whose place stands the recording."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from loopwright.autotune.budget import Budget
from loopwright.autotune.events import silent
from loopwright.autotune.measure.roles import Cut, OnOutcome, Racing, Screening, no_cut
from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Outcome, Task
from loopwright.autotune.measure.timing import Timed
from loopwright.autotune.measure.twins import Twins
from loopwright.autotune.recorded.cache import Cache
from loopwright.autotune.recorded.space import RecordedSpace
from loopwright.autotune.result import TuneResult
from loopwright.autotune.search.strategies import Strategy, strategy
from loopwright.autotune.session import Session
from loopwright.autotune.tune import LogLike, check_numbers, opened_log, result_of, run_batches
from loopwright.sched.language.workload import Workload

# What the records of such a run call their space.
RECORDED = "recorded"


def tune_recorded(
    cache: Cache,
    *,
    trials: int = 200,
    log: LogLike | None = None,
    seed: int = 0,
    search: str | Strategy = "anneal",
) -> TuneResult:
    """Tune a workload over its recording: on any machine, in as long as the search itself takes.

    The same seed over the same recording gives the same trials in the same order.

    Args:
        cache: the recording.
        trials: how many more.
        log: the tuning log; without one, records go to a file that is deleted at the end.
        seed: decides all random choices.
        search: as for :func:`~loopwright.autotune.tune.tune`.

    Raises:
        TuneError: an argument makes no sense.
        LogError: the log cannot be written, or is none.

    Example::

        result = tune_recorded(Cache.read("benchmarks/caches/softmax.jsonl.gz"), trials=100, seed=3)
    """
    check_numbers(trials, None, None, seed)
    searched, space = strategy(search), RecordedSpace(cache)
    began = time.monotonic()
    with opened_log(log) as opened:
        session = Session(
            cache.work, cache.target, space, RECORDED, searched(space, seed), opened, seed, silent
        )
        run_batches(session, _Stand(cache, space), Budget(trials, None, began))
        return result_of(session, opened, time.monotonic() - began)


class _Stand:
    """Stands for the workers that screen, for the one that times finals, and for what holds them."""

    def __init__(self, cache: Cache, space: RecordedSpace) -> None:
        self.pool: Screening = self
        self.finals: Racing = self
        self.seats = range(cache.target.cores)
        self.twins = Twins()
        self._cache, self._space = cache, space
        self._built: dict[int, Candidate] = {}
        self._asked: Sequence[Candidate] = ()

    def task(self, work: Workload) -> Task:
        """The workload; there are no arrays."""
        return Task(work.key, {}, {}, Path())

    def run(
        self,
        task: Task,
        candidates: Iterable[Candidate],
        on_outcome: OnOutcome,
        cut: Cut = no_cut,
        until: float | None = None,
    ) -> None:
        """Report each candidate's recorded time, the last first: in what order they end must not matter."""
        for candidate in reversed(list(candidates)):
            on_outcome(Outcome(candidate.trial, screen=self._time(candidate), verified=True))

    def start(self, task: Task, candidates: Sequence[Candidate]) -> None:
        """Take in finalists."""
        self._asked = candidates
        self._built.update({candidate.trial: candidate for candidate in candidates})

    def finish(self) -> dict[int, Outcome]:
        """All of them were built."""
        return {candidate.trial: Outcome(candidate.trial, verified=True) for candidate in self._asked}

    def race(self, task: Task, trials: Sequence[int]) -> list[Timed]:
        """Times on all cores, as the one-core times let expect them."""
        ran = [self._built[trial] for trial in trials]
        shares = self._space.shares(self._space.rows([self._space.point[c.schedule] for c in ran]))
        return [
            Timed(self._time(candidate) * float(share) / len(self.seats), spread=0.0)
            for candidate, share in zip(ran, shares, strict=True)
        ]

    def show(self, task: Task, trial: int) -> bool:
        """There are no arrays to show."""
        return False

    def _time(self, candidate: Candidate) -> float:
        return self._cache.times[self._space.point[candidate.schedule]]

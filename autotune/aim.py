"""How far a session has come towards its objective: what was screened on one core, and what leads of what was timed on all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from loopwright.autotune.contender import Contender
from loopwright.autotune.objective import Objective, Sample, Trial
from loopwright.autotune.record import Record
from loopwright.autotune.replay import schedule_of
from loopwright.autotune.space import Point
from loopwright.sched.errors import LogError
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule


class Leaders:
    """Records timed on all cores, as far as they lead.

    Args:
        objective: what is wanted.
        work: the workload, in whose names the user's function sees schedules.
        records: what there is already.
    """

    def __init__(self, objective: Objective, work: Workload, records: Iterable[Record] = ()) -> None:
        self.objective, self.work = objective, work
        self._leaders: list[Sample] = []
        for record in records:
            self.add(record)

    def add(self, record: Record) -> bool:
        """Take in a record; whether the objective asks for it now."""
        sample = self._sample(record) if record.verified and record.seconds is not None else None
        if sample is None:
            return False
        self._leaders = self.objective.leaders([*self._leaders, sample])
        return any(other is sample for other in self._wanted)

    def __contains__(self, record: Record) -> bool:
        """Whether this very record leads."""
        return any(sample.record is record for sample in self._leaders)

    @property
    def best(self) -> Record | None:
        """The best of them."""
        return self._wanted[0].record if self._leaders else None

    @property
    def figure(self) -> float | None:
        """The objective's figure for them."""
        return self.objective.figure(self._leaders) if self._leaders else None

    @property
    def _wanted(self) -> list[Sample]:
        return self.objective.wanted(self._leaders)

    def _sample(self, record: Record) -> Sample | None:
        assert record.seconds is not None
        try:
            return sample_of(
                self.objective,
                record.seconds,
                record.peak_bytes,
                lambda: schedule_of(record, self.work),
                record=record,
            )
        except LogError:  # a schedule that this version cannot replay
            return None


class Aim:
    """What a session is after, and what is known of its candidates.

    Args:
        objective: what is wanted.
        work: the workload.
        cores: those of the target.
        records: what the log has of the workload and target.
    """

    def __init__(self, objective: Objective, work: Workload, cores: int, records: Sequence[Record]) -> None:
        self.objective, self.cores = objective, cores
        self.known = Leaders(objective, work, records)
        self.found = Leaders(objective, work)
        self._screened: list[Sample] = []  # those that lead
        self._samples: dict[Point, Sample | None] = {}  # None: failed

    def screen(self, point: Point, schedule: Schedule, score: float | None, peak_bytes: int | None) -> None:
        """Take in how a candidate fared on one core; without a score it failed."""
        sample = None
        if score is not None:
            sample = sample_of(self.objective, score, peak_bytes, lambda: schedule, cores=self.cores)
            if sample is None:  # nothing can be said of it: it may be tried again
                return
            self._screened = self.objective.leaders([*self._screened, sample])
        self._samples[point] = sample

    def fail(self, point: Point) -> None:
        """A candidate that was screened well has failed on all cores: it leads no longer."""
        self._samples[point] = None
        good = [sample for sample in self._samples.values() if sample is not None]
        self._screened = self.objective.leaders(good) if good else []

    @property
    def least(self) -> float | None:
        """The least score so far."""
        return min((sample.seconds for sample in self._screened), default=None)

    def costs(self, points: Sequence[Point]) -> tuple[list[Point], list[float | None]]:
        """What the search is told after these points were screened: points, and what it is to make less, None for failures."""
        told = list(self._samples) if self.objective.relative else [p for p in points if p in self._samples]
        samples = [self._samples[point] for point in told]
        costs = iter(self.objective.costs([sample for sample in samples if sample is not None]))
        return told, [None if sample is None else next(costs) for sample in samples]

    def hopeful(self, contender: Contender) -> bool:
        """Whether a candidate may lead: with some luck, and as far as its time on one core tells."""
        sample = self._samples.get(contender.point)
        hoped = sample.hoped(contender.reach) if sample is not None else None
        return hoped is not None and any(
            one is hoped for one in self.objective.leaders([hoped, *self._screened])
        )

    def finalists(self, done: Iterable[Contender]) -> list[Contender]:
        """Those of a batch that take part in finals, best first; beyond the most there may be, the fastest and the default."""
        near = [contender for contender in done if self.hopeful(contender)]
        samples = [sample for c in near if (sample := self._samples[c.point]) is not None]
        costs = self.objective.costs([*samples, *self._screened])[: len(near)]
        order = sorted(range(len(near)), key=lambda n: (costs[n], samples[n].seconds))
        fastest = min(order, key=lambda n: samples[n].seconds, default=None)
        first, rest = order[: self.objective.finalists], order[self.objective.finalists :]
        return [near[n] for n in first] + [near[n] for n in rest if near[n].default or n == fastest]


def sample_of(
    objective: Objective,
    seconds: float,
    peak_bytes: int | None,
    schedule: Callable[[], Schedule],
    cores: int | None = None,
    record: Record | None = None,
) -> Sample | None:
    """What an objective looks at; None where it asks for bytes that are not known.

    ``cores``: seconds are a score from one core, which so many would share.
    """
    if peak_bytes is None:
        return None if objective.relative else Sample(seconds, math.inf, record=record)
    size = peak_bytes

    def trial() -> Trial:
        return Trial(seconds / (cores or 1), size, schedule(), estimated=cores is not None)

    return Sample(seconds, size, objective.value(trial), record)

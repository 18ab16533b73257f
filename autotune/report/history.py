"""What a log says about the tuning of each workload: its trials in order, with the time they took."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from loopwright.autotune.log_match import target_text
from loopwright.autotune.record import Record

LONGEST_PAUSE = 120.0
"""Seconds without any record after which tuning was not slow, but interrupted."""


@dataclass(frozen=True)
class Trial:
    """A record with its place in the history.

    Attributes:
        number: from 1, among the trials of the workload and target.
        seconds: of tuning that the workload and target had taken by then; interruptions and other workloads do not count.
        place: from 1, among all trials of the log.
        clock: seconds of tuning by then, of all workloads.
        record: what was tried, and how it went.
    """

    number: int
    seconds: float
    place: int
    clock: float
    record: Record


@dataclass
class History:
    """All trials of one workload on one target, oldest first."""

    trials: list[Trial] = field(default_factory=list)

    @property
    def first(self) -> Record:
        """The first record, for what all of them share."""
        return self.trials[0].record

    @property
    def label(self) -> str:
        """The workload as ``name(arg=value, ...)``."""
        return self.first.label

    @property
    def target(self) -> str:
        """The target in a few words."""
        return target_text(self.first.target)

    def batches(self) -> list[list[Trial]]:
        """The trials of each batch, in order; those of which no batch is known are in none."""
        grouped = groupby(self.trials, key=lambda trial: trial.record.batch)
        return [list(trials) for batch, trials in grouped if batch is not None]

    @property
    def failures(self) -> Counter[str]:
        """Cause -> number of trials."""
        return Counter(t.record.cause or "unknown" for t in self.trials if not t.record.ok)

    @property
    def best(self) -> Trial | None:
        """The verified trial with the least time on all cores; the earliest of equals."""
        found = [t for t in self.trials if t.record.verified and t.record.seconds is not None]
        return min(found, key=lambda t: t.record.seconds or 0.0, default=None)

    @property
    def default(self) -> Record | None:
        """The record of the default schedule: of the automatic space, it is the first candidate, and has no knobs."""
        found = [
            t.record for t in self.trials if t.record.ok and t.record.space == "auto" and not t.record.chosen
        ]
        return min(found, key=lambda record: record.trial or 0, default=None)

    @property
    def seconds(self) -> float:
        """How long its tuning took."""
        return self.trials[-1].seconds

    @property
    def start(self) -> float | None:
        """What gains are measured from: the default schedule's time on all cores; lacking that, the first verified one."""
        if self.default is not None and self.default.verified and self.default.seconds:
            return self.default.seconds
        return next((seconds for _, seconds in self.best_so_far()), None)

    def best_so_far(self) -> list[tuple[Trial, float]]:
        """The trials that became the best, with their times."""
        steps: list[tuple[Trial, float]] = []
        for trial in self.trials:
            seconds = trial.record.seconds
            if trial.record.verified and seconds is not None and (not steps or seconds < steps[-1][1]):
                steps.append((trial, seconds))
        return steps


def histories(records: Sequence[Record]) -> list[History]:
    """Sort records by workload and target, in the order in which these appear.

    >>> history = histories([Record(workload="0" * 64, target={"kind": "cpu"}, status="error", cause="invalid")])[0]
    >>> history.failures, history.best
    (Counter({'invalid': 1}), None)
    """
    found: dict[tuple[str, str], History] = {}
    clock = 0.0
    for place, (record, took) in enumerate(zip(records, _seconds_taken(records), strict=True), 1):
        clock += took
        key = (record.workload, json.dumps(record.target, sort_keys=True))
        trials = found.setdefault(key, History()).trials
        spent = trials[-1].seconds if trials else 0.0
        trials.append(Trial(len(trials) + 1, spent + took, place, clock, record))
    return list(found.values())


def _seconds_taken(records: Iterable[Record]) -> Iterator[float]:
    """For each record how much later it is than any before it; nothing where tuning paused, or the times do not say.

    Finalists are written after the rest of their batch, and are a little older.
    """
    last = None
    for record in records:
        now = _moment(record.time)
        took = 0.0 if now is None or last is None else now - last
        yield took if 0.0 < took <= LONGEST_PAUSE else 0.0
        if now is not None and (last is None or took > 0.0 or took < -LONGEST_PAUSE):
            last = now


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None

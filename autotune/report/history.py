"""What a log says about the tuning of each workload: its trials in order, with the time they took."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
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
        minutes: of tuning since the first of them; interruptions do not count.
        record: what was tried, and how it went.
    """

    number: int
    minutes: float
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
    def minutes(self) -> float:
        """How long its trials took, the first aside."""
        return self.trials[-1].minutes

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
    starts: dict[tuple[str, str], float] = {}
    for record, minutes in zip(records, _tuning_minutes(records), strict=True):
        key = (record.workload, json.dumps(record.target, sort_keys=True))
        history = found.setdefault(key, History())
        start = starts.setdefault(key, minutes)
        history.trials.append(Trial(len(history.trials) + 1, max(0.0, minutes - start), record))
    return list(found.values())


def _tuning_minutes(records: Iterable[Record]) -> list[float]:
    """Minutes of tuning until each record: the clock, without the pauses."""
    total, last = 0.0, None
    minutes = []
    for record in records:
        now = _moment(record.time)
        if now is not None:
            if last is not None and 0 < now - last <= LONGEST_PAUSE:
                total += now - last
            last = now
        minutes.append(total / 60)
    return minutes


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's: 1 if both orders are the same, -1 if one is the other's reverse; None where it is not defined.

    >>> rank_correlation([(1, 10), (2, 20), (3, 40)]), rank_correlation([(1, 3), (2, 2), (3, 1)])
    (1.0, -1.0)
    """
    if len(pairs) < 3:
        return None
    one, other = (_ranks([pair[side] for pair in pairs]) for side in (0, 1))
    mean = (len(pairs) + 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True))
    spreads = sum((a - mean) ** 2 for a in one) * sum((b - mean) ** 2 for b in other)
    return round(covariance / spreads**0.5, 6) if spreads else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for index in order[start:end]:
            ranks[index] = (start + 1 + end) / 2
        start = end
    return ranks

"""What a few runs say of a ratio: its mean, and the interval that holds the true one in 95 of 100 such experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev

# Student's t for 95%, both sides, by the degrees of freedom: from 1 to 30. Beyond, that of 30 is a little too wide.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True)
class Interval:
    """A ratio with the ends of its 95% interval."""

    low: float
    middle: float
    high: float

    def reaches(self, bar: float) -> bool:
        """Whether the interval reaches a bar."""
        return self.high >= bar

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f}-{self.high:.2f})"


def ratio_interval(slower: Sequence[float], faster: Sequence[float]) -> Interval:
    """How many times as long one takes as another, from times of the same runs.

    The ratio of each run is taken by itself, so what slows a whole run down does not count. The logarithms of ratios are
    averaged: that of a/b is then the inverse of that of b/a.
    Source: Student, "The probable error of a mean", Biometrika 6 (1908).

    Raises:
        ValueError: fewer than two runs, or not the same number of each.

    >>> str(ratio_interval([2.0, 2.2, 1.8], [1.0, 1.0, 1.0]))
    '1.99 (1.55-2.57)'
    """
    logs = [log(a / b) for a, b in zip(slower, faster, strict=True)]
    if len(logs) < 2:
        raise ValueError("an interval takes two runs at least")
    middle = fmean(logs)
    t = STUDENT[min(len(logs) - 1, len(STUDENT)) - 1]
    reach = t * stdev(logs) / sqrt(len(logs))
    return Interval(exp(middle - reach), exp(middle), exp(middle + reach))

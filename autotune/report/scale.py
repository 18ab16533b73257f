"""Axes of a chart: from values to places, and the values worth a label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Maps values from ``low`` to ``high`` onto places from ``start`` to ``end``, evenly or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float, *, log: bool = False) -> Scale:
        """A scale that shows all of the values, with a little room, and starts at 0 unless it is logarithmic.

        >>> Scale.around([1.0, 10.0], 0, 100)
        Scale(low=0.0, high=10.0, start=0, end=100, log=False)
        """
        low, high = min(values, default=0.0), max(values, default=1.0)
        if log:
            if low <= 0:
                low = min((v for v in values if v > 0), default=1e-6)
            low, high = low / 1.08, max(high, low) * 1.08
        else:
            low, high = min(low, 0.0), high if high > min(low, 0.0) else 1.0
        return cls(low, high, start, end, log)

    def place(self, value: float) -> float:
        """Where a value stands, to a tenth."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        part = (value - low) / (high - low)
        return round(self.start + part * (self.end - self.start), 1)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values to label.

        >>> Scale(0, 60, 0, 100).ticks()
        [0, 20, 40, 60]
        >>> Scale(0.9, 40, 0, 100, log=True).ticks()
        [1.0, 2.0, 5.0, 10.0, 20.0]
        """
        return self._log_ticks(count) if self.log else self._even_ticks(count)

    def _even_ticks(self, count: int) -> list[float]:
        step = _round_step((self.high - self.low) / count)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [_tidy(n * step) for n in range(first, last + 1)]

    def _log_ticks(self, count: int) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
            found = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
            shown = [value for value in found if self.low <= value <= self.high]
            if len(shown) <= count + 1 and len(shown) >= 2:
                return shown
        return self._even_ticks(count) if self.high < 10 * self.low else shown


def _round_step(step: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is no smaller."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def _tidy(value: float) -> float:
    """Drop the dust of floating point: 0.30000000000000004 is 0.3."""
    value = float(f"{value:.12g}")
    return int(value) if value == int(value) else value

"""Random search: every legal candidate is as likely as another. The yardstick for all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loopwright.autotune.search.base import Memory, Quality
from loopwright.autotune.space import Point, SearchSpace
from loopwright.autotune.transfer import Lesson


class RandomSearch:
    """Draws without repetition.

    Args:
        space: where to search.
        seed: decides every draw.
    """

    def __init__(self, space: SearchSpace, seed: int = 0) -> None:
        self.memory = Memory(space)
        self._rng = np.random.default_rng(seed)

    def propose(self, count: int, closing: bool = False) -> list[Point]:
        """Random points."""
        points = self.memory.fresh(self._rng, count)
        self.memory.seen.update(points)
        return points

    def expected(self, points: Sequence[Point]) -> None:
        """Nothing: there is no model."""

    def teach(self, lessons: Sequence[Lesson]) -> None:
        """Nothing is learnt from other workloads."""

    def learn(self, points: Sequence[Point], times: Sequence[float | None]) -> Quality | None:
        """Remember what was measured, so that it is not measured again."""
        self.memory.add(points, times)
        return None

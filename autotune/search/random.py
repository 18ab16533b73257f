"""Random search: every legal candidate is as likely as another. The yardstick for all others."""

from __future__ import annotations

import numpy as np

from loopwright.autotune.search.base import Unguided
from loopwright.autotune.space import Point, SearchSpace


class RandomSearch(Unguided):
    """Draws without repetition.

    Args:
        space: where to search.
        seed: decides every draw.
    """

    def __init__(self, space: SearchSpace, seed: int = 0) -> None:
        super().__init__(space)
        self._rng = np.random.default_rng(seed)

    def propose(self, count: int, closing: bool = False) -> list[Point]:
        """Random points."""
        points = self.memory.fresh(self._rng, count)
        self.memory.seen.update(points)
        return points

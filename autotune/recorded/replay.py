"""Searching a recorded space: candidates fare as they were recorded, with no device and no waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from loopwright.autotune.budget import Budget
from loopwright.autotune.features.program import NAMES
from loopwright.autotune.recorded.cache import Cache
from loopwright.autotune.recorded.space import RecordedSpace
from loopwright.autotune.search.base import Search
from loopwright.autotune.space import Point
from loopwright.autotune.transfer import Lesson

Array = np.ndarray[Any, Any]


class Replay:
    """A recorded space with its scores, as the tuner reckons them: one-core times, made longer by uneven shares.

    Args:
        cache: the recording.
        seeded: whether the search may begin with what the sketches want tried first, which is near what is best.

    Attributes:
        space: where to search; its legal points are those that were timed.
        scores: the score of each.
        best: the least.

    Example::

        replay = Replay(Cache.read("benchmarks/caches/softmax.jsonl.gz"))
        scores = replay.trials(AnnealSearch(replay.space, seed=0), most=200)
    """

    def __init__(self, cache: Cache, seeded: bool = True) -> None:
        self.cache, self.space = cache, RecordedSpace(cache, seeded)
        self.points = sorted(cache.times)
        self.rows = self.space.rows(self.points)
        times = np.array([cache.times[point] for point in self.points])
        self.values = times * self.space.shares(self.rows)
        self.scores: dict[Point, float] = dict(zip(self.points, self.values.tolist(), strict=True))
        self.best = float(self.values.min(initial=np.inf))

    def trials(
        self, search: Search, most: int, enough: float = 0.0, lessons: Sequence[Lesson] = ()
    ) -> list[float]:
        """The scores of a search's trials in their order, in batches as the tuner makes them.

        Args:
            search: over :attr:`space`.
            most: how many trials.
            enough: stop at the batch that has a score as small as this.
            lessons: what the search is taught first.
        """
        if lessons:
            search.teach(lessons)
        budget, found = Budget(most, None, 0.0), list[float]()
        taught = bool(lessons)
        while size := budget.next_batch(len(found), self.cache.target.cores, taught=taught):
            points = search.propose(size, budget.closing(len(found)))
            scores = [self.scores[point] for point in points]
            if not points:
                break
            found += scores
            if min(scores) <= enough:
                break
            search.learn(points, scores)
        return found

    def lesson(self) -> Lesson:
        """What this recording teaches other shapes."""
        chosen = tuple(self.space.sketches[point.space].chosen(point.choice) for point in self.points)
        return Lesson(self.rows[:, : len(NAMES)], self.values, chosen)

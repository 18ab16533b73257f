"""What the tuner asks of a search strategy, and what strategies share: the memory of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from loopwright.autotune.space import Point, SearchSpace
from loopwright.autotune.transfer import Lesson

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Quality:
    """How well the model had ranked a batch before it was measured: rank correlation, and recall of the best few."""

    samples: int
    correlation: float | None
    recall: float | None


class Search(Protocol):
    """Proposes candidates and learns from their times. The same seed and the same times give the same choices."""

    def propose(self, count: int, closing: bool = False) -> list[Point]:
        """Up to ``count`` points never proposed before; fewer, or none, when the space is nearly used up.

        ``closing``: the run is about to end, so look close to the best there is.
        """

    def expected(self, points: Sequence[Point]) -> Array | None:
        """What the search expects of points, a number for each: the more, the faster. None if it expects nothing."""

    def teach(self, lessons: Sequence[Lesson]) -> None:
        """Take in what other workloads say, before anything is proposed."""

    def learn(self, points: Sequence[Point], times: Sequence[float | None]) -> Quality | None:
        """Take in the times of points (None: failed), whether proposed here or found in a log.

        With another objective than time they are costs: positive numbers, of which only the order counts. Those of points that
        were told before are told again with every batch, since they depend on the others.
        """


class Memory:
    """The points that were proposed or measured, with their times."""

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.seen: set[Point] = set()
        self.points: list[Point] = []
        self.times: list[float] = []  # infinity for a failure
        self._places: dict[Point, int] = {}

    def __contains__(self, point: Point) -> bool:
        """Whether it was measured."""
        return point in self._places

    def add(self, points: Sequence[Point], times: Sequence[float | None]) -> None:
        """Remember measurements; of a point that is told again, the last."""
        self.seen.update(points)
        for point, time in zip(points, times, strict=True):
            place = self._places.setdefault(point, len(self.points))
            if place == len(self.points):
                self.points.append(point)
                self.times.append(0.0)
            self.times[place] = float("inf") if time is None else time

    def best(self, count: int) -> list[Point]:
        """The fastest points, best first."""
        order = np.argsort(np.asarray(self.times), kind="stable")[:count].tolist()
        return [self.points[n] for n in order if np.isfinite(self.times[n])]

    def scores(self) -> Array:
        """For each measured point how near it is to the best."""
        return scored(np.asarray(self.times))

    def fresh(self, rng: np.random.Generator, count: int) -> list[Point]:
        """Random points never seen before; all that are left if they are few."""
        found: dict[Point, None] = {}
        for _ in range(8):
            for point in self.space.sample(rng, 2 * (count - len(found))):
                if point not in self.seen and len(found) < count:
                    found[point] = None
            if len(found) >= count:
                return list(found)
        left = [p for p in self.space.all_points() if p not in self.seen and p not in found]
        for nth in rng.permutation(len(left))[: count - len(found)]:
            found[left[nth]] = None
        return list(found)


class Unguided:
    """What searches without a model share: they expect nothing, and remember only what is measured.

    Args:
        space: where to search.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.memory = Memory(space)

    def expected(self, points: Sequence[Point]) -> None:
        """Nothing: there is no model."""

    def teach(self, lessons: Sequence[Lesson]) -> None:
        """Nothing is learnt from other workloads."""

    def learn(self, points: Sequence[Point], times: Sequence[float | None]) -> Quality | None:
        """Remember what was measured, so that it is not measured again."""
        self.memory.add(points, times)
        return None


def scored(times: Array) -> Array:
    """How near each of some times is to the least: 1 for that, 0 for an infinite one, which is a failure.

    Example:
        >>> scored(np.array([2.0, 1.0, np.inf])).tolist()
        [0.5, 1.0, 0.0]
    """
    least = times.min(initial=np.inf)
    return least / times if np.isfinite(least) else np.zeros(len(times))

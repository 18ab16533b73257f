"""The space of a recording: what was timed can be proposed, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loopwright.autotune.recorded.cache import Cache, numbers_of
from loopwright.autotune.space import Point, SearchSpace, Sketch
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RecordedSketch(Sketch):
    """A sketch of which only some points count: those with these numbers, in order."""

    numbers: Array = field(default_factory=lambda: np.empty(0, np.int64), compare=False)

    def allowed(self, choices: Array) -> Array:
        """Which rows are recorded."""
        found: Array = np.isin(numbers_of(choices, self.sizes), self.numbers)
        return found


class RecordedSpace(SearchSpace):
    """A space whose legal points are those that a recording has times of."""

    def __init__(self, cache: Cache, seeded: bool = True) -> None:
        self._recorded: list[list[Point]] = [[] for _ in cache.sketches]
        for point in sorted(cache.times):
            self._recorded[point.space].append(point)
        pairs = zip(cache.sketches, self._recorded, strict=True)
        super().__init__(tuple(_restricted(*pair, seeded) for pair in pairs), cache.target)
        self.point: dict[str, Point] = {}  # of each schedule that was filled, as JSON text

    def schedule(self, point: Point) -> Schedule | None:
        """The filled schedule of a point."""
        made = super().schedule(point)
        if made is not None:
            self.point[made.to_json()] = point
        return made

    def all_points(self) -> Iterator[Point]:
        """Every recorded point, in order."""
        return (point for points in self._recorded for point in points)

    def _sample_sketch(self, rng: np.random.Generator, number: int, count: int) -> list[Point]:
        recorded = self._recorded[number]
        return [recorded[n] for n in rng.integers(0, len(recorded), count)] if recorded else []


def _restricted(sketch: Sketch, points: list[Point], seeded: bool) -> RecordedSketch:
    choices = np.array([point.choice for point in points], np.int64).reshape(len(points), len(sketch.sizes))
    numbers = np.sort(numbers_of(choices, sketch.sizes))
    seeds = sketch.seeds if seeded else ()
    return RecordedSketch(sketch.name, sketch.schedule, seeds=seeds, numbers=numbers)

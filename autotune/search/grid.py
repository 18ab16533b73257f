"""Grid search: every legal candidate, in order. For templates of few points, where nothing should be left to chance."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from loopwright.autotune.search.base import Unguided
from loopwright.autotune.space import Point, SearchSpace

# Candidates whose rules are looked at together.
CHUNK = 1024


class GridSearch(Unguided):
    """Goes through the values of all knobs, the last one fastest; sketches take turns, so that a short run sees each of them.

    It has no options.

    Args:
        space: where to search.
        seed: decides nothing; every search takes one.
    """

    def __init__(self, space: SearchSpace, seed: int = 0) -> None:
        super().__init__(space)
        self._left = _in_turns([_points(space, number) for number in range(len(space.sketches))])

    def propose(self, count: int, closing: bool = False) -> list[Point]:
        """The next points that were not measured yet."""
        new = (point for point in self._left if point not in self.memory.seen)
        points = list(itertools.islice(new, max(0, count)))
        self.memory.seen.update(points)
        return points


def _points(space: SearchSpace, number: int) -> Iterator[Point]:
    """The legal points of a sketch, however many there are: made as they are asked for."""
    choices = itertools.product(*(range(size) for size in space.sketches[number].sizes))
    while chunk := [Point(number, choice) for choice in itertools.islice(choices, CHUNK)]:
        yield from (point for point, good in zip(chunk, space.allowed(chunk), strict=True) if good)


def _in_turns(streams: Sequence[Iterator[Point]]) -> Iterator[Point]:
    """One of each stream after the other, until all have ended."""
    rounds = itertools.zip_longest(*streams)
    return (point for together in rounds for point in together if point is not None)

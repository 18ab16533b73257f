"""Evolutionary search: the fastest measured candidates are crossed and mutated. It needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loopwright.autotune.search.base import Unguided
from loopwright.autotune.space import Point, SearchSpace


@dataclass(frozen=True)
class EvolveOptions:
    """The settings of evolution.

    Attributes:
        population: how many of the fastest may have offspring.
        tournament: a parent is the fastest of so many drawn from these: more of them, and the search is greedier.
        crossed: share of the offspring that has two parents; of each knob it has the value of one or the other.
        mutations: how often a child is moved to a neighbour, at most; once at least.
        explore: share of a generation that is drawn at random.
        explore_first: the same for the first generation, which is the seeds of the sketches otherwise.
    """

    population: int = 32
    tournament: int = 4
    crossed: float = 0.5
    mutations: int = 2
    explore: float = 0.1
    explore_first: float = 0.8


class EvolutionarySearch(Unguided):
    """Each batch is a generation: offspring of the fastest so far, and some at random.

    Args:
        space: where to search.
        seed: decides every draw.
        options: settings.
    """

    def __init__(self, space: SearchSpace, seed: int = 0, options: EvolveOptions = EvolveOptions()) -> None:
        self.space = space
        super().__init__(space)
        self.options = options
        self._rng = np.random.default_rng(seed)

    def propose(self, count: int, closing: bool = False) -> list[Point]:
        """The next generation."""
        if count <= 0:
            return []
        parents = self.memory.best(self.options.population)
        share = self.options.explore if parents else self.options.explore_first
        wanted = count - round(share * count)
        chosen = self._offspring(parents, wanted) if parents else self._first(wanted)
        self.memory.seen.update(chosen)
        rest = self.memory.fresh(self._rng, count - len(chosen))
        self.memory.seen.update(rest)
        return chosen + rest

    def _first(self, count: int) -> list[Point]:
        """Before anything is measured: what the sketches want tried first."""
        return [point for point in self.space.seeds() if point not in self.memory.seen][:count]

    def _offspring(self, parents: Sequence[Point], count: int) -> list[Point]:
        """Up to ``count`` new children; fewer where the parents' surroundings are used up."""
        found: dict[Point, None] = {}
        for _ in range(8):
            missing = count - len(found)
            if missing <= 0:
                break
            children = [self._child(parents) for _ in range(2 * missing)]
            for turn in range(self.options.mutations):
                moved = self.space.neighbours(self._rng, children)
                keep = self._rng.random(len(children)) < 0.5 if turn else np.zeros(len(children), bool)
                children = [
                    old if kept else new for old, new, kept in zip(children, moved, keep, strict=True)
                ]
            fresh = [point for point in dict.fromkeys(children) if point not in self.memory.seen]
            found.update(dict.fromkeys(point for point in fresh if point not in found))
        return list(found)[:count]

    def _child(self, parents: Sequence[Point]) -> Point:
        """One parent as it is, or two of one sketch mixed, if that is legal."""
        first, second = self._drawn(parents), self._drawn(parents)
        if first.space != second.space or self._rng.random() >= self.options.crossed:
            return first
        mask = self._rng.random(len(first.choice)) < 0.5
        choice = (a if one else b for a, b, one in zip(first.choice, second.choice, mask, strict=True))
        mixed = Point(first.space, tuple(choice))
        return mixed if self.space.legal(mixed) else first

    def _drawn(self, parents: Sequence[Point]) -> Point:
        """The best of a tournament: parents come in order, the fastest first."""
        drawn = self._rng.integers(0, len(parents), self.options.tournament)
        return parents[int(drawn.min())]

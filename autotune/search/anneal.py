"""Simulated annealing over sketches and knobs, scored by a cost model.

Chains walk through the space in parallel and persist from batch to batch. All points they visit compete for the next batch, which
is kept diverse and partly random, so that a wrong model does not lock the search in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopwright.autotune.model import Model, XGBModel, rank_correlation, recall_at
from loopwright.autotune.search.base import Memory, Quality, scored
from loopwright.autotune.space import Point, SearchSpace
from loopwright.autotune.transfer import Lesson

Array = np.ndarray[Any, Any]


# How often a trial of the workload counts beside one of another shape.
OWN = 30.0


@dataclass(frozen=True)
class AnnealOptions:
    """The settings of annealing.

    Attributes:
        chains: walkers.
        tries: moves of each walker between two batches, while it cools; their features are computed together.
        first_walks: how often all of that happens before the first batch, if the model knows something from other workloads.
        explore: share of a batch that is drawn at random.
        explore_first: the same for the first batch, when the model knows nothing yet.
        alike: at most this share of a batch may be one step away from something better in it.
        descents: how many of the best points coordinate descent starts from when closing.
    """

    chains: int = 128
    tries: int = 12
    first_walks: int = 4
    explore: float = 0.1
    explore_first: float = 0.4
    alike: float = 0.4
    descents: int = 3


class AnnealSearch:
    """Simulated annealing.

    Args:
        space: where to search.
        seed: decides every draw.
        model: ranks candidates; XGBoost if not given.
        options: settings.
    """

    def __init__(
        self,
        space: SearchSpace,
        seed: int = 0,
        model: Model | None = None,
        options: AnnealOptions = AnnealOptions(),
    ) -> None:
        self.space = space
        self.memory = Memory(space)
        self.model: Model = model if model is not None else XGBModel(seed)
        self.options = options
        self._rng = np.random.default_rng(seed)
        self._chains: list[Point] = []
        self._lessons: list[tuple[Array, Array]] = []  # rows and scores, a pair for each workload
        self._rows: list[Array] = []  # those of the memory's points, in the same order, as they came

    def propose(self, count: int, closing: bool = False) -> list[Point]:
        """The next batch: predicted best, diverse, and some at random."""
        if count <= 0:
            return []
        share = self.options.explore if self.model.ready else self.options.explore_first
        wanted = count - round(share * count)
        visited = self._walk()
        if self.model.ready and not self.memory.points:
            # Others' trials say where to go, and the chains begin anywhere.
            for _ in range(self.options.first_walks - 1):
                visited |= self._walk()
        ranked = sorted(visited, key=lambda point: -visited[point])
        ranked = [point for point in ranked if point not in self.memory.seen]
        if not self.memory.points:
            ranked = self.space.seeds()[: wanted // 2] + ranked
        if closing:
            ranked = self._rank(self._around_best()) + ranked
        chosen = self._diverse(ranked, wanted)
        self.memory.seen.update(chosen)
        rest = self.memory.fresh(self._rng, count - len(chosen))
        self.memory.seen.update(rest)
        return chosen + rest

    def expected(self, points: Sequence[Point]) -> Array | None:
        """The model's scores, once it has learnt anything."""
        return self.model.predict(self.space.rows(points)) if self.model.ready and points else None

    def teach(self, lessons: Sequence[Lesson]) -> None:
        """Let the model begin with what other shapes have shown."""
        for lesson in lessons:
            self._lessons.append(
                (self.space.rows_of_others(lesson.rows, lesson.chosen), scored(lesson.times))
            )
        self._fit()

    def learn(self, points: Sequence[Point], times: Sequence[float | None]) -> Quality | None:
        """Fit the model to all measurements, after noting how well it had ranked these."""
        if not points:
            return None
        quality = self._quality(points, times) if self.model.ready else None
        known = len(self.memory.points)
        self.memory.add(points, times)
        self._rows.append(self.space.rows(self.memory.points[known:]))
        self._fit()
        return quality

    def _fit(self) -> None:
        """Fit the model to what others say, and to this workload's measurements, which count for more."""
        rows = [part for part, _ in self._lessons] + self._rows
        scores = [part for _, part in self._lessons] + ([self.memory.scores()] if self._rows else [])
        if rows:
            weights = np.ones(sum(map(len, scores)))
            if self._lessons and self._rows:
                weights[-len(scores[-1]) :] = OWN
            self.model.fit(np.concatenate(rows), np.concatenate(scores), weights)

    def _quality(self, points: Sequence[Point], times: Sequence[float | None]) -> Quality:
        new = ((p, t) for p, t in zip(points, times, strict=True) if p not in self.memory)
        measured = [(p, t) for p, t in new if t is not None]
        if not measured:
            return Quality(0, None, None)
        predicted = self.model.predict(self.space.rows([p for p, _ in measured]))
        speed = 1.0 / np.array([t for _, t in measured])
        return Quality(len(measured), rank_correlation(predicted, speed), recall_at(predicted, speed, 8))

    def _walk(self) -> dict[Point, float]:
        """Let the chains walk; the points they visited, with what the model says of each."""
        rng, options = self._rng, self.options
        elite = self.memory.best(options.chains // 4)
        kept = self._chains[: options.chains - len(elite) - options.chains // 4]
        chains = elite + kept
        chains += self.space.sample(rng, options.chains - len(chains))
        if not chains:
            return {}
        moved = self.space.neighbours(rng, chains * options.tries)
        # Features are computed for many points in little more time than for a few: not for the chains first.
        energy, new = np.split(self.model.predict(self.space.rows(chains + moved)), [len(chains)])
        visited = dict(zip(chains, energy.tolist(), strict=True))
        visited.update(zip(moved, new.tolist(), strict=True))
        spread = float(np.std(energy)) or 1.0
        for turn, tried in enumerate(new.reshape(options.tries, len(chains))):
            temperature = 0.5 * spread * (1.0 - turn / options.tries)
            chance = np.exp(np.minimum((tried - energy) / temperature, 0.0))
            for nth in np.flatnonzero(rng.random(len(chains)) < chance):
                chains[nth], energy[nth] = moved[turn * len(chains) + nth], tried[nth]
        order = np.argsort(-energy, kind="stable")
        self._chains = list(dict.fromkeys(chains[n] for n in order))
        return visited

    def _around_best(self) -> list[Point]:
        """Every point one knob away from one of the best."""
        around = [q for point in self.memory.best(self.options.descents) for q in self.space.around(point)]
        return [q for q in dict.fromkeys(around) if q not in self.memory.seen]

    def _rank(self, points: list[Point]) -> list[Point]:
        if not points:
            return []
        order = np.argsort(-self.model.predict(self.space.rows(points)), kind="stable")
        return [points[n] for n in order]

    def _diverse(self, ranked: list[Point], count: int) -> list[Point]:
        """Take from the front, but put off points that are one step from one taken, once there are enough of these."""
        chosen: dict[Point, None] = {}
        put_off: list[Point] = []
        alike = int(self.options.alike * count)
        for point in ranked:
            if len(chosen) >= count:
                break
            if point in chosen:
                continue
            if any(_one_step(point, other) for other in chosen):
                if alike <= 0:
                    put_off.append(point)
                    continue
                alike -= 1
            chosen[point] = None
        for point in put_off[: max(0, count - len(chosen))]:
            chosen[point] = None
        return list(chosen)


def _one_step(a: Point, b: Point) -> bool:
    """Whether two points differ in one knob only."""
    return a.space == b.space and sum(x != y for x, y in zip(a.choice, b.choice, strict=True)) <= 1

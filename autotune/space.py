"""A search space: one or several schedules with knobs, and the points in it.

A point is a schedule's number and, for each of its knobs, the index of a value. The search moves among points; a
filled schedule is made only of those that are measured.
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from loopwright.autotune.features.filling import Filling
from loopwright.autotune.features.program import NAMES
from loopwright.sched.errors import ScheduleError
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Rules about knob values: arrays by knob name -> which candidates to allow.
Rule = Callable[[Mapping[str, Array]], Array]
# A space of at most this many points is listed when it comes to its last ones.
LISTABLE = 200_000
# Rules may allow only a small part of the combinations: so many are drawn for one that is wanted, and so many moves tried.
DRAWS, MOVES = 16, 4
# Feature rows that are kept: more than a search looks at for a batch.
KEPT_ROWS = 4096


class Point(NamedTuple):
    """A candidate: which schedule, and the index of each knob's value."""

    space: int
    choice: tuple[int, ...]


@dataclass(frozen=True)
class Sketch:
    """A schedule with knobs, a name for reports, and rules that keep candidates off that cannot be good.

    ``seeds`` are choices worth trying first: knob name -> value.
    """

    name: str
    schedule: Schedule
    rules: tuple[Rule, ...] = ()
    seeds: tuple[Mapping[str, Any], ...] = ()

    @cached_property
    def knobs(self) -> dict[str, tuple[Any, ...]]:
        """Knob name -> its values."""
        return {name: tuple(knob.values) for name, knob in self.schedule.knobs.items()}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each knob."""
        return tuple(len(values) for values in self.knobs.values())

    @property
    def size(self) -> int:
        """The number of combinations, legal or not."""
        return math.prod(self.sizes)

    def values(self, choices: Array) -> dict[str, Array]:
        """The knobs' values for rows of indices."""
        return {
            name: np.asarray(values)[choices[:, n]] for n, (name, values) in enumerate(self.knobs.items())
        }

    def allowed(self, choices: Array) -> Array:
        """Which rows obey the rules."""
        values = self.values(choices)
        good = np.ones(len(choices), bool)
        for rule in self.rules:
            good &= np.asarray(rule(values), bool)
        return good

    def chosen(self, choice: Sequence[int]) -> dict[str, Any]:
        """The values of a choice."""
        return {name: values[n] for (name, values), n in zip(self.knobs.items(), choice, strict=True)}

    def choice_of(self, chosen: Mapping[str, Any]) -> tuple[int, ...] | None:
        """The choice with these values, if there is one."""
        if chosen.keys() != self.knobs.keys():
            return None
        try:
            return tuple(values.index(chosen[name]) for name, values in self.knobs.items())
        except ValueError:
            return None


@dataclass
class SearchSpace:
    """The union of some sketches of one workload."""

    sketches: tuple[Sketch, ...]
    target: Target
    _illegal: set[Point] = field(default_factory=set)
    _rows: OrderedDict[Point, Array] = field(default_factory=OrderedDict)  # the latest asked for are last

    def __post_init__(self) -> None:
        self._fillings = [Filling(sketch.schedule, self.target) for sketch in self.sketches]
        self._knobs = sorted({name for sketch in self.sketches for name in sketch.knobs})

    @cached_property
    def size(self) -> int:
        """The number of combinations, legal or not."""
        return sum(sketch.size for sketch in self.sketches)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the columns of :meth:`rows` are."""
        return (*NAMES, "sketch", *(f"knob:{name}" for name in self._knobs))

    def legal(self, point: Point) -> bool:
        """Whether the point obeys its sketch's rules, and is not known to be refused."""
        return point not in self._illegal and bool(self.allowed([point])[0])

    def schedule(self, point: Point) -> Schedule | None:
        """The filled schedule of a point; None if its directives refuse the values."""
        sketch = self.sketches[point.space]
        try:
            return sketch.schedule.fill(sketch.chosen(point.choice))
        except ScheduleError:
            self._illegal.add(point)
            return None

    def point_of(self, schedule: Schedule, chosen: Mapping[str, Any]) -> Point | None:
        """The point whose filled schedule is this one, if it is in the space."""
        for number, sketch in enumerate(self.sketches):
            choice = sketch.choice_of(chosen)
            if choice is not None and self.schedule(Point(number, choice)) == schedule:
                return Point(number, choice)
        return None

    def seeds(self) -> list[Point]:
        """The points that sketches want tried first."""
        found = []
        for number, sketch in enumerate(self.sketches):
            for chosen in sketch.seeds:
                choice = sketch.choice_of(chosen)
                if choice is not None:
                    found.append(Point(number, choice))
        return [point for point in dict.fromkeys(found) if self.legal(point)]

    def all_points(self) -> Iterator[Point]:
        """Every legal point of a small space, in order; nothing of a large one."""
        if self.size > LISTABLE:
            return
        for number, sketch in enumerate(self.sketches):
            points = [Point(number, c) for c in itertools.product(*(range(size) for size in sketch.sizes))]
            for point, good in zip(points, self.allowed(points), strict=True):
                if good and point not in self._illegal:
                    yield point

    def sample(self, rng: np.random.Generator, count: int) -> list[Point]:
        """Random legal points, perhaps fewer than ``count``; every sketch is as likely as another."""
        shares = np.bincount(rng.integers(0, len(self.sketches), max(count, 0)), minlength=len(self.sketches))
        found: list[Point] = []
        for number, share in enumerate(shares.tolist()):
            if share:
                found += self._sample_sketch(rng, number, share)
        return [found[n] for n in rng.permutation(len(found))]

    def _sample_sketch(self, rng: np.random.Generator, number: int, count: int) -> list[Point]:
        sketch = self.sketches[number]
        found: list[Point] = []
        for _ in range(4):
            drawn = (rng.random((DRAWS * count, len(sketch.sizes))) * np.array(sketch.sizes)).astype(np.int64)
            for row in drawn[sketch.allowed(drawn)].tolist():
                point = Point(number, tuple(row))
                if point not in self._illegal:
                    found.append(point)
                if len(found) == count:
                    return found
        return found

    def neighbours(self, rng: np.random.Generator, points: Sequence[Point]) -> list[Point]:
        """For each point another one near it: a knob one step on, a knob anywhere, or another sketch with the same knobs."""
        moved = list(points)
        waiting = list(range(len(points)))
        for _ in range(MOVES):
            tried = [self._move(rng, points[n]) for n in waiting]
            good = self.allowed(tried)
            left = []
            for n, point, ok in zip(waiting, tried, good, strict=True):
                if ok and point not in self._illegal:
                    moved[n] = point
                else:
                    left.append(n)
            waiting = left
            if not waiting:
                break
        return moved

    def _move(self, rng: np.random.Generator, point: Point) -> Point:
        sizes = self.sketches[point.space].sizes
        open_knobs = [n for n, size in enumerate(sizes) if size > 1]
        kind = rng.random()
        if (kind < 0.12 and len(self.sketches) > 1) or not open_knobs:
            return self._switch(rng, point)
        choice = list(point.choice)
        for _ in range(2 if kind > 0.8 else 1):
            knob = open_knobs[int(rng.random() * len(open_knobs))]
            if kind < 0.3:
                choice[knob] = int(rng.random() * sizes[knob])
            else:
                step = 1 if rng.random() < 0.5 else -1
                choice[knob] = min(max(choice[knob] + step, 0), sizes[knob] - 1)
        return Point(point.space, tuple(choice))

    def _switch(self, rng: np.random.Generator, point: Point) -> Point:
        """The same values in another sketch, where it has them; the rest at random."""
        number = int(rng.random() * len(self.sketches))
        old = self.sketches[point.space].chosen(point.choice)
        choice = [int(rng.random() * size) for size in self.sketches[number].sizes]
        for n, (name, values) in enumerate(self.sketches[number].knobs.items()):
            if name in old and old[name] in values:
                choice[n] = values.index(old[name])
        return Point(number, tuple(choice))

    def around(self, point: Point) -> list[Point]:
        """Every legal point that differs in one knob, by one or two steps."""
        sizes = self.sketches[point.space].sizes
        found = []
        for knob, size in enumerate(sizes):
            for step in (-1, 1, -2, 2):
                value = point.choice[knob] + step
                if 0 <= value < size:
                    found.append(Point(point.space, (*point.choice[:knob], value, *point.choice[knob + 1 :])))
        good = self.allowed(found)
        return [p for p, ok in zip(found, good, strict=True) if ok and p not in self._illegal]

    def rows(self, points: Sequence[Point]) -> Array:
        """A feature row for each point; see :attr:`feature_names`. Those asked for lately are not computed again."""
        new = [point for point in dict.fromkeys(points) if point not in self._rows]
        # A copy of each: a view would keep the rows of all the others as long.
        self._rows.update(zip(new, (row.copy() for row in self._new_rows(new)), strict=True))
        rows = np.empty((len(points), len(self.feature_names)), np.float32)
        for position, point in enumerate(points):
            rows[position] = self._rows[point]
            self._rows.move_to_end(point)
        while len(self._rows) > KEPT_ROWS:
            self._rows.popitem(last=False)
        return rows

    def _new_rows(self, points: Sequence[Point]) -> Array:
        rows = np.full((len(points), len(self.feature_names)), np.nan, np.float32)
        for number, positions, choices in self._by_sketch(points):
            sketch = self.sketches[number]
            rows[positions, : len(NAMES)] = self._fillings[number].rows(sketch, choices)
            rows[positions, len(NAMES)] = number
            for name, values in sketch.values(choices).items():
                column = len(NAMES) + 1 + self._knobs.index(name)
                index = choices[:, list(sketch.knobs).index(name)]
                rows[positions, column] = (
                    np.log2(np.maximum(values, 0.5)) if values.dtype.kind in "iu" else index
                )
        return rows

    def rows_of_others(self, known: Array, chosen: Sequence[Mapping[str, Any]]) -> Array:
        """Feature rows of candidates of another shape, whose sketches are not at hand.

        Args:
            known: :data:`NAMES` of each.
            chosen: the values of their knobs; those of a name that is not used here are not looked at.
        """
        rows = np.full((len(known), len(self.feature_names)), np.nan, np.float32)
        rows[:, : len(NAMES)] = known
        extents = [NAMES.index(f"outer{n}") for n in range(3)]
        rows[:, extents] = np.nan  # of loops outside: their shape's own
        for column, name in enumerate(self._knobs, len(NAMES) + 1):
            values = next(sketch.knobs[name] for sketch in self.sketches if name in sketch.knobs)
            for row, value in enumerate(knobs.get(name) for knobs in chosen):
                if isinstance(value, int) and not isinstance(value, bool):
                    rows[row, column] = np.log2(max(value, 0.5))
                elif value in values:
                    rows[row, column] = values.index(value)
        return rows

    @property
    def shared_by(self) -> int:
        """How many cores share the work that a candidate does alone when it is screened."""
        return 1 if isinstance(self.target, DeviceTarget) else self.target.cores

    def shares(self, rows: Array) -> Array:
        """How much longer each candidate takes than its one-core time divided by the cores says, from its feature row: 1 for
        even shares."""
        if isinstance(self.target, DeviceTarget):  # timed on all of it from the start
            return np.ones(len(rows))
        return np.nan_to_num(rows[:, NAMES.index("imbalance")], nan=1.0)

    def allowed(self, points: Sequence[Point]) -> Array:
        """Which points obey the rules of their sketches."""
        good = np.zeros(len(points), bool)
        for number, positions, choices in self._by_sketch(points):
            good[positions] = self.sketches[number].allowed(choices)
        return good

    def _by_sketch(self, points: Sequence[Point]) -> Iterator[tuple[int, Array, Array]]:
        groups: dict[int, list[int]] = {}
        for position, point in enumerate(points):
            groups.setdefault(point.space, []).append(position)
        for number, positions in sorted(groups.items()):
            choices = np.array([points[n].choice for n in positions], dtype=np.int64)
            yield (
                number,
                np.array(positions),
                choices.reshape(len(positions), len(self.sketches[number].sizes)),
            )

"""Whether a reducer of the user's own keeps the laws that the loops rely on: tried on samples of what it is applied to."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import prod
from typing import Any, ClassVar

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Expr, Item, Load, Reduce, Reducer, structure, walk
from loopwright.sched.language.interval import most
from loopwright.sched.reference.numbers import Array
from loopwright.sched.reference.points import Points, Value
from loopwright.sched.reference.tuples import Combiner

SAMPLES = 12
TRIPLES = 400
FARTHEST = 1 << 12  # points beyond this many are not sampled
# How far rounding may lead two ways of combining the same few numbers.
TOLERANCE = {
    **dict.fromkeys(dtypes.NARROW, 1.0),
    "float16": 2.0**-4,
    "float32": 2.0**-10,
    "float64": 2.0**-20,
}

Sample = tuple[Any, ...]
Columns = tuple[Array, ...]  # of a number of samples: the components, each an array over the samples


def broken_law(reducer: Reducer, values: tuple[Expr, ...], over: tuple[Axis, ...]) -> str | None:
    """A law that ``reducer`` breaks, with the operands that show it; None if none is found.

    ``reducer`` may be one for wider floats than those of ``values``: then rounding is not taken for a broken law.
    The operands are what ``values`` can be at points of ``over``, with random numbers for what they read, and combinations
    of these: a law need not hold for what never comes up.
    """
    with np.errstate(all="ignore"):
        return _Trial(reducer, values, over).broken()


class _Trial:
    def __init__(self, reducer: Reducer, values: tuple[Expr, ...], over: tuple[Axis, ...]) -> None:
        self.reducer = reducer
        self.over = over
        self.kinds = tuple(identity.dtype for identity in reducer.identities)
        self.rng = np.random.default_rng(0)
        self.combiner = Combiner(reducer, track=False)
        self.samples = self._samples(values)

    def _samples(self, values: tuple[Expr, ...]) -> Columns:
        """Terms, and combinations of two."""
        terms = self._terms(values, least=-12)
        if len(terms[0]) < SAMPLES // 2:
            terms = self._terms(values, least=1)  # where a logarithm or a root is taken
        if len(terms[0]) == 0:
            return terms
        count = len(terms[0])
        first, second = (self.rng.integers(0, count, min(count, SAMPLES)) for _ in range(2))
        pairs = self.combine(_taken(terms, first), _taken(terms, second))
        return tuple(np.concatenate(both) for both in zip(terms, pairs, strict=True))

    def _terms(self, values: tuple[Expr, ...], least: int) -> Columns:
        points = _Sampled(self.rng, least, self.over)
        columns = [
            np.broadcast_to(points(value).array.astype(kind), (points.count,))
            for value, kind in zip(values, self.kinds, strict=True)
        ]
        usable = np.all([np.isfinite(column.astype(np.float64)) for column in columns], axis=0)
        return tuple(column[usable] for column in columns)

    def combine(self, a: Columns, b: Columns) -> Columns:
        """The combinations of samples, one by one."""
        size = np.broadcast(*a, *b).size
        found = self.combiner.combine(tuple(map(Value, a)), tuple(map(Value, b)))
        return tuple(np.broadcast_to(value.array, (size,)) for value in found)

    def broken(self) -> str | None:
        """The first law found broken."""
        return (
            self._identity()
            or self._associative()
            or (self._commutative() if self.reducer.commutative else None)
        )

    def _identity(self) -> str | None:
        single = tuple(np.full(1, e.value, e.dtype) for e in self.reducer.identities)  # type: ignore[attr-defined]
        for place, (a, b) in (("first", (single, self.samples)), ("second", (self.samples, single))):
            found = self.combine(a, b)
            wrong = self._differ(found, self.samples, strict=True)
            if wrong is not None:
                nothing, some = _text(single, 0), _text(self.samples, wrong)
                given = f"{nothing}, {some}" if place == "first" else f"{some}, {nothing}"
                return (
                    f"the identity {nothing} changes what it is combined with:\n"
                    f"combine({given}) is {_text(found, wrong)}, not {some}"
                )
        return None

    def _associative(self) -> str | None:
        count = len(self.samples[0])
        if count == 0:
            return None
        a, b, c = (_taken(self.samples, self.rng.integers(0, count, TRIPLES)) for _ in range(3))
        left, right = self.combine(self.combine(a, b), c), self.combine(a, self.combine(b, c))
        wrong = self._differ(left, right)
        if wrong is None:
            return None
        x, y, z = (_text(part, wrong) for part in (a, b, c))
        return (
            f"combine is not associative: with a = {x}, b = {y}, c = {z}\n"
            f"combine(combine(a, b), c) is {_text(left, wrong)},\n"
            f"combine(a, combine(b, c)) is {_text(right, wrong)}"
        )

    def _commutative(self) -> str | None:
        count = len(self.samples[0])
        first, second = (grid.ravel() for grid in np.indices((count, count)))
        a, b = _taken(self.samples, first), _taken(self.samples, second)
        left, right = self.combine(a, b), self.combine(b, a)
        wrong = self._differ(left, right)
        if wrong is None:
            return None
        x, y = _text(a, wrong), _text(b, wrong)
        return (
            f"combine is not commutative: combine({x}, {y}) is {_text(left, wrong)},\n"
            f"but combine({y}, {x}) is {_text(right, wrong)}.\n"
            "Reduction loops may run in any order: let a component decide ties, or say commutative=False to keep the order"
        )

    def _differ(self, x: Columns, y: Columns, strict: bool = False) -> int | None:
        """The first sample where two results differ; overflow of floats counts only with ``strict``."""
        wrong = np.zeros(max(len(column) for column in (*x, *y)), bool)
        for a, b, kind in zip(x, y, self.kinds, strict=True):
            same = (a == b) | ((a != a) & (b != b))
            if dtypes.is_float(kind):
                big = np.maximum(1, np.maximum(np.abs(a), np.abs(b)).astype(np.float64))
                near = np.abs(a.astype(np.float64) - b.astype(np.float64)) <= TOLERANCE[kind] * big
                finite = np.isfinite(a) & np.isfinite(b)
                same |= (near & finite) | (False if strict else ~finite)
            wrong |= ~same
        return int(np.argmax(wrong)) if wrong.any() else None


class _Sampled(Points):
    """Evaluates the terms of a reduction at a few of its points, with random numbers for whatever is read there."""

    def __init__(self, rng: np.random.Generator, least: int, over: tuple[Axis, ...]) -> None:
        super().__init__({}, (), {}, track=False)
        self.rng = rng
        self.least = least
        sizes = [most(axis.extent) for axis in over]
        whole = prod(sizes)
        self.count = min(SAMPLES, whole)
        # Distinct points: two terms at one point never meet.
        chosen = rng.choice(min(whole, FARTHEST), self.count, replace=False) if whole else np.zeros(0, int)
        places = np.unravel_index(chosen, sizes)
        self.drawn: dict[Hashable, Value] = {
            structure(axis): Value(place.astype("int32")) for axis, place in zip(over, places, strict=True)
        }
        self.over = over

    def _read(self, expr: Expr) -> Value:
        """Equal reads give equal numbers; these are small, and some of them equal, so that ties are tried too."""
        key = structure(expr)
        if key not in self.drawn:
            low = max(self.least, int(max(-100, dtypes.limits(expr.dtype)[0])))
            high = min(13, int(min(100, dtypes.limits(expr.dtype)[1])) + 1)
            moves = any(e is axis for e in walk(expr) for axis in self.over)
            numbers = self.rng.integers(low, high, self.count if moves else 1)
            scale = 4 if dtypes.is_float(expr.dtype) else 1
            self.drawn[key] = Value((numbers / scale).astype(expr.dtype))
        return self.drawn[key]

    def _index(self, expr: Axis) -> Value:
        """An axis outside the reduction has one value for all terms."""
        return self.drawn.setdefault(
            structure(expr), Value(self.rng.integers(0, max(1, most(expr.extent)), 1).astype(expr.dtype))
        )

    HANDLERS: ClassVar[dict[type, Callable[[Any, Any], Value]]] = {
        **Points.HANDLERS,
        Load: _read,
        Reduce: _read,
        Item: _read,
        Axis: _index,
    }


def _taken(columns: Columns, which: Array) -> Columns:
    return tuple(column[which] for column in columns)


def _text(columns: Columns, which: int) -> str:
    numbers = [f"{column[min(which, len(column) - 1)]:g}" for column in columns]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"

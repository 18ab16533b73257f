"""Reductions over tuples evaluated with NumPy: positions of extremes, and reducers of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Operand, Reduce, Reducer
from loopwright.sched.reference.points import Array, Points, Value

Values = tuple[Value, ...]


class Combiner(Points):
    """Evaluates a reducer's formula on operands given as arrays."""

    def __init__(self, reducer: Reducer, track: bool) -> None:
        super().__init__({}, (), {}, track)
        self.reducer = reducer
        self.operands: dict[str, Values] = {}

    def combine(self, a: Values, b: Values) -> Values:
        """The combination of two tuples, elementwise."""
        self.operands = {"a": a, "b": b}
        return tuple(self(result) for result in self.reducer.results)

    def _operand(self, expr: Operand) -> Value:
        return self.operands[expr.side][expr.part]

    HANDLERS: ClassVar[dict[type, Callable[[Any, Any], Value]]] = {**Points.HANDLERS, Operand: _operand}


def flattened(value: Value, spatial: int, extents: list[int]) -> Value:
    """A value with all of its block's points, those of the reduction in one last dimension, in order."""
    shape = (*extents[:spatial], math.prod(extents[spatial:]))
    return Value(*(None if a is None else np.broadcast_to(a, extents).reshape(shape) for a in value))  # type: ignore[arg-type]


class ExtremeTotal:
    """What an argmin or argmax has reached after some blocks."""

    def __init__(self, reduce: Reduce) -> None:
        self.reduce = reduce
        self.reached: Values | None = None

    def add(self, terms: Values) -> None:
        """Take in the terms of one block, flattened."""
        if self.reached is not None:
            old = (Value(*(None if a is None else a[..., None] for a in value)) for value in self.reached)  # type: ignore[arg-type]
            terms = tuple(_joined(a, b) for a, b in zip(old, terms, strict=True))
        self.reached = self._best(*terms)

    def _best(self, value: Value, index: Value) -> Values:
        """The best pair of the last dimension: NaN before all numbers, of equals the one of the lowest index."""
        array = value.array
        extreme = np.max if self.reduce.op == "argmax" else np.min
        best = extreme(array, axis=-1, keepdims=True)  # NaN if any is
        chosen = (array == best) | ((array != array) & (best != best))
        at = np.where(chosen, index.array.astype(np.float64), np.inf).argmin(axis=-1, keepdims=True)
        best, position = (np.take_along_axis(a, at, -1) for a in (array, index.array))
        if value.slack is None:
            return Value(best[..., 0]), Value(position[..., 0])
        # Where rounding may make another element the best, its index is right as well.
        room = value.slack + np.take_along_axis(value.slack, at, -1)
        near = np.abs(array.astype(np.float64) - best) <= room
        away = np.abs(index.array.astype(np.float64) - position)
        slack = np.where(near, away, 0).max(axis=-1)
        return Value(best[..., 0], value.slack.max(axis=-1)), Value(position[..., 0], slack)

    def finish(self, extents: list[int]) -> Values:
        """The result for a block of these extents."""
        if self.reached is None:  # nothing to choose from
            kind, counter = self.reduce.dtypes
            low, high = dtypes.limits(kind)
            worst = low if self.reduce.op == "argmax" else high
            return (
                Value(np.full(extents, worst, dtypes.numpy_dtype(kind))),
                Value(np.full(extents, dtypes.limits(counter)[1], counter)),
            )
        return self.reached


class CustomTotal:
    """What a reducer of the user's own has reached after some blocks.

    Terms are combined in pairs of neighbours, again and again: that is their order, and takes few steps.
    """

    def __init__(self, reduce: Reduce, track: bool) -> None:
        assert isinstance(reduce.reducer, Reducer)
        self.reduce = reduce
        self.reducer = reduce.reducer
        self.combiner = Combiner(reduce.reducer, track)
        self.length = math.prod(axis.extent for axis in reduce.axes)
        self.reached: Values | None = None
        self.overflow: Array | None = (
            None  # where a combination of finite numbers was none: what follows may be anything
        )

    def add(self, terms: Values) -> None:
        """Take in the terms of one block, flattened."""
        while terms[0].array.shape[-1] > 1:
            count = terms[0].array.shape[-1]
            even, odd = (_part(terms, slice(first, count - count % 2, 2)) for first in (0, 1))
            pairs = tuple(_broadcast(v, even[0].array.shape) for v in self.combiner.combine(even, odd))
            self._note(np.any(_finite(even) & _finite(odd) & ~_finite(pairs), axis=-1))
            rest = _part(terms, slice(count - count % 2, count))
            terms = tuple(_joined(a, b) for a, b in zip(pairs, rest, strict=True)) if count % 2 else pairs
        found = _part(terms, 0)
        if self.reached is not None:
            old, found = (self.reached, found), self.combiner.combine(self.reached, found)
            self._note(_finite(old[0]) & _finite(old[1]) & ~_finite(found))
        self.reached = found

    def _note(self, overflow: Any) -> None:
        self.overflow = overflow if self.overflow is None else self.overflow | overflow

    def finish(self, extents: list[int]) -> Values:
        """The result for a block of these extents.

        A kernel goes through the terms one by one and rounds as often; its errors add up like those of a sum.
        """
        if self.reached is None:
            kinds = zip(self.reducer.identities, self.reduce.dtypes, strict=True)
            return tuple(Value(np.full(extents, e.value, dtypes.numpy_dtype(kind))) for e, kind in kinds)  # type: ignore[attr-defined]
        return tuple(self._loosened(_broadcast(value, tuple(extents))) for value in self.reached)

    def _loosened(self, value: Value) -> Value:
        if value.slack is None or value.array.dtype == bool:
            return value
        slack = value.slack * (1 + math.sqrt(self.length))
        if self.overflow is not None:
            anything = np.where(np.isfinite(value.array), np.inf, np.nan)
            slack = np.where(self.overflow, anything, slack)
        return Value(value.array, slack)


def _finite(values: Values) -> Array:
    """Where all components are finite numbers."""
    parts = [
        np.isfinite(v.array) if v.array.dtype.kind == "f" else np.ones(v.array.shape, bool) for v in values
    ]
    return np.logical_and.reduce(parts)


def _broadcast(value: Value, shape: tuple[int, ...]) -> Value:
    return Value(*(None if a is None else np.broadcast_to(a, shape) for a in value))  # type: ignore[arg-type]


def _part(values: Values, which: Any) -> Values:
    return tuple(Value(*(None if a is None else a[..., which] for a in value)) for value in values)  # type: ignore[arg-type]


def _joined(a: Value, b: Value) -> Value:
    """Two values one after the other along the last dimension."""
    if a.slack is None and b.slack is None:
        return Value(np.concatenate([a.array, b.array], axis=-1))
    kind = bool if a.array.dtype == bool else float
    slacks = [np.zeros(v.array.shape, kind) if v.slack is None else v.slack for v in (a, b)]
    return Value(np.concatenate([a.array, b.array], axis=-1), np.concatenate(slacks, axis=-1))

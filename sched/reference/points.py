"""Expressions evaluated with NumPy at a block of points: the inner half of the reference evaluator.

A value is a NumPy array, broadcastable over the block, of exactly the dtype its expression has. Beside it may stand
a *slack*: how far a correct kernel can be from that value, having rounded elsewhere. None means "not at all". The slack
is first-order running error analysis: each node adds its own rounding and passes on its operands' slack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Result,
    Select,
    Unary,
    children,
)
from loopwright.sched.language.extern import Extern
from loopwright.sched.language.interval import index_range
from loopwright.sched.reference.functions import EXACT_FUNCTIONS, FUNCTIONS, LIBRARY_ULPS, ulps
from loopwright.sched.reference.numbers import (
    BINARIES,
    Array,
    floor_of,
    plain,
    to_integer,
    unit,
)
from loopwright.sched.reference.slack import magnitude, or_zero, spread, times

Ranges = dict[Axis, tuple[int, int]]  # axis -> the part of it in the block, [start, stop)


class Value(NamedTuple):
    """An array and its slack: for a bool where it may be wrong, for a number by how much."""

    array: Array
    slack: Array | None = None


Tensors = dict[int, tuple[Value, ...]]  # id of a tensor -> its values, one for each part of its elements


def affine(index: Expr) -> tuple[int, dict[Axis, int]] | None:
    """An index as a constant plus multiples of axes; None if it is anything else.

    >>> i = Axis("i", 4)
    >>> offset, steps = affine(i * 2 + 1)
    >>> offset, steps[i]
    (1, 2)
    """
    match index:
        case Const():
            return int(index.value), {}
        case Axis():
            return 0, {index: 1}
        case Cast() if dtypes.is_integer(index.value.dtype) and dtypes.is_integer(index.dtype):
            # A cast that could wrap is no affine function; of what follows, ranges are checked on the whole index.
            return affine(index.value) if index_range(index) is not None else None
        case Binary(op="add" | "sub" | "mul"):
            a, b = affine(index.a), affine(index.b)
            if a is None or b is None:
                return None
            if index.op == "mul":
                if b[1]:
                    a, b = b, a
                return None if b[1] else (a[0] * b[0], {axis: step * b[0] for axis, step in a[1].items()})
            sign = 1 if index.op == "add" else -1
            steps = dict(a[1])
            for axis, step in b[1].items():
                steps[axis] = steps.get(axis, 0) + sign * step
            return a[0] + sign * b[0], steps
    return None


class Points:
    """Evaluates expressions at every point of a block.

    Args:
        tensors: ``id`` of each tensor -> its values, one for each part of its elements.
        axes: the axes of the block, in the order of the arrays' dimensions.
        ranges: which part of each axis the block covers.
        track: whether slack is computed.
        results: what :class:`Result` stands for, by its part.
    """

    def __init__(
        self,
        tensors: dict[int, tuple[Value, ...]],
        axes: tuple[Axis, ...],
        ranges: Ranges,
        track: bool,
        results: tuple[Value, ...] = (),
    ) -> None:
        self.tensors = tensors
        self.position = {axis: n for n, axis in enumerate(axes)}
        self.ranges = ranges
        self.track = track
        self.results = results
        self.shared: set[int] = set()
        self.known: dict[int, Value] = {}

    def __call__(self, expr: Expr) -> Value:
        """The value of ``expr``; what occurs twice in it is evaluated once."""
        self.shared = shared(expr)
        self.known = {}
        return self.value(expr)

    def value(self, expr: Expr) -> Value:
        """The value of a sub-expression."""
        if id(expr) not in self.shared:
            return self.HANDLERS[type(expr)](self, expr)
        if id(expr) not in self.known:
            self.known[id(expr)] = self.HANDLERS[type(expr)](self, expr)
        return self.known[id(expr)]

    def wide(self, expr: Expr) -> Value:
        """The value in float64, the arithmetic on top of it too: a kernel may fuse that into an accumulation, unrounded."""
        match expr:
            case Binary(op="add" | "sub" | "mul") if dtypes.is_float(expr.dtype):
                a, b = self.wide(expr.a), self.wide(expr.b)
                array = BINARIES[expr.op](a.array, b.array)
                return Value(array, self._arithmetic_slack(expr, a, b, array))
            case Unary(op="neg") if dtypes.is_float(expr.dtype):
                a = self.wide(expr.a)
                return Value(-a.array, a.slack)
        value = self.value(expr)
        return Value(value.array.astype(np.float64), value.slack)

    def _const(self, expr: Const) -> Value:
        return Value(np.full((1,) * len(self.position), expr.value, dtypes.numpy_dtype(expr.dtype)))

    def _axis(self, expr: Axis) -> Value:
        start, stop = self.ranges[expr]
        shape = [1] * len(self.position)
        shape[self.position[expr]] = stop - start
        return Value(np.arange(start, stop, dtype=np.int32).reshape(shape))

    def _result(self, expr: Result) -> Value:
        return self.results[expr.part]

    # Loads

    def _load(self, expr: Load) -> Value:
        stored = self.tensors[id(expr.tensor)][expr.part]
        if stored.array.size == 0:  # only a select can stand around this, and it takes the other side
            return Value(np.zeros((1,) * len(self.position), dtypes.numpy_dtype(expr.dtype)))
        lines = [affine(index) for index in expr.indices]
        if all(line is not None for line in lines) and self._inside(expr):
            plain = [line for line in lines if line is not None]
            return Value(*(None if a is None else self._view(a, plain) for a in stored))  # type: ignore[arg-type]
        return self._gather(expr, stored)

    def _inside(self, expr: Load) -> bool:
        """Whether no point of the block reads outside the tensor."""
        for index, size in zip(expr.indices, expr.tensor.shape, strict=True):
            span = index_range(index, lambda axis: (self.ranges[axis][0], self.ranges[axis][1] - 1))
            if span is None or span[0] < 0 or span[1] >= size:
                return False
        return True

    def _view(self, array: Array, lines: list[tuple[int, dict[Axis, int]]]) -> Array:
        """Affine indices that stay inside are a strided view: no element is copied, whatever the access."""
        start, shape, strides = [], [1] * len(self.position), [0] * len(self.position)
        for (offset, steps), stride in zip(lines, array.strides, strict=True):
            start.append(offset + sum(step * self.ranges[axis][0] for axis, step in steps.items()))
            for axis, step in steps.items():
                at = self.position[axis]
                shape[at] = self.ranges[axis][1] - self.ranges[axis][0]
                strides[at] += step * stride
        first = array[tuple(slice(at, at + 1) for at in start)]
        # as_strided goes by the letters of a dtype, which narrow floats have none of: it sees their bits.
        bits = first.view(dtypes.stored(array.dtype.name))
        return as_strided(bits, tuple(shape), tuple(strides), writeable=False).view(array.dtype)

    def _gather(self, expr: Load, stored: Value) -> Value:
        """Other indices are clamped into the tensor: the language's rule for indices that only the data knows."""
        at, unsure = [], None
        for index, size in zip(expr.indices, stored.array.shape, strict=True):
            value = self.value(index)
            at.append(np.clip(value.array, 0, size - 1).astype(np.intp))
            if value.slack is not None:
                unsure = value.slack if unsure is None else np.maximum(unsure, value.slack)
        if not at:
            return Value(*(None if a is None else a.reshape((1,) * len(self.position)) for a in stored))  # type: ignore[arg-type]
        slack = None if stored.slack is None else stored.slack[tuple(at)]
        if unsure is not None:
            slack = np.where(unsure > 0, np.inf, 0 if slack is None else slack)
        return Value(stored.array[tuple(at)], slack)

    # Operations

    def _binary(self, expr: Binary) -> Value:
        a, b = self.value(expr.a), self.value(expr.b)
        array = BINARIES[expr.op](plain(a.array), plain(b.array))
        if expr.op not in ("and", "or"):
            array = array.astype(dtypes.numpy_dtype(expr.dtype), copy=False)
        return Value(array, self._binary_slack(expr, a, b, array) if self.track else None)

    def _binary_slack(self, expr: Binary, a: Value, b: Value, array: Array) -> Array | None:
        if expr.op in ("add", "sub", "mul", "div"):
            return self._arithmetic_slack(expr, a, b, array, rounds=True)
        if a.slack is None and b.slack is None:
            return self._own_rounding(expr, array) if expr.op in ("pow", "floordiv", "mod") else None
        ea, eb = or_zero(a.slack), or_zero(b.slack)
        if expr.dtype == "bool":
            if expr.a.dtype == "bool":
                return np.logical_or(ea, eb)
            distance = np.abs(a.array.astype(np.float64) - b.array.astype(np.float64))
            return (distance <= ea + eb) & (ea + eb > 0)
        if expr.op in ("min", "max"):
            return np.maximum(ea, eb)
        if dtypes.is_float(expr.dtype):
            fn, x, y = BINARIES[expr.op], a.array.astype(np.float64), b.array.astype(np.float64)
            return (
                spread(lambda v: fn(v, y), x, ea)
                + spread(lambda v: fn(x, v), y, eb)
                + self._own_rounding(expr, array)
            )
        return np.where(np.logical_or(ea, eb), np.inf, 0.0)

    def _arithmetic_slack(
        self, expr: Binary, a: Value, b: Value, array: Array, rounds: bool = False
    ) -> Array | None:
        """Slack of ``+ - * /``, with the operation's own rounding or without."""
        if not self.track:
            return None
        slack: Array | None = None
        if a.slack is not None or b.slack is not None:
            ea, eb = or_zero(a.slack), or_zero(b.slack)
            if expr.op in ("add", "sub"):
                slack = ea + eb
            elif expr.op == "mul":
                slack = times(magnitude(a.array), eb) + times(magnitude(b.array), ea) + times(ea, eb)
            else:
                room = magnitude(b.array) - eb
                slack = np.where(
                    room > 0, (ea + times(magnitude(array), eb)) / np.where(room > 0, room, 1), np.inf
                )
        if rounds and dtypes.is_float(expr.dtype):
            own = self._rounding(expr.dtype, array)
            slack = own if slack is None else slack + own
        return slack

    def _own_rounding(self, expr: Binary, array: Array) -> Array | None:
        if expr.op == "pow":
            return self._approximation("pow", expr.dtype, array)
        return self._rounding(expr.dtype, array)

    def _rounding(self, dtype: str, array: Array, ulps: float | Array = 1) -> Array | None:
        if not dtypes.is_float(dtype):
            return None
        size = magnitude(array)  # an infinity is exact: it was one before, or everyone overflows
        return np.where(np.isinf(size), 0, size * (unit(dtype) * ulps) + floor_of(dtype))

    def _unary(self, expr: Unary) -> Value:
        a = self.value(expr.a)
        array = {"neg": np.negative, "not": np.logical_not, "bitnot": np.invert}[expr.op](plain(a.array))
        return Value(array.astype(a.array.dtype, copy=False), a.slack)

    def _call(self, expr: Call) -> Value:
        values = [self.value(arg) for arg in expr.args]
        if isinstance(expr.fn, Extern):
            return self._extern(expr.fn, values)
        fn = FUNCTIONS[expr.fn]
        if not dtypes.is_float(expr.dtype):
            return Value(fn(values[0].array).astype(expr.dtype, copy=False), values[0].slack)
        args = [v.array.astype(np.float64) for v in values]
        array = fn(*args).astype(dtypes.numpy_dtype(expr.dtype))
        if not self.track:
            return Value(array)
        slack = self._brought(fn, args, values)
        if expr.fn not in EXACT_FUNCTIONS:
            own = self._approximation(expr.fn, expr.dtype, array)
            slack = own if slack is None else slack + own
        return Value(array, slack)

    def _approximation(self, fn: str, dtype: str, array: Array) -> Array:
        """How far a kernel's function may be off; of a narrow float it is computed in float32 and then rounded."""
        kind = "float32" if dtype in dtypes.NARROW else dtype
        own = or_zero(self._rounding(kind, array, ulps(fn, kind, array)))
        return own if kind == dtype else own + or_zero(self._rounding(dtype, array))

    def _extern(self, fn: Extern, values: list[Value]) -> Value:
        """A C function by the NumPy function that stands for it; what it makes of unsure arguments is unknown."""
        if fn.numpy is None:
            raise DefinitionError(
                f"{fn}: give it numpy=, a function that computes the same of arrays; the reference needs it"
            )
        array = np.asarray(fn.numpy(*(value.array for value in values))).astype(fn.returns)
        if not self.track:
            return Value(array)
        unsure = [value.slack > 0 for value in values if value.slack is not None]
        own = self._rounding(fn.returns, array, LIBRARY_ULPS)
        if not unsure:
            return Value(array, own)
        return Value(
            array, np.where(np.logical_or.reduce(np.broadcast_arrays(*unsure)), np.inf, or_zero(own))
        )

    @staticmethod
    def _brought(fn: Callable[..., Array], args: list[Array], values: list[Value]) -> Array | None:
        """What the slacks of a function's arguments make of its value."""
        total: Array | None = None
        for n, value in enumerate(values):
            if value.slack is not None:
                moved = spread(lambda x, n=n: fn(*args[:n], x, *args[n + 1 :]), args[n], value.slack)  # type: ignore[misc]
                total = moved if total is None else total + moved
        return total

    def _cast(self, expr: Cast) -> Value:
        value = self.value(expr.value)
        source, slack = expr.value.dtype, value.slack
        if dtypes.is_float(source) and dtypes.is_integer(expr.dtype):
            array = to_integer(value.array, expr.dtype)
        else:
            array = value.array.astype(dtypes.numpy_dtype(expr.dtype))
        if not self.track:
            return Value(array)
        if source == "bool":
            return Value(array, None if slack is None else slack.astype(np.float64))
        if expr.dtype == "bool":
            return Value(array, None if slack is None else (magnitude(value.array) <= slack) & (slack > 0))
        if dtypes.is_float(source) and dtypes.is_integer(expr.dtype):
            return Value(
                array, None if slack is None else spread(np.trunc, value.array.astype(np.float64), slack)
            )
        narrower = dtypes.is_float(expr.dtype) and not np.can_cast(
            dtypes.numpy_dtype(source), dtypes.numpy_dtype(expr.dtype)
        )
        if narrower:
            own = self._rounding(expr.dtype, array)
            slack = own if slack is None else slack + or_zero(own)
        return Value(array, slack)

    def _select(self, expr: Select) -> Value:
        cond, a, b = self.value(expr.cond), self.value(expr.a), self.value(expr.b)
        array = np.where(cond.array, a.array, b.array)
        if cond.slack is None and a.slack is None and b.slack is None:
            return Value(array)
        ea, eb = or_zero(a.slack), or_zero(b.slack)
        slack = np.where(cond.array, ea, eb)
        if cond.slack is not None:
            if expr.dtype == "bool":
                return Value(array, np.logical_or(slack, cond.slack))
            gap = np.abs(a.array.astype(np.float64) - b.array.astype(np.float64))
            slack = np.where(cond.slack, gap + np.maximum(ea, eb), slack)
        return Value(array, slack)

    HANDLERS: ClassVar[dict[type, Callable[[Points, Any], Value]]] = {
        Const: _const, Axis: _axis, Result: _result, Load: _load,
        Binary: _binary, Unary: _unary, Call: _call, Cast: _cast, Select: _select,
    }  # fmt: skip


def shared(expr: Expr) -> set[int]:
    """``id`` of the compound nodes that occur more than once in an expression."""
    seen: set[int] = set()
    shared: set[int] = set()
    stack = [expr]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            if children(current):
                shared.add(id(current))
            continue
        seen.add(id(current))
        stack.extend(children(current))
    return shared

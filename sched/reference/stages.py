"""Stages evaluated with NumPy, in blocks of bounded size: the outer half of the reference evaluator.

A sum is split into at most two factors that use as few axes as possible; blocks of them are multiplied by BLAS in
float64. That covers matrix products, convolutions and whatever looks like them; any other reduction is the same with
one factor. The blocks bound the memory: no temporary is larger than :data:`BLOCK` elements.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.expr import INDEXERS, Axis, Binary, Expr, Reduce, walk
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.blocks import blocks
from loopwright.sched.reference.flushing import flushed, lost_sums, may_flush
from loopwright.sched.reference.numbers import Array, plain, unit
from loopwright.sched.reference.points import Points, Ranges, Value
from loopwright.sched.reference.routines import computed_whole
from loopwright.sched.reference.slack import of_sum
from loopwright.sched.reference.tuples import CustomTotal, ExtremeTotal, flattened
from loopwright.sched.reference.updates import updated

BLOCK = 1 << 18  # points of an elementwise block: what fits into a second-level cache
FACTOR = 1 << 21  # elements of a factor of a sum of products: 16 MB in float64
EXACT_INTEGERS = 2.0**53  # of float64


class StageEvaluator:
    """Evaluates one stage after another; ``tensors`` holds what is known of the parts of each, by ``id``."""

    def __init__(self, tensors: dict[int, tuple[Value, ...]], track: bool) -> None:
        self.tensors = tensors
        self.track = track

    def __call__(self, stage: Stage) -> tuple[Value, ...]:
        """The values of a stage whose producers are known: one for each part of its elements."""
        if stage.updating is not None:
            return updated(stage, self.tensors, self.track)
        if stage.routine is not None:
            return computed_whole(stage, self.tensors, self.track)
        outs = [self._empty(known_shape(stage.shape), dtype) for dtype in stage.dtypes]
        if 0 in stage.shape:
            return tuple(map(self._tidy, outs))
        factors = _factors(stage.reduce) if stage.reduce is not None else []
        for ranges in blocks(stage.axes, _steps(stage, factors)):
            results = (
                self._reduction(stage, stage.reduce, factors, ranges) if stage.reduce is not None else ()
            )
            points = Points(self.tensors, stage.axes, ranges, self.track, results)
            at = tuple(slice(*ranges[axis]) for axis in stage.axes)
            for out, body in zip(outs, stage.bodies, strict=True):
                value = points(body)
                out.array[at] = value.array
                if value.slack is not None and out.slack is not None:
                    out.slack[at] = value.slack
        return tuple(map(self._tidy, outs))

    def _empty(self, shape: tuple[int, ...], dtype: str) -> Value:
        slack = np.zeros(shape, bool if dtype == "bool" else float) if self.track else None
        return Value(np.empty(shape, dtypes.numpy_dtype(dtype)), slack)

    @staticmethod
    def _tidy(out: Value) -> Value:
        return out if out.slack is not None and out.slack.any() else Value(out.array)

    # Reductions

    def _reduction(
        self, stage: Stage, reduce: Reduce, factors: list[list[Expr]], ranges: Ranges
    ) -> tuple[Value, ...]:
        """The values of the reduction in one block of the stage, accumulated over blocks of the reduction axes."""
        axes = stage.axes + reduce.axes
        totals = [self._total(member, len(stage.axes)) for member in reduce.members]
        if all(axis.extent for axis in reduce.axes):
            steps = _steps(stage, factors)
            for inner in blocks(reduce.axes, steps):
                points = Points(self.tensors, axes, ranges | inner, self.track)
                extents = [stop - start for start, stop in points.ranges.values()]
                for total in totals:
                    if isinstance(total, _Total):
                        groups = factors if total.reduce is reduce else [[total.reduce.value]]
                        total.add([self._product(points, group, total.reduce) for group in groups], extents)
                    else:
                        terms = (points(value) for value in total.reduce.values)
                        total.add(tuple(flattened(term, len(stage.axes), extents) for term in terms))
        extents = [stop - start for start, stop in ranges.values()]
        return tuple(value for total in totals for value in total.finish(extents))

    def _total(self, reduce: Reduce, spatial: int) -> _Total | ExtremeTotal | CustomTotal:
        if reduce.op in INDEXERS:
            return ExtremeTotal(reduce)
        return CustomTotal(reduce, self.track) if reduce.reducer else _Total(reduce, spatial, self.track)

    def _product(self, points: Points, group: list[Expr], reduce: Reduce) -> Value:
        exact = not dtypes.is_float(reduce.dtype) or reduce.op in ("min", "max")
        product: Value | None = None
        for expr in group:
            if exact:
                value = points(expr)
            else:
                points(expr)  # learns which parts are shared
                value = points.wide(expr)
                if self.track and reduce.op == "sum":
                    value = flushed(value, expr)
            product = value if product is None else _multiply(product, value)
        assert product is not None
        return product


class _Total:
    """What a reduction has reached after some blocks, in float64 or, for integers, in its own dtype."""

    def __init__(self, reduce: Reduce, spatial: int, track: bool) -> None:
        self.reduce = reduce
        self.spatial = spatial
        self.track = track
        self.length = math.prod(known(axis.extent) for axis in reduce.axes)
        self.array: Array | None = None
        self.slack: Array | None = None
        self.weight: Array | None = None  # of a sum: the sum of the absolute values
        self.quantum = 0  # every term so far is a multiple of 2**-quantum

    def add(self, factors: list[Value], extents: list[int]) -> None:
        """Take in the values of one block."""
        if self.reduce.op == "sum":
            self._add_products(factors, extents)
            return
        (value,) = factors
        array, slack = value
        over = tuple(range(self.spatial, len(extents)))
        full = [*array.shape[: self.spatial], *extents[self.spatial :]]
        array = np.broadcast_to(plain(array), full)
        if slack is not None:
            slack = np.broadcast_to(slack, [*slack.shape[: self.spatial], *extents[self.spatial :]])
        op = {
            "prod": np.multiply,
            "min": np.minimum,
            "max": np.maximum,
            "any": np.logical_or,
            "all": np.logical_and,
        }[self.reduce.op]
        part = op.reduce(array, axis=over, dtype=array.dtype)
        if self.reduce.op == "prod" and dtypes.is_float(self.reduce.dtype) and self.track:
            self._track_product(array, slack, over)
        elif slack is not None:
            most = np.maximum.reduce(slack, axis=over)  # of bools: whether any of them is unsure
            self.slack = most if self.slack is None else np.maximum(self.slack, most)
        self.array = part if self.array is None else op(self.array, part)

    def _track_product(self, array: Array, slack: Array | None, over: tuple[int, ...]) -> None:
        grown = np.abs(array) if slack is None else np.abs(array) + slack
        part = np.multiply.reduce(grown, axis=over)
        self.weight = part if self.weight is None else self.weight * part

    def _add_products(self, factors: list[Value], extents: list[int]) -> None:
        arrays = [value.array for value in factors]
        exact = not dtypes.is_float(self.reduce.dtype)
        part = _contract(arrays, self.spatial, extents, self.reduce.dtype if exact else None)
        with np.errstate(over="ignore"):
            self.array = part if self.array is None else self.array + part
        if not self.track:
            return
        slacks = [value.slack for value in factors]
        if exact and all(slack is None for slack in slacks):
            return
        sizes = [np.abs(array.astype(np.float64)) for array in arrays]
        weight = _contract(sizes, self.spatial, extents, None)
        self.weight = weight if self.weight is None else self.weight + weight
        if not exact:
            self.quantum = max(self.quantum, sum(_quantum(array) for array in arrays))
        if any(slack is not None for slack in slacks):
            grown = [
                size if slack is None else size + slack for size, slack in zip(sizes, slacks, strict=True)
            ]
            more = np.maximum(_contract(grown, self.spatial, extents, None) - weight, 0)
            more = np.where(np.isnan(more), np.inf, more)
            self.slack = more if self.slack is None else self.slack + more

    def finish(self, extents: list[int]) -> tuple[Value]:
        """The result for a block of these extents, rounded to the reduction's dtype."""
        return (self._rounded(extents),)

    def _rounded(self, extents: list[int]) -> Value:
        dtype = self.reduce.dtype
        if self.array is None:  # nothing to reduce: the identity
            return Value(np.full(extents, _identity(self.reduce.op, dtype), dtypes.numpy_dtype(dtype)))
        with np.errstate(over="ignore"):
            array = self.array.astype(dtypes.numpy_dtype(dtype))
        if not self.track or not dtypes.is_float(dtype) or self.reduce.op in ("min", "max"):
            return Value(array, self.slack)
        slack = np.zeros(()) if self.slack is None else self.slack
        assert self.weight is not None
        rounding = of_sum(self.length, unit(dtype), self.weight, array)
        if self.reduce.op == "prod":
            slack = np.maximum(self.weight - np.abs(self.array), 0) + rounding
        elif not self._is_exact(dtype):
            slack = slack + rounding
        if may_flush(self.reduce):
            slack = slack + lost_sums(self.weight, self.length)
        return Value(array, np.broadcast_to(slack, array.shape))

    def _is_exact(self, dtype: str) -> bool:
        """Whether every partial sum, in whatever order, is a number of ``dtype``: then nothing was rounded."""
        assert self.weight is not None
        return bool(np.max(self.weight, initial=0) * 2.0**self.quantum * unit(dtype) < 1)


def _identity(op: str, dtype: str) -> int | float:
    low, high = dtypes.limits(dtype)
    return {"sum": 0, "prod": 1, "min": high, "max": low, "any": 0, "all": 1}[op]


def _quantum(array: Array) -> int:
    """The least of a few q for which every element is a multiple of ``2**-q``; 100 if there is none."""
    for q in (0, 4, 8, 12):
        scaled = array * 2.0**q
        if np.array_equal(scaled, np.rint(scaled)):
            return q
    return 100


def _multiply(a: Value, b: Value) -> Value:
    with np.errstate(over="ignore"):
        array = a.array * b.array
    if a.slack is None and b.slack is None:
        return Value(array)
    big = (np.abs(v.array.astype(np.float64)) + (0 if v.slack is None else v.slack) for v in (a, b))
    return Value(array, np.maximum(math.prod(big) - np.abs(array.astype(np.float64)), 0))


# Sums of products


def _terms(expr: Expr, dtype: str) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == "mul" and expr.dtype == dtype:
        return _terms(expr.a, dtype) + _terms(expr.b, dtype)
    return [expr]


def _axes_of(exprs: list[Expr]) -> dict[int, Axis]:
    return {id(e): e for expr in exprs for e in walk(expr) if isinstance(e, Axis)}


def _points_of(exprs: list[Expr]) -> int:
    return math.prod(known(axis.extent) for axis in _axes_of(exprs).values())


def _factors(reduce: Reduce) -> list[list[Expr]]:
    """A reduction's value as one group of factors or, for a sum, two: those that use fewest axes together are joined."""
    if reduce.op != "sum":
        return [list(reduce.values)]
    groups = [[term] for term in _terms(reduce.value, reduce.dtype)]
    while len(groups) > 1:
        pairs = itertools.combinations(range(len(groups)), 2)
        i, j = min(pairs, key=lambda pair: _points_of(groups[pair[0]] + groups[pair[1]]))
        joined = groups[i] + groups[j]
        # Two factors stay apart unless one has all the axes of the other: multiplying them out would gain nothing.
        apart = _points_of(joined) > max(_points_of(groups[i]), _points_of(groups[j]))
        if len(groups) == 2 and apart:
            break
        groups = [group for n, group in enumerate(groups) if n not in (i, j)] + [joined]
    return groups


def _contract(factors: list[Array], spatial: int, extents: list[int], wrap: str | None) -> Array:
    """The sum over the reduction axes of the product of one or two factors, in float64; or in the integer type ``wrap``."""
    used = [max(sizes) for sizes in zip(*(f.shape for f in factors), strict=True)]
    repeats = math.prod(extents[n] for n in range(spatial, len(used)) if used[n] == 1)
    over = tuple(range(spatial, len(used)))
    if wrap is not None and not _fits_float64(factors, math.prod(used[spatial:])):
        with np.errstate(over="ignore"):
            product = math.prod(factors[1:], start=factors[0])
            return product.sum(axis=over, dtype=wrap) * np.array(repeats).astype(wrap)
    if len(factors) == 1:
        total = factors[0].sum(axis=over, dtype=np.float64)
    else:
        total = _matmul(factors[0], factors[1], spatial)
    if wrap is not None:
        with np.errstate(over="ignore"):
            return (total.astype(np.int64) * np.int64(repeats)).astype(wrap)
    return total * repeats


def _fits_float64(factors: list[Array], count: int) -> bool:
    """Whether float64 sums these integer products exactly."""
    largest = 1.0
    for factor in factors:
        largest *= max(abs(int(factor.min())), abs(int(factor.max()))) if factor.size else 0
    return largest * count < EXACT_INTEGERS


def _matmul(a: Array, b: Array, spatial: int) -> Array:
    """Two broadcastable factors, summed over all dimensions from ``spatial`` on, by (batched) matrix products."""
    dims = range(a.ndim)
    in_a, in_b = ({n for n in dims if f.shape[n] > 1} for f in (a, b))
    alone_a, alone_b = (
        tuple(n for n in dims if n >= spatial and n in mine - other)
        for mine, other in ((in_a, in_b), (in_b, in_a))
    )
    alone = alone_a + alone_b
    if alone and not (np.isfinite(a).all() and np.isfinite(b).all()):
        # inf * (x + y) is not inf * x + inf * y: what only one factor has is added up term by term.
        points = list(np.ndindex(*(max(a.shape[n], b.shape[n]) for n in alone)))
        terms = [_matmul(_at(a, alone, point), _at(b, alone, point), spatial) for point in points]
        return np.sum(terms, axis=0)
    a = a.sum(axis=alone_a, dtype=np.float64, keepdims=True) if alone_a else a
    b = b.sum(axis=alone_b, dtype=np.float64, keepdims=True) if alone_b else b
    both = in_a & in_b
    k = [n for n in dims if n >= spatial and n in both]
    batch = [n for n in dims if n < spatial and n in both]
    rows = [n for n in dims if n < spatial and n in in_a - both]
    columns = [n for n in dims if n < spatial and n in in_b - both]

    def matrix(factor: Array, first: list[int], second: list[int]) -> Array:
        order = batch + first + second
        rest = [n for n in dims if n not in order]
        shape = [math.prod(factor.shape[n] for n in part) for part in (batch, first, second)]
        return np.array(factor.transpose(order + rest), dtype=np.float64, order="C").reshape(shape)

    product = matrix(a, rows, k) @ matrix(b, k, columns)
    order = batch + rows + columns
    sizes = [max(a.shape[n], b.shape[n]) for n in order]
    ones = [n for n in range(spatial) if n not in order]
    return product.reshape(sizes + [1] * len(ones)).transpose(np.argsort(order + ones))


def _at(factor: Array, dims: tuple[int, ...], point: tuple[int, ...]) -> Array:
    """A factor at one point of some dimensions, which keep the size 1."""
    for dim, n in zip(dims, point, strict=True):
        n = min(n, factor.shape[dim] - 1)
        factor = np.take(factor, [n], axis=dim)
    return factor


# Blocks


def _steps(stage: Stage, factors: list[list[Expr]]) -> dict[Axis, int]:
    """How much of each axis a block takes, so that no temporary outgrows its bound; leading axes are cut first."""
    steps = {axis: max(1, known(axis.extent)) for axis in stage.all_axes}
    lone = len(factors) == 1
    groups = [(list(_axes_of(group).values()), BLOCK if lone else FACTOR) for group in factors]
    if stage.reduce is not None and (len(stage.reduce.values) > 1 or stage.reduce.reducer):
        groups = [(list(stage.all_axes), BLOCK)]  # every term of a tuple is written out
    groups.append((list(stage.axes), FACTOR if factors and not lone else BLOCK))
    for axes, bound in groups:
        order = [axis for axis in stage.all_axes if any(axis is other for other in axes)]
        while math.prod(steps[axis] for axis in order) > bound:
            # A product of two matrices stays efficient with square-like blocks; elementwise work with long rows.
            axis = (
                max(order, key=lambda a: steps[a])
                if not lone and factors
                else next(a for a in order if steps[a] > 1)
            )
            steps[axis] = (steps[axis] + 1) // 2
    return steps

"""Arrays to try a kernel with: chosen so that a wrong element shows, and nothing undefined happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Binary, Call, Expr, Load, walk
from loopwright.sched.language.extents import known_shape
from loopwright.sched.language.stage import Input
from loopwright.sched.language.workload import Workload, stage_exprs
from loopwright.sched.reference.numbers import Array

# Functions that have no value for negative arguments.
POSITIVE = ("log", "log2", "log10", "sqrt", "rsqrt", "fast_log", "fast_log2", "fast_pow")
STEPS = 16  # of floats in 1: see random_inputs


def random_inputs(work: Workload, seed: int = 0) -> list[Array]:
    """Arrays for the inputs of ``work``, the same for the same seed.

    Floats are standard normal, rounded to multiples of 1/16 and never 0: products and sums of a hundred thousand such
    numbers are exact in float32, so a matrix product can be held to the last bit, whatever the order of its sum. They are
    positive where the definition takes their logarithm or root. Integers span -127..127 or 0..255 (no 0 where they divide);
    those that index a tensor, or count a shift, stay in its range. bools are fair coins.

    >>> from loopwright import ops
    >>> a, b = random_inputs(ops.matmul(M=3, N=5, K=4), seed=1)
    >>> a.shape, a.dtype.name
    ((3, 4), 'float32')
    """
    rng = np.random.default_rng(seed)
    limits = _index_limits(work)
    positive = {
        id(t)
        for t in _used_in(work, lambda e: e.args[0] if isinstance(e, Call) and e.fn in POSITIVE else None)
    }
    positive |= {
        id(t) for t in _used_in(work, lambda e: e.a if isinstance(e, Binary) and e.op == "pow" else None)
    }
    divides = {
        id(t)
        for t in _used_in(
            work, lambda e: e.b if isinstance(e, Binary) and e.op in ("floordiv", "mod") else None
        )
    }
    return [_array(rng, t, limits.get(id(t)), id(t) in positive, id(t) in divides) for t in work.inputs]


def _array(
    rng: np.random.Generator, tensor: Input, limit: int | None, positive: bool, divides: bool
) -> Array:
    shape, dtype = tensor.shape, tensor.dtype
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if limit is not None:
        top = limit if dtypes.is_float(dtype) else min(limit, int(dtypes.limits(dtype)[1]) + 1)
        return np.asarray(rng.integers(0, max(1, top), shape)).astype(dtypes.numpy_dtype(dtype))
    if dtypes.is_float(dtype):
        steps = np.rint(rng.standard_normal(shape, dtype=np.float32) * STEPS)
        steps = np.where(steps == 0, 1, np.abs(steps) if positive else steps)
        return np.asarray(steps / STEPS).astype(dtypes.numpy_dtype(dtype))
    low, high = (0, 255) if dtype in dtypes.UNSIGNED else (-127, 127)
    numbers = rng.integers(low, high + 1, shape)
    return np.asarray(np.where(numbers == 0, 3, numbers) if divides else numbers, dtype)


def _index_limits(work: Workload) -> dict[int, int]:
    """``id`` of each input that decides an index or a shift -> the size it must stay below."""
    limits: dict[int, int] = {}

    def hold(index: Expr, size: int) -> None:
        for e in walk(index):
            if isinstance(e, Load) and isinstance(e.tensor, Input):
                limits[id(e.tensor)] = min(size, limits.get(id(e.tensor), size))

    for stage in work.stages:
        if stage.updating is not None:
            for index, size in zip(stage.updating.at, known_shape(stage.shape), strict=True):
                hold(index, size)
    for e in _nodes(work):
        if isinstance(e, Load):
            for index, size in zip(e.indices, known_shape(e.tensor.shape), strict=True):
                hold(index, size)
        elif isinstance(e, Binary) and e.op in ("shl", "shr"):
            hold(e.b, 8 * dtypes.itemsize(e.dtype))
    return limits


def _nodes(work: Workload) -> Iterator[Expr]:
    for stage in work.stages:
        for expr in stage_exprs(stage):
            yield from walk(expr)


def _used_in(work: Workload, part: Callable[[Expr], Expr | None]) -> Iterator[Input]:
    """The inputs that occur in what ``part`` picks from any node of the definition."""
    for e in _nodes(work):
        picked = part(e)
        if picked is not None:
            for load in walk(picked):
                if isinstance(load, Load) and isinstance(load.tensor, Input):
                    yield load.tensor

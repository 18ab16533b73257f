"""Scans: running sums and products along a dimension."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.dims import axis_names, dimension, inserted
from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import cast, compute, input, reduce_axis
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def _scan(where: str, X: Shape, axis: int, dtype: str, combine: Callable[[Expr, Expr], Expr]) -> Stage:
    """Each element, in order, combined with the one before it; the other dimensions are independent of each other."""
    x = input("X", X, dtype)
    rank = len(x.shape)
    along = dimension(where, axis, rank)
    t = reduce_axis("t", x.shape[along])
    Y = compute("Y", x.shape, lambda *axes: cast(accumulator(dtype), x[axes]))

    def step(*axes: Axis) -> tuple[tuple[Expr, ...], Expr]:
        here = inserted(axes, along, t)
        return here, combine(Y[inserted(axes, along, t - 1)], Y[here])

    return Y.update(step, over=t, where=t > 0, axes=axis_names(dim for dim in range(rank) if dim != along))


def cumsum_numpy(x: Array, *, axis: int, dtype: str) -> Array:
    """What :func:`cumsum` computes."""
    return np.cumsum(x, axis=axis, dtype=accumulator(dtype))


@operator(numpy=cumsum_numpy)
def cumsum(X: Shape, axis: int = -1, dtype: str = "float32") -> Stage:
    """``Y[i0, i1] = sum over t <= i1 of X[i0, t]``: so of a matrix along ``axis=1``.

    Input: ``X`` of any shape with a dimension. Output: stage ``Y`` of the same shape, axes ``i0``, ``i1`` and so on; its update
    ``Y.u0`` runs along ``axis`` in order (axis ``t``), the others as they are. The dtype is as in :func:`sum`.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.cumsum(X=(2, 3)).reference(np.array([[1, 2, 3], [4, 5, 6]], "f"))
    array([[ 1.,  3.,  6.],
           [ 4.,  9., 15.]], dtype=float32)
    """
    return _scan("cumsum", X, axis, dtype, lambda before, here: before + here)


def cumprod_numpy(x: Array, *, axis: int, dtype: str) -> Array:
    """What :func:`cumprod` computes."""
    return np.cumprod(x, axis=axis, dtype=accumulator(dtype))


@operator(numpy=cumprod_numpy)
def cumprod(X: Shape, axis: int = -1, dtype: str = "float32") -> Stage:
    """``Y[i0, i1] = product over t <= i1 of X[i0, t]``: so of a matrix along ``axis=1``.

    Input, output, axes, dtype and options are as in :func:`cumsum`.
    """
    return _scan("cumprod", X, axis, dtype, lambda before, here: before * here)

"""Means, variances and standard deviations along some dimensions of an array, or all: NumPy's functions of those names."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import Shape, checked
from loopwright.ops.dims import Dims, dimensions, reduction
from loopwright.sched.dtypes import accumulator, is_float
from loopwright.sched.language.builders import cast, input, max, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.mathfns import sqrt
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def _dtypes(where: str, dtype: str) -> tuple[str, str]:
    """What a mean is computed in, and its dtype: of integers float64, as NumPy's."""
    checked(where, "numbers", dtype)
    return (accumulator(dtype), dtype) if is_float(dtype) else ("float64", "float64")


def mean_numpy(x: Array, *, axis: Dims, keepdims: bool, dtype: str) -> Array:
    """What :func:`mean` computes."""
    wide, out = _dtypes("mean", dtype)
    dims = dimensions("mean", axis, x.ndim)
    count = np.prod([x.shape[dim] for dim in dims], dtype="int64")
    with np.errstate(invalid="ignore"):
        return np.asarray(x.sum(axis=dims, dtype=wide, keepdims=keepdims) / count.astype(wide), out)


@operator(numpy=mean_numpy)
def mean(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = sum over r1 of X[i0, r1] / N``: so of a matrix along ``axis=1``, where N are the elements of a row.

    Input ``X``, output ``Y``, axes and options are as in :func:`sum`. ``Y`` has the dtype of ``X``, of integers float64;
    float16 and bfloat16 are computed in float32. The mean of no elements is NaN.
    """
    wide, out = _dtypes("mean", dtype)
    x = input("X", X, dtype)
    along = reduction("mean", x, axis, keepdims)
    return along.stage(
        "Y", lambda *axes: cast(out, sum(x[along.indices(axes)], over=along.over, dtype=wide) / along.count)
    )


def var_numpy(x: Array, *, axis: Dims, ddof: int, keepdims: bool, dtype: str) -> Array:
    """What :func:`var` computes."""
    wide, out = _dtypes("var", dtype)
    dims = dimensions("var", axis, x.ndim)
    count = np.prod([x.shape[dim] for dim in dims], dtype="int64")
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = x - x.sum(axis=dims, dtype=wide, keepdims=True) / count.astype(wide)
        apart *= apart
        squares = apart.sum(axis=dims, keepdims=keepdims)
        return np.asarray(squares / np.maximum(count - ddof, 0).astype(wide), out)


def _variance(where: str, X: Shape, axis: Dims, ddof: int, keepdims: bool, dtype: str, root: bool) -> Stage:
    """The mean first, and then the squares of what is apart from it: nothing cancels."""
    wide, out = _dtypes(where, dtype)
    x = input("X", X, dtype)
    along = reduction(where, x, axis, keepdims)
    center = along.stage(
        "mean", lambda *axes: sum(x[along.indices(axes)], over=along.over, dtype=wide) / along.count
    )

    def value(*axes: Axis) -> Expr:
        apart = cast(wide, x[along.indices(axes)]) - center[axes]
        found = sum(apart * apart, over=along.over) / max(along.count - ddof, 0)
        return cast(out, sqrt(found) if root else found)

    return along.stage("Y", value)


@operator(numpy=var_numpy)
def var(X: Shape, axis: Dims = None, ddof: int = 0, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = sum over r1 of (X[i0, r1] - mean[i0]) ** 2 / (N - ddof)``: so of a matrix along ``axis=1``.

    Input ``X`` and options are as in :func:`sum`, the dtype as in :func:`mean`. Stages: ``mean`` and the output ``Y``, the axes
    of each as in :func:`sum`. ``ddof`` is taken off the number of elements N: 1 for the variance of a sample.
    """
    return _variance("var", X, axis, ddof, keepdims, dtype, False)


def std_numpy(x: Array, *, axis: Dims, ddof: int, keepdims: bool, dtype: str) -> Array:
    """What :func:`std` computes."""
    wide, out = _dtypes("std", dtype)
    return np.sqrt(var_numpy(x.astype(wide), axis=axis, ddof=ddof, keepdims=keepdims, dtype=wide)).astype(out)


@operator(numpy=std_numpy)
def std(X: Shape, axis: Dims = None, ddof: int = 0, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = sqrt(sum over r1 of (X[i0, r1] - mean[i0]) ** 2 / (N - ddof))``: so of a matrix along ``axis=1``.

    Input, stages, axes, dtypes and options are as in :func:`var`.
    """
    return _variance("std", X, axis, ddof, keepdims, dtype, True)

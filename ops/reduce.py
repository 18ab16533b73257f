"""Reductions of an array along some of its dimensions, or all: NumPy's functions of those names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loopwright.ops.broadcast import Shape, checked
from loopwright.ops.dims import Dims, dimensions, reduction
from loopwright.sched.dtypes import accumulator
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import builders, reducers
from loopwright.sched.language.builders import cast, input
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.mathfns import abs, sqrt
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

Over = tuple[Axis, ...]


def _reduced(
    where: str,
    X: Shape,
    axis: Dims,
    keepdims: bool,
    dtype: str,
    of: Callable[[Expr, Over], Expr],
    empty: bool,
) -> Stage:
    """The stage ``Y``: ``of`` an element and the axes that the reduction runs over."""
    x = input("X", X, dtype)
    along = reduction(where, x, axis, keepdims, empty)
    return along.stage("Y", lambda *axes: of(x[along.indices(axes)], along.over))


def sum_numpy(x: Array, *, axis: Dims, keepdims: bool, dtype: str) -> Array:
    """What :func:`sum` computes."""
    return np.asarray(
        x.sum(axis=dimensions("sum", axis, x.ndim), dtype=accumulator(dtype), keepdims=keepdims)
    )


@operator(numpy=sum_numpy)
def sum(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = sum over r1 of X[i0, r1]``: so of a matrix along ``axis=1``.

    Input: ``X`` of any shape and dtype. Output: stage ``Y``, an axis ``i0``, ``i1`` and so on for each dimension that stays,
    reduction axes ``r0``, ``r1`` and so on for those of ``axis``, all numbered as the dimensions of ``X``. float16 and
    bfloat16 are summed in float32, int8, int16 and bool in int32 (unsigned in uint32), and ``Y`` has that dtype.
    ``axis`` is a dimension, or a tuple of them, or None for all; negative ones count from the last. With ``keepdims`` they
    stay, with one element each.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.sum(X=(2, 3), axis=1).reference(np.array([[1, 2, 3], [4, 5, 6]], "f"))
    array([ 6., 15.], dtype=float32)
    """
    return _reduced("sum", X, axis, keepdims, dtype, lambda x, over: builders.sum(x, over=over), True)


def prod_numpy(x: Array, *, axis: Dims, keepdims: bool, dtype: str) -> Array:
    """What :func:`prod` computes."""
    return np.asarray(
        x.prod(axis=dimensions("prod", axis, x.ndim), dtype=accumulator(dtype), keepdims=keepdims)
    )


@operator(numpy=prod_numpy)
def prod(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = product over r1 of X[i0, r1]``: so of a matrix along ``axis=1``.

    Input ``X``, output ``Y``, axes, dtypes and options are as in :func:`sum`.
    """
    return _reduced("prod", X, axis, keepdims, dtype, lambda x, over: builders.prod(x, over=over), True)


def max_numpy(x: Array, *, axis: Dims, keepdims: bool) -> Array:
    """What :func:`max` computes."""
    return np.asarray(x.max(axis=dimensions("max", axis, x.ndim), keepdims=keepdims))


@operator(numpy=max_numpy)
def max(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = max over r1 of X[i0, r1]``: so of a matrix along ``axis=1``; NaN where one is.

    Input ``X``, output ``Y``, axes and options are as in :func:`sum`; the dtype stays.
    """
    return _reduced("max", X, axis, keepdims, dtype, lambda x, over: builders.max(x, over=over), False)


def min_numpy(x: Array, *, axis: Dims, keepdims: bool) -> Array:
    """What :func:`min` computes."""
    return np.asarray(x.min(axis=dimensions("min", axis, x.ndim), keepdims=keepdims))


@operator(numpy=min_numpy)
def min(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = min over r1 of X[i0, r1]``: so of a matrix along ``axis=1``; NaN where one is.

    Input ``X``, output ``Y``, axes and options are as in :func:`sum`; the dtype stays.
    """
    return _reduced("min", X, axis, keepdims, dtype, lambda x, over: builders.min(x, over=over), False)


def _flat(where: str, x: Array, axis: Dims) -> tuple[Array, tuple[int, ...]]:
    """A view or copy of an array in which one last dimension holds what a reduction runs over; and its dimensions."""
    dims = dimensions(where, axis, x.ndim)
    kept = tuple(dim for dim in range(x.ndim) if dim not in dims)
    count = int(np.prod([x.shape[dim] for dim in dims], dtype="int64"))
    return x.transpose(kept + dims).reshape(*(x.shape[dim] for dim in kept), count), dims


def argmax_numpy(x: Array, *, axis: Dims, keepdims: bool) -> Array:
    """What :func:`argmax` computes."""
    flat, dims = _flat("argmax", x, axis)
    found = np.asarray(flat.argmax(axis=-1), "int32")
    return np.expand_dims(found, dims) if keepdims else found


@operator(numpy=argmax_numpy)
def argmax(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = the r1 where X[i0, r1] is greatest``: so of a matrix along ``axis=1``; of equals the first, or the first NaN.

    Input ``X``, output ``Y``, axes and options are as in :func:`sum`; ``Y`` is of int32. Along several dimensions it is the
    index into them flattened, the last one fastest.
    """
    return _reduced("argmax", X, axis, keepdims, dtype, lambda x, over: reducers.argmax(x, over=over), False)


def argmin_numpy(x: Array, *, axis: Dims, keepdims: bool) -> Array:
    """What :func:`argmin` computes."""
    flat, dims = _flat("argmin", x, axis)
    found = np.asarray(flat.argmin(axis=-1), "int32")
    return np.expand_dims(found, dims) if keepdims else found


@operator(numpy=argmin_numpy)
def argmin(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0] = the r1 where X[i0, r1] is least``: so of a matrix along ``axis=1``; of equals the first, or the first NaN.

    Input ``X``, output ``Y``, axes and options are as in :func:`argmax`.
    """
    return _reduced("argmin", X, axis, keepdims, dtype, lambda x, over: reducers.argmin(x, over=over), False)


def _truth(x: Expr) -> Expr:
    return x if x.dtype == "bool" else x != 0


def any_numpy(x: Array, *, axis: Dims, keepdims: bool) -> Array:
    """What :func:`any` computes."""
    return np.asarray(np.any(x, axis=dimensions("any", axis, x.ndim), keepdims=keepdims))


@operator(numpy=any_numpy)
def any(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "bool") -> Stage:
    """``Y[i0] = whether X[i0, r1] is true, or not 0, for some r1``: so of a matrix along ``axis=1``.

    Input ``X``, output ``Y``, axes and options are as in :func:`sum`; ``Y`` is of bool.
    """
    return _reduced("any", X, axis, keepdims, dtype, lambda x, over: builders.any(_truth(x), over), True)


def all_numpy(x: Array, *, axis: Dims, keepdims: bool) -> Array:
    """What :func:`all` computes."""
    return np.asarray(np.all(x, axis=dimensions("all", axis, x.ndim), keepdims=keepdims))


@operator(numpy=all_numpy)
def all(X: Shape, axis: Dims = None, keepdims: bool = False, dtype: str = "bool") -> Stage:
    """``Y[i0] = whether X[i0, r1] is true, or not 0, for every r1``: so of a matrix along ``axis=1``.

    Input ``X``, output ``Y``, axes and options are as in :func:`sum`; ``Y`` is of bool.
    """
    return _reduced("all", X, axis, keepdims, dtype, lambda x, over: builders.all(_truth(x), over), True)


def norm_numpy(x: Array, *, axis: Dims, ord: float, keepdims: bool, dtype: str) -> Array:
    """What :func:`norm` computes: einsum needs no temporary for the squares."""
    flat, dims = _flat("norm", x.astype(accumulator(dtype), copy=False), axis)
    if ord == 2:
        found = np.sqrt(np.einsum("...k,...k->...", flat, flat))
    else:
        found = np.abs(flat).sum(axis=-1) if ord == 1 else np.abs(flat).max(axis=-1)
    return np.expand_dims(found, dims) if keepdims else np.asarray(found)


@operator(numpy=norm_numpy)
def norm(
    X: Shape, axis: Dims = None, ord: float = 2, keepdims: bool = False, dtype: str = "float32"
) -> Stage:
    """``Y[i0] = (sum over r1 of abs(X[i0, r1]) ** ord) ** (1 / ord)``: so of a matrix along ``axis=1``.

    Input ``X``, of a float dtype, output ``Y``, axes, dtypes and options are as in :func:`sum`. ``ord`` is 2 for the length, 1
    for the sum of the absolute values, or inf for the greatest of them. Along several dimensions it is the norm of the vector
    that they make.
    """
    wide = accumulator(checked("norm", "floats", dtype))
    norms: dict[float, Callable[[Expr, Over], Expr]] = {
        1: lambda x, over: builders.sum(abs(cast(wide, x)), over=over),
        2: lambda x, over: sqrt(builders.sum(x * x, over=over)),
        float("inf"): lambda x, over: builders.max(abs(cast(wide, x)), over=over),
    }
    if ord not in norms:
        raise DefinitionError(f"norm: ord={ord!r}; there are 1, 2 and inf")
    return _reduced("norm", X, axis, keepdims, dtype, norms[ord], ord <= 2)

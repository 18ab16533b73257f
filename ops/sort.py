"""Sorting along a dimension, and the greatest elements of it; equal elements stay in order, and NaN comes last."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import Shape, checked
from loopwright.ops.dims import axis_names, dimension, inserted, replaced
from loopwright.sched.dtypes import is_float
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import builders
from loopwright.sched.language.builders import compute, const, input, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr, cast, select
from loopwright.sched.language.numeric import isnan
from loopwright.sched.language.operator import operator
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.language.stage import Input, Part, Stage
from loopwright.sched.language.updates import update
from loopwright.sched.reference.numbers import Array


def _less(a: Expr, b: Expr) -> Expr:
    """Whether a comes before b where the least is first, NaN last."""
    return (a < b) | (isnan(b) & ~isnan(a)) if is_float(a.dtype) else a < b


def _greater(a: Expr, b: Expr) -> Expr:
    """Whether a comes before b where the greatest is first, NaN last."""
    return (a > b) | (isnan(b) & ~isnan(a)) if is_float(a.dtype) else a > b


def top_k_numpy(x: Array, *, K: int, axis: int) -> tuple[Array, Array]:
    """What :func:`top_k` computes."""
    order = _descending(x, axis).take(range(K), axis=axis)
    return np.take_along_axis(x, order, axis=axis), order.astype("int32")


def _plain(x: Array) -> Array:
    """The same numbers in a dtype of NumPy's own, which sorts their NaN last."""
    return x.astype("float32") if x.dtype.kind == "V" else x


def _descending(x: Array, axis: int) -> Array:
    """The order of falling elements. Integers have no negative for each, so the order is that of the array turned round."""
    if x.dtype.kind in "iub":
        turned = np.flip(x, axis).argsort(axis=axis, kind="stable")
        return np.flip(x.shape[axis] - 1 - turned, axis)
    return (-_plain(x)).argsort(axis=axis, kind="stable")


@operator(numpy=top_k_numpy)
def top_k(X: Shape, K: int, axis: int = -1, dtype: str = "float32") -> tuple[Part, ...]:
    """``V[i0, s] = the element of X[i0, :] that s others are before, the greatest first; I[i0, s] = its index``.

    So it is of a matrix along ``axis=1``. Input: ``X`` of any shape with a dimension, of numbers. Outputs: the parts of stage
    ``VI``, ``K`` along ``axis`` and as ``X`` in the others, axes ``i0``, ``i1`` and so on: the values and their indices, of
    int32. Of equal elements the first comes first, and NaN comes last, as in NumPy's stable argsort of ``-X``.
    The update ``VI.u0`` takes the elements in order (axis ``t``) and finds the place of each among the K (axis ``s``, from the
    last to the first): what is less moves on by one. Elements of one row wait for each other, rows do not.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> values, indices = ops.top_k(X=(1, 5), K=2).reference(np.array([[3, 9, 1, 9, 7]], "f"))
    >>> print(values, indices)
    [[9. 9.]] [[1 3]]
    """
    x = input("X", X, checked("top_k", "numbers", dtype))
    rank = len(x.shape)
    along = dimension("top_k", axis, rank)
    length = x.shape[along]
    if not (at_most(0, K) and at_most(K, length)):
        how = f"; promise at_least={K}" if isinstance(length, Expr) else ""
        raise DefinitionError(f"top_k: K={K}, and there are {length} elements along axis={axis}{how}")
    shape = replaced(x.shape, along, K)
    values, places = compute("VI", shape, lambda *axes: (const(0, dtype), const(0, "int32")))
    t, s = reduce_axis("t", length), reduce_axis("s", K)
    slot = K - 1 - s
    next_better = builders.max(slot - 1, 0)

    def step(*axes: Axis) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        new, here = x[inserted(axes, along, t)], inserted(axes, along, slot)
        ahead = inserted(axes, along, next_better)
        # So far t places are taken: what is new goes before any other.
        passes = (slot >= t) | _greater(new, values[here])
        passes_ahead = (slot > 0) & ((slot > t) | _greater(new, values[ahead]))
        return here, (
            select(passes, select(passes_ahead, values[ahead], new), values[here]),
            select(passes, select(passes_ahead, places[ahead], t), places[here]),
        )

    others = axis_names(dim for dim in range(rank) if dim != along)
    return update((values, places), step, over=(t, s), axes=others)


def _ranks(x: Input, along: int, descending: bool) -> Stage:
    """How many elements of its row come before each."""
    before = _greater if descending else _less
    k = reduce_axis("k", x.shape[along])

    def comes_after(*axes: Axis) -> Expr:
        own, other = x[axes], x[replaced(axes, along, k)]
        earlier = select(k < axes[along], ~before(own, other), before(other, own))
        return sum(cast("int32", earlier), over=k)

    return compute("rank", x.shape, comes_after)


def sort_numpy(x: Array, *, axis: int, descending: bool) -> Array:
    """What :func:`sort` computes."""
    if descending:
        return np.take_along_axis(x, _descending(x, axis), axis=axis)
    return np.sort(_plain(x), axis=axis, kind="stable").astype(x.dtype, copy=False)


def _placed(where: str, X: Shape, axis: int, descending: bool, dtype: str, indices: bool) -> Stage:
    """Each element, or its index, stored at its rank."""
    x = input("X", X, checked(where, "numbers", dtype))
    rank = len(x.shape)
    along = dimension(where, axis, rank)
    places = _ranks(x, along, descending)
    t = reduce_axis("t", x.shape[along])
    Y = compute("Y", x.shape, lambda *axes: const(0, "int32" if indices else dtype))

    def step(*axes: Axis) -> tuple[tuple[Expr, ...], Expr]:
        here = inserted(axes, along, t)
        return inserted(axes, along, places[here]), t if indices else x[here]

    return Y.update(step, over=t, axes=axis_names(dim for dim in range(rank) if dim != along))


@operator(numpy=sort_numpy)
def sort(X: Shape, axis: int = -1, descending: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0, rank[i0, t]] = X[i0, t]``: so of a matrix along ``axis=1``, whose rows become rising.

    Input: ``X`` of any shape with a dimension, of numbers. Stages: ``rank``, how many elements of its row come before each
    (axes ``i0``, ``i1`` and so on, reduction ``k``); and the output ``Y`` of the shape of ``X``, the same axes, whose update
    ``Y.u0`` puts each element in its place (axis ``t`` along ``axis``). NaN comes last, with ``descending`` too.
    Each element is compared with each, in vectors and in parallel: it is for rows of up to some hundred.
    """
    return _placed("sort", X, axis, descending, dtype, False)


def argsort_numpy(x: Array, *, axis: int, descending: bool) -> Array:
    """What :func:`argsort` computes."""
    found = _descending(x, axis) if descending else _plain(x).argsort(axis=axis, kind="stable")
    return found.astype("int32")


@operator(numpy=argsort_numpy)
def argsort(X: Shape, axis: int = -1, descending: bool = False, dtype: str = "float32") -> Stage:
    """``Y[i0, rank[i0, t]] = t``: so of a matrix along ``axis=1``: where the elements of each row are, the least first.

    Input, stages, axes and options are as in :func:`sort`; ``Y`` is of int32. Equal elements stay in order.
    """
    return _placed("argsort", X, axis, descending, dtype, True)

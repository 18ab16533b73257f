"""Data movement: elements of one array in another order, place or number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loopwright.ops.broadcast import Shape, broadcast, element
from loopwright.ops.dims import Dims, dimension, dimensions, replaced
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import repeat_image
from loopwright.sched.language.builders import compute, const, input
from loopwright.sched.language.expr import Axis, Expr, Extent
from loopwright.sched.language.extents import minus, node, product, same, same_shape, times
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

# Where a slice begins and ends, and its step, for each dimension from the first; None as in Python's ``[::]``.
Limits = tuple[int | None, ...]


def transpose_numpy(x: Array, *, axes: Shape | None) -> Array:
    """What :func:`transpose` computes."""
    return np.transpose(x, axes).copy()


@operator(numpy=transpose_numpy)
def transpose(X: Shape, axes: Shape | None = None, dtype: str = "float32") -> Stage:
    """``Y[i[axes[0]], i[axes[1]], ...] = X[i[0], i[1], ...]``: dimension d of Y is dimension axes[d] of X.

    Input: ``X`` of any shape and dtype. Output: stage ``Y``, axes ``i0``, ``i1`` and so on by the dimensions of Y. ``axes`` is
    any order of the dimensions, each once; negative ones count from the last; None turns the order round. As
    ``numpy.transpose``.

    >>> from loopwright import ops
    >>> ops.transpose((2, 3, 4), axes=(0, 2, 1)).outputs[0].shape
    (2, 4, 3)
    """
    x = input("X", X, dtype)
    rank = len(x.shape)
    named = tuple(reversed(range(rank))) if axes is None else tuple(axes)
    order = tuple(dimension("transpose", axis, rank) for axis in named)
    if sorted(order) != list(range(rank)):
        raise DefinitionError(
            f"transpose: axes={axes!r} names each of the {rank} dimensions of X not just once, as (1, 0) does of two"
        )
    return compute(
        "Y", tuple(x.shape[dim] for dim in order), lambda *i: x[tuple(i[order.index(d)] for d in range(rank))]
    )


def reshape_numpy(x: Array, *, shape: Shape) -> Array:
    """What :func:`reshape` computes."""
    return x.reshape(shape).copy()


@operator(numpy=reshape_numpy)
def reshape(X: Shape, shape: Shape, dtype: str = "float32") -> Stage:
    """``Y[i0, i1, ...] = the element of X that stands at the same place in row-major order``.

    Input: ``X`` of any shape and dtype. Output: stage ``Y`` of ``shape``, axes ``i0``, ``i1`` and so on. One of its sizes may
    be -1: what the others leave. As ``numpy.reshape``.
    """
    x = input("X", X, dtype)
    sizes = _filled(x.shape, tuple(shape))
    if not same(product(sizes), product(x.shape)):
        raise DefinitionError(
            f"reshape: X={X} has {product(x.shape)} elements, and shape={shape} has {product(sizes)}"
        )
    # Dimensions that both shapes begin or end with stay as they are.
    lead = _common(x.shape, sizes)
    tail = _common(x.shape[lead:][::-1], sizes[lead:][::-1])
    old, new = x.shape[lead : x.ndim - tail], sizes[lead : len(sizes) - tail]
    if same(product(sizes), 0):
        return compute("Y", sizes, lambda *i: const(0, dtype))

    def value(*i: Axis) -> Expr:
        inner = unravelled(ravelled(i[lead : len(sizes) - tail], new), old)
        return x[i[:lead] + inner + i[len(sizes) - tail :]]

    return compute("Y", sizes, value)


def _filled(given: Sequence[Extent], shape: tuple[int, ...]) -> tuple[Extent, ...]:
    """A shape with a number in place of its -1."""
    open_dims = [dim for dim, size in enumerate(shape) if same(size, -1)]
    if not open_dims:
        return shape
    rest, whole = product(size for size in shape if not same(size, -1)), product(given)
    if len(open_dims) > 1:
        raise DefinitionError(
            f"reshape: shape={shape} has more than one -1; only one size follows from the others"
        )
    if isinstance(rest, Expr) or isinstance(whole, Expr):
        raise DefinitionError(f"reshape: shape={shape}: beside symbolic sizes, write the size that is -1 out")
    if rest == 0 or whole % rest:
        raise DefinitionError(f"reshape: shape={shape}: the {whole} elements of X are no multiple of {rest}")
    return replaced(shape, open_dims[0], whole // rest)


def _common(a: Sequence[Extent], b: Sequence[Extent]) -> int:
    """How many sizes two shapes begin with together."""
    count = 0
    while count < min(len(a), len(b)) and same(a[count], b[count]):
        count += 1
    return count


def ravelled(indices: Sequence[Expr], sizes: Sequence[Extent]) -> Expr:
    """Where an element stands in row-major order."""
    place: Expr | None = None
    for index, size in zip(indices, sizes, strict=True):
        place = index if place is None else place * size + index
    return node(0) if place is None else place


def unravelled(place: Expr, sizes: Sequence[Extent]) -> tuple[Expr, ...]:
    """The indices of the element at a place in row-major order; the inverse of :func:`ravelled`."""
    found: list[Expr] = []
    step: Extent = 1
    for dim, size in reversed(list(enumerate(sizes))):
        above = place if same(step, 1) else place // step
        found.append(above % size if dim else above)
        step = times(step, size)
    return tuple(reversed(found))


def broadcast_to_numpy(x: Array, *, shape: Shape) -> Array:
    """What :func:`broadcast_to` computes."""
    return np.array(np.broadcast_to(x, shape))


@operator(numpy=broadcast_to_numpy)
def broadcast_to(X: Shape, shape: Shape, dtype: str = "float32") -> Stage:
    """``Y = X, repeated along each dimension where it has size 1 and shape has another``.

    Input: ``X`` of any dtype. Output: stage ``Y`` of ``shape``, axes ``i0``, ``i1`` and so on. Shapes are aligned at their last
    dimensions. As ``numpy.broadcast_to``.
    """
    x = input("X", X, dtype)
    if len(x.shape) > len(shape) or not same_shape(broadcast("broadcast_to", x.shape, shape), shape):
        raise DefinitionError(
            f"broadcast_to: X={X} does not broadcast to shape={shape}, only to larger shapes"
        )
    return compute("Y", shape, lambda *i: element(x, i))


def flip_numpy(x: Array, *, axis: Dims) -> Array:
    """What :func:`flip` computes."""
    return np.flip(x, axis).copy()


@operator(numpy=flip_numpy)
def flip(X: Shape, axis: Dims = None, dtype: str = "float32") -> Stage:
    """``Y[..., i, ...] = X[..., n - 1 - i, ...]``, along the dimensions that axis names; None: along all.

    Input: ``X`` of any shape and dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. As ``numpy.flip``.
    """
    x = input("X", X, dtype)
    turned = dimensions("flip", axis, len(x.shape))
    return compute(
        "Y",
        x.shape,
        lambda *i: x[tuple(minus(x.shape[dim], 1) - at if dim in turned else at for dim, at in enumerate(i))],
    )


def roll_numpy(x: Array, *, shift: int | tuple[int, ...], axis: Dims) -> Array:
    """What :func:`roll` computes."""
    return np.roll(x, shift, axis)


@operator(numpy=roll_numpy)
def roll(X: Shape, shift: int | tuple[int, ...], axis: Dims = None, dtype: str = "float32") -> Stage:
    """``Y[..., (i + shift) mod n, ...] = X[..., i, ...]``: what leaves at the end comes in at the beginning.

    Input: ``X`` of any shape and dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. ``shift`` is a number,
    or one for each dimension in ``axis``; a negative one moves to the front. With ``axis=None`` the elements move in row-major
    order, from row to row. As ``numpy.roll``.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.roll((5,), shift=2).reference(np.arange(5, dtype="float32")).tolist()
    [3.0, 4.0, 0.0, 1.0, 2.0]
    """
    x = input("X", X, dtype)
    named = () if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,) * max(1, len(named))
    if any(isinstance(s, bool) or not isinstance(s, int) for s in shifts) or len(shifts) != max(
        1, len(named)
    ):
        raise DefinitionError(
            f"roll: shift={shift!r} is neither a whole number, nor one for each dimension in axis={axis!r}"
        )
    if any(same(size, 0) for size in x.shape):
        return compute("Y", x.shape, lambda *i: x[i])
    if axis is None:
        return compute("Y", x.shape, lambda *i: x[_rolled_flat(i, x.shape, shifts[0])])
    back = [0] * len(x.shape)
    for dim, distance in zip(named, shifts, strict=True):
        back[dimension("roll", dim, len(x.shape))] += distance
    around = repeat_image(x, [dim for dim, distance in enumerate(back) if distance])
    return compute(
        "Y", x.shape, lambda *i: around[tuple(at - by if by else at for at, by in zip(i, back, strict=True))]
    )


def _rolled_flat(axes: Sequence[Expr], sizes: Sequence[Extent], shift: int) -> tuple[Expr, ...]:
    return unravelled((ravelled(axes, sizes) - shift) % product(sizes), sizes)


def tile_numpy(x: Array, *, reps: Shape) -> Array:
    """What :func:`tile` computes."""
    return np.tile(x, reps)


@operator(numpy=tile_numpy)
def tile(X: Shape, reps: Shape, dtype: str = "float32") -> Stage:
    """``Y[..., i, ...] = X[..., i mod n, ...]``: X over and over, reps times along each dimension.

    Input: ``X`` of any shape and dtype. Output: stage ``Y``, axes ``i0``, ``i1`` and so on. ``reps`` and the shape of X are
    aligned at their last dimensions, and 1 is put in front of the shorter. As ``numpy.tile``.
    """
    x = input("X", X, dtype)
    counts = _counts("tile", "reps", reps)
    lead = max(0, len(counts) - x.ndim)
    counts = (1,) * (x.ndim - len(counts)) + counts
    sizes: tuple[Extent, ...] = (1,) * lead + x.shape
    around = repeat_image(
        x, [dim for dim, count in enumerate(counts[lead:]) if count > 1 and not same(x.shape[dim], 0)]
    )
    return compute("Y", tuple(map(times, sizes, counts)), lambda *i: around[i[lead:]])


def repeat_numpy(x: Array, *, repeats: int, axis: int) -> Array:
    """What :func:`repeat` computes."""
    return np.repeat(x, repeats, axis)


@operator(numpy=repeat_numpy)
def repeat(X: Shape, repeats: int, axis: int = 0, dtype: str = "float32") -> Stage:
    """``Y[..., i, ...] = X[..., floor(i / repeats), ...]``: each element repeats times, along one dimension.

    Input: ``X`` of any shape and dtype. Output: stage ``Y``, axes ``i0``, ``i1`` and so on. As ``numpy.repeat``.
    """
    x = input("X", X, dtype)
    dim = dimension("repeat", axis, x.ndim)
    (count,) = _counts("repeat", "repeats", (repeats,))
    return compute(
        "Y",
        tuple(replaced(x.shape, dim, times(x.shape[dim], count))),
        lambda *i: x[replaced(i, dim, i[dim] // max(1, count))],
    )


def _counts(where: str, what: str, given: Shape) -> tuple[int, ...]:
    counts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if any(isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in counts):
        raise DefinitionError(f"{where}: {what}={given!r} is no count, from 0 upwards, for each dimension")
    return counts


def strided_slice_numpy(x: Array, *, start: Limits, stop: Limits, step: Limits) -> Array:
    """What :func:`strided_slice` computes."""
    return x[_slices(x.ndim, start, stop, step)].copy()


@operator(numpy=strided_slice_numpy)
def strided_slice(
    X: Shape, start: Limits = (), stop: Limits = (), step: Limits = (), dtype: str = "float32"
) -> Stage:
    """``Y = X[start[0]:stop[0]:step[0], start[1]:stop[1]:step[1], ...]``, as Python has it.

    Input: ``X`` of any shape and dtype. Output: stage ``Y``, axes ``i0``, ``i1`` and so on. Each option has a number for each
    dimension from the first; None, or none at all, is Python's default; negative limits count from the end, and a negative
    step goes backwards.

    >>> from loopwright import ops
    >>> ops.strided_slice((10, 7), start=(None, 1), stop=(None, -1), step=(-2, 2)).outputs[0].shape
    (5, 3)
    """
    x = input("X", X, dtype)
    ranges: list[range | None] = []
    for dim, cut in enumerate(_slices(x.ndim, start, stop, step)):
        size = x.shape[dim]
        if isinstance(size, Expr) and cut != slice(None):
            raise DefinitionError(
                f"strided_slice: dimension {dim} of X has the symbolic size {size}, and is kept whole"
            )
        ranges.append(None if isinstance(size, Expr) else range(size)[cut])
    sizes = tuple(x.shape[dim] if taken is None else len(taken) for dim, taken in enumerate(ranges))

    def value(*i: Axis) -> Expr:
        return x[
            tuple(
                at if taken is None else at * taken.step + taken.start
                for at, taken in zip(i, ranges, strict=True)
            )
        ]

    return compute("Y", sizes, value)


def _slices(rank: int, start: Limits, stop: Limits, step: Limits) -> tuple[slice, ...]:
    """A slice for each dimension.

    Raises:
        DefinitionError: more numbers than dimensions, something that is no whole number, a step of 0.
    """
    columns = []
    for what, given in (("start", start), ("stop", stop), ("step", step)):
        wrong = not isinstance(given, (tuple, list)) or len(given) > rank
        if wrong or any(isinstance(n, bool) or not (n is None or isinstance(n, int)) for n in given):
            raise DefinitionError(
                f"strided_slice: {what}={given!r} is no tuple of at most {rank} whole numbers or None, one for each dimension"
            )
        columns.append((*given, *(None,) * (rank - len(given))))
    if 0 in columns[2]:
        raise DefinitionError(f"strided_slice: step={step!r} has a step of 0")
    return tuple(slice(*limits) for limits in zip(*columns, strict=True))

"""Joining, cutting and padding of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.dims import dimension, replaced
from loopwright.sched.dtypes import is_float
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import (
    Bounded,
    constant_exterior,
    mirror_image,
    mirror_interior,
    repeat_edge,
    repeat_image,
)
from loopwright.sched.language.builders import compute, input, select
from loopwright.sched.language.expr import Axis, Expr, Extent
from loopwright.sched.language.extents import minus, plus, same
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage, Tensor
from loopwright.sched.reference.numbers import Array

# For all sides of all dimensions, or for each dimension a number for both sides, or (before, after).
Widths = int | tuple[int | tuple[int, int], ...]
# The modes of ``numpy.pad`` that repeat elements; ``constant`` is apart.
PAD_MODES: Mapping[str, Callable[[Tensor, Sequence[int]], Bounded]] = {
    "edge": repeat_edge,
    "reflect": mirror_interior,
    "symmetric": mirror_image,
    "wrap": repeat_image,
}


def concat_numpy(*arrays: Array, axis: int) -> Array:
    """What :func:`concat` computes."""
    return np.concatenate(arrays, axis)


@operator(numpy=concat_numpy)
def concat(X: tuple[Shape, ...], axis: int = 0, dtype: str = "float32") -> Stage:
    """``Y = X0, then X1, then X2 and so on, along one dimension``.

    Inputs: ``X0``, ``X1`` and so on, of any dtype, one for each shape in ``X``; the shapes differ in dimension ``axis`` only.
    Output: stage ``Y``, axes ``i0``, ``i1`` and so on. As ``numpy.concatenate``.

    >>> from loopwright import ops
    >>> ops.concat(((4, 3), (4, 5)), axis=1).outputs[0].shape
    (4, 8)
    """
    if not isinstance(X, (tuple, list)) or not X or not all(isinstance(shape, (tuple, list)) for shape in X):
        raise DefinitionError(f"concat: X={X!r} is no tuple of shapes, such as ((4, 3), (4, 5))")
    arrays = [input(f"X{number}", shape, dtype) for number, shape in enumerate(X)]
    first = arrays[0].shape
    dim = dimension("concat", axis, len(first))
    for array in arrays:
        if len(array.shape) != len(first) or not all(
            same(a, b) for d, (a, b) in enumerate(zip(array.shape, first, strict=True)) if d != dim
        ):
            raise DefinitionError(
                f"concat: {array.name}={array.shape} and X0={first} differ in more than dimension {dim}"
            )
    starts: list[Extent] = [0]
    for array in arrays:
        starts.append(plus(starts[-1], array.shape[dim]))
    # An array without elements contributes none.
    parts = [
        (array, start) for array, start in zip(arrays, starts, strict=False) if not same(array.shape[dim], 0)
    ] or [(arrays[0], 0)]

    def value(*i: Axis) -> Expr:
        found: Expr | None = None
        for array, start in reversed(parts):
            here = array[replaced(i, dim, i[dim] if same(start, 0) else i[dim] - start)]
            found = here if found is None else select(i[dim] < plus(start, array.shape[dim]), here, found)
        assert found is not None
        return found

    return compute("Y", replaced(first, dim, starts[-1]), value)


def stack_numpy(*arrays: Array, axis: int) -> Array:
    """What :func:`stack` computes."""
    return np.stack(arrays, axis)


@operator(numpy=stack_numpy)
def stack(X: Shape, count: int, axis: int = 0, dtype: str = "float32") -> Stage:
    """``Y[..., k, ...] = Xk``: arrays of one shape along a new dimension.

    Inputs: ``X0``, ``X1`` and so on, ``count`` of them of shape ``X``, of any dtype. Output: stage ``Y``, axes ``i0``, ``i1`` and
    so on; its dimension ``axis`` is the new one. As ``numpy.stack``.
    """
    if count < 1:
        raise DefinitionError(f"stack: count={count}; there is at least 1 array")
    arrays = [input(f"X{number}", X, dtype) for number in range(count)]
    shape = arrays[0].shape
    dim = dimension("stack", axis, len(shape) + 1)

    def value(*i: Axis) -> Expr:
        rest = (*i[:dim], *i[dim + 1 :])
        found: Expr = arrays[-1][rest]
        for number in reversed(range(count - 1)):
            found = select(i[dim] <= number, arrays[number][rest], found)
        return found

    return compute("Y", (*shape[:dim], count, *shape[dim:]), value)


def split_numpy(x: Array, *, sections: int | Shape, axis: int) -> tuple[Array, ...]:
    """What :func:`split` computes."""
    return tuple(part.copy() for part in np.split(x, sections, axis))


@operator(numpy=split_numpy)
def split(X: Shape, sections: int | Shape, axis: int = 0, dtype: str = "float32") -> tuple[Stage, ...]:
    """``Y0, Y1, ... = X, cut along one dimension``.

    Input: ``X`` of any shape and dtype. Outputs: stages ``Y0``, ``Y1`` and so on, axes ``i0``, ``i1`` and so on. ``sections`` is
    the number of equal parts, or the indices to cut at: ``(2, 5)`` gives ``[0:2]``, ``[2:5]`` and ``[5:]``. As ``numpy.split``.
    """
    x = input("X", X, dtype)
    dim = dimension("split", axis, x.ndim)
    cuts = _cuts(sections, x.shape[dim], dim)

    def part(number: int, start: int, size: Extent) -> Stage:
        return compute(
            f"Y{number}",
            replaced(x.shape, dim, size),
            lambda *i: x[replaced(i, dim, i[dim] + start)],
        )

    ends: list[Extent] = [*cuts[1:], x.shape[dim]]
    return tuple(
        part(n, start, minus(end, start)) for n, (start, end) in enumerate(zip(cuts, ends, strict=True))
    )


def _cuts(sections: int | Shape, size: Extent, dim: int) -> list[int]:
    """Where each part begins."""
    if isinstance(sections, int) and not isinstance(sections, bool):
        if sections < 1 or isinstance(size, Expr) or size % sections:
            raise DefinitionError(
                f"split: sections={sections} equal parts of dimension {dim}, which has {size} elements, are not whole; "
                "give the indices to cut at"
            )
        return [part * (size // sections) for part in range(sections)]
    cuts = [0, *sections] if isinstance(sections, (tuple, list)) else []
    whole = all(isinstance(cut, int) and not isinstance(cut, bool) for cut in cuts)
    if not cuts or not whole or sorted(cuts) != cuts or (not isinstance(size, Expr) and cuts[-1] > size):
        raise DefinitionError(
            f"split: sections={sections!r} is neither a number of parts, nor indices from 0 to {size} in rising order"
        )
    return cuts


def pad_numpy(x: Array, *, width: Widths, mode: str, value: float) -> Array:
    """What :func:`pad` computes."""
    if x.ndim == 0:  # numpy.pad refuses it
        return x.copy()
    options = {"constant_values": value} if mode == "constant" else {}
    return np.pad(x, _widths(width, x.ndim), mode, **options)  # type: ignore[call-overload]


@operator(numpy=pad_numpy)
def pad(X: Shape, width: Widths, mode: str = "constant", value: float = 0, dtype: str = "float32") -> Stage:
    """``Y[i + before, ...] = X[i, ...]``, and around it what mode says.

    Input: ``X`` of any shape and dtype. Output: stage ``Y``, axes ``i0``, ``i1`` and so on. ``width`` is a number for all sides,
    or for each dimension a number or (before, after). ``mode`` is ``constant`` (``value``), or repeats elements of X: ``edge``
    the nearest, ``reflect`` X turned over without its edge, ``symmetric`` X turned over with it, ``wrap`` X from its other side;
    however wide. As ``numpy.pad``.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.pad((3,), width=((4, 1),), mode="reflect").reference(np.arange(3, dtype="float32")).tolist()
    [0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0]
    """
    x = input("X", X, dtype)
    widths = _widths(width, x.ndim)
    dims = [dim for dim, sides in enumerate(widths) if sides != (0, 0)]
    around = _around(x, dims, mode, value)
    shape = tuple(plus(size, before + after) for size, (before, after) in zip(x.shape, widths, strict=True))
    return compute(
        "Y",
        shape,
        lambda *i: around[
            tuple(at - before if before else at for at, (before, _) in zip(i, widths, strict=True))
        ],
    )


def _around(x: Tensor, dims: Sequence[int], mode: str, value: float) -> Bounded:
    """The input with what lies outside it."""
    if mode == "constant":
        if not is_float(x.dtype) and value != int(value):
            raise DefinitionError(f"pad: value={value} is no {x.dtype}")
        return constant_exterior(x, value if is_float(x.dtype) else int(value), dims)
    if mode not in PAD_MODES:
        raise DefinitionError(f"pad: unknown mode {mode!r}; there are constant, {', '.join(PAD_MODES)}")
    for dim in dims:
        if same(x.shape[dim], 0):
            raise DefinitionError(
                f"pad: dimension {dim} of X has no elements for mode={mode!r} to repeat; constant is possible"
            )
    return PAD_MODES[mode](x, dims)


def _widths(width: Widths, rank: int) -> list[tuple[int, int]]:
    """(before, after) of each dimension."""
    given = (width,) * rank if isinstance(width, int) else width
    pairs = (
        [(side, side) if isinstance(side, int) else side for side in given]
        if isinstance(given, (tuple, list))
        else []
    )
    flat = [n for pair in pairs for n in (pair if isinstance(pair, (tuple, list)) else (None,))]
    if (
        len(pairs) != rank
        or len(flat) != 2 * rank
        or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in flat)
    ):
        raise DefinitionError(
            f"pad: width={width!r} is neither a number from 0 upwards, nor for each of {rank} dimensions a number or "
            "(before, after)"
        )
    return [(before, after) for before, after in pairs]

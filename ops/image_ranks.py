"""Rank filters of images: medians, and the greatest and least pixels of a window."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.images import (
    beside,
    check_radius,
    image,
    pixels,
    shifted_numpy,
    surrounded,
    surrounded_numpy,
    taller,
)
from loopwright.sched.language.builders import max, min
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def _sorted(a: Expr, b: Expr, c: Expr) -> tuple[Expr, Expr, Expr]:
    """Three values in order."""
    low, high = min(a, b), max(a, b)
    return min(low, c), max(low, min(high, c)), max(high, c)


def median_filter_numpy(x: Array, *, boundary: str) -> Array:
    """What :func:`median_filter` computes: NumPy selects the fifth of nine."""
    around = surrounded_numpy(x, 1, boundary)
    nine = [view for rows in shifted_numpy(around, 1, 0) for view in shifted_numpy(rows, 1, 1)]
    return np.asarray(np.partition(np.stack(nine), 4, axis=0)[4])


@operator(numpy=median_filter_numpy)
def median_filter(X: Shape, boundary: str = "repeat_edge", dtype: str = "uint8") -> Stage:
    """``Y[y, x] = median over -1 <= i, j <= 1 of X[y + i, x + j]``.

    Input: ``X``, an image of (H, W) or (H, W, C). Output: stage ``Y`` of X's shape and dtype, axes ``y``, ``x`` and, with
    colours, ``c``. There is no comparison whose outcome decides what is done next: each column of the window is sorted by
    minima and maxima; the median of nine is that of the greatest of the lows, the median of the middles and the least of the
    highs. ``boundary`` and ``dtype`` are those of ``box_filter``.
    Source: Smith, "Implementing median filters in XC4000E FPGAs", Xcell 23 (1996).

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.median_filter(X=(1, 5)).reference(np.array([[7, 7, 90, 8, 9]], "uint8"))
    array([[7, 7, 8, 9, 9]], dtype=uint8)
    """
    at = surrounded("median_filter", image("median_filter", X, dtype), boundary)

    def median(*place: Axis) -> Expr:
        columns = [_sorted(*(beside(at, place, i, j) for i in (-1, 0, 1))) for j in (-1, 0, 1)]
        lows, middles, highs = zip(*columns, strict=True)
        return _sorted(reduce(max, lows), _sorted(*middles)[1], reduce(min, highs))[1]

    return pixels("Y", at.shape, median)


def _extreme(
    where: str, X: Shape, radius: int, boundary: str, dtype: str, of: Callable[[Expr, Expr], Expr]
) -> Stage:
    """The extreme of a window: along rows, then along columns."""
    check_radius(where, radius)
    at, window = surrounded(where, image(where, X, dtype), boundary), range(-radius, radius + 1)

    def along_row(*place: Axis) -> Expr:
        return reduce(of, (beside(at, place, -radius, j) for j in window))

    rows = pixels("rows", taller(at.shape, radius), along_row)

    def along_column(*place: Axis) -> Expr:
        return reduce(of, (beside(rows, place, radius + i, 0) for i in window))

    return pixels("Y", at.shape, along_column)


def _extreme_numpy(x: Array, radius: int, boundary: str, of: np.ufunc) -> Array:
    """The same of arrays."""
    y = surrounded_numpy(x, radius, boundary)
    for axis in (0, 1):
        y = reduce(of, shifted_numpy(y, radius, axis))
    return y


def max_filter_numpy(x: Array, *, radius: int, boundary: str) -> Array:
    """What :func:`max_filter` computes."""
    return _extreme_numpy(x, radius, boundary, np.maximum)


@operator(numpy=max_filter_numpy)
def max_filter(X: Shape, radius: int = 1, boundary: str = "repeat_edge", dtype: str = "uint8") -> Stage:
    """``Y[y, x] = max over -radius <= i, j <= radius of X[y + i, x + j]``: dilation by a square.

    Input: ``X``, an image of (H, W) or (H, W, C). Stages: ``rows``, the maxima along rows (of H + 2 * radius rows), and the
    output ``Y`` of X's shape and dtype, axes ``y``, ``x`` and, with colours, ``c``. ``boundary`` and ``dtype`` are those of
    ``box_filter``.
    """
    return _extreme("max_filter", X, radius, boundary, dtype, max)


def min_filter_numpy(x: Array, *, radius: int, boundary: str) -> Array:
    """What :func:`min_filter` computes."""
    return _extreme_numpy(x, radius, boundary, np.minimum)


@operator(numpy=min_filter_numpy)
def min_filter(X: Shape, radius: int = 1, boundary: str = "repeat_edge", dtype: str = "uint8") -> Stage:
    """``Y[y, x] = min over -radius <= i, j <= radius of X[y + i, x + j]``: erosion by a square.

    Input: ``X``, an image of (H, W) or (H, W, C). Stages: ``rows``, the minima along rows (of H + 2 * radius rows), and the
    output ``Y`` of X's shape and dtype, axes ``y``, ``x`` and, with colours, ``c``. ``boundary`` and ``dtype`` are those of
    ``box_filter``.
    """
    return _extreme("min_filter", X, radius, boundary, dtype, min)

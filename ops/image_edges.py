"""Edges and corners of images: Sobel's derivatives, their magnitude, and Harris' response."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.images import (
    beside,
    check_radius,
    image,
    pixels,
    real,
    shifted_numpy,
    surrounded,
    surrounded_numpy,
    taller,
)
from loopwright.sched.dtypes import is_float
from loopwright.sched.language.boundary import Bounded
from loopwright.sched.language.builders import cast, compute
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.mathfns import sqrt
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def derivative(dtype: str) -> str:
    """The dtype that holds the derivatives of an image: int16 of uint8, int32 of uint16; floats keep theirs."""
    return {"uint8": "int16", "uint16": "int32"}.get(dtype, dtype)


def _slopes(at: Bounded, wide: str, place: Sequence[Expr]) -> tuple[Expr, Expr]:
    """Sobel's derivatives along a row and along a column, at a place."""

    def pixel(i: int, j: int) -> Expr:
        return cast(wide, beside(at, place, i, j))

    corners = pixel(1, 1) - pixel(-1, -1), pixel(-1, 1) - pixel(1, -1)
    return (
        corners[0] + corners[1] + (pixel(0, 1) - pixel(0, -1)) * 2,
        corners[0] - corners[1] + (pixel(1, 0) - pixel(-1, 0)) * 2,
    )


def _slopes_numpy(around: Array) -> tuple[Array, Array]:
    """The derivatives of all but the outermost pixels, in the array's dtype."""
    found = []
    for axis in (1, 0):
        before, _, after = shifted_numpy(around, 1, axis)
        first, middle, last = shifted_numpy(after - before, 1, 1 - axis)
        found.append(first + 2 * middle + last)
    return found[0], found[1]


def sobel_numpy(x: Array, *, boundary: str, dtype: str) -> tuple[Array, Array]:
    """What :func:`sobel` computes."""
    kind = derivative(dtype)
    dx, dy = _slopes_numpy(surrounded_numpy(x, 1, boundary).astype(real(dtype) if is_float(dtype) else kind))
    return dx.astype(kind, copy=False), dy.astype(kind, copy=False)


@operator(numpy=sobel_numpy)
def sobel(X: Shape, boundary: str = "repeat_edge", dtype: str = "uint8") -> tuple[Stage, Stage]:
    """``dx = X * [-1 0 1; -2 0 2; -1 0 1], dy = X * [-1 -2 -1; 0 0 0; 1 2 1]``, sums of products around each pixel.

    Input: ``X``, an image of (H, W) or (H, W, C). Outputs: the stages ``dx``, how fast pixels grow along a row, and ``dy``, along
    a column, of X's shape, axes ``y``, ``x`` and, with colours, ``c``; both are 8 times the slope. They are int16 of uint8, int32
    of uint16, and exact; floats keep their dtype (float16 is computed in float32). ``boundary`` is that of ``box_filter``.
    """
    at = surrounded("sobel", image("sobel", X, dtype), boundary)
    kind = derivative(dtype)
    wide = real(dtype) if is_float(dtype) else kind
    dx = pixels("dx", at.shape, lambda *place: cast(kind, _slopes(at, wide, place)[0]))
    dy = pixels("dy", at.shape, lambda *place: cast(kind, _slopes(at, wide, place)[1]))
    return dx, dy


def gradient_magnitude_numpy(x: Array, *, boundary: str, dtype: str) -> Array:
    """What :func:`gradient_magnitude` computes."""
    dx, dy = _slopes_numpy(surrounded_numpy(x, 1, boundary).astype(real(dtype)))
    return np.sqrt(dx * dx + dy * dy)


@operator(numpy=gradient_magnitude_numpy)
def gradient_magnitude(X: Shape, boundary: str = "repeat_edge", dtype: str = "uint8") -> Stage:
    """``Y = sqrt(dx ** 2 + dy ** 2), where dx and dy are those of sobel``: where edges are, whatever their direction.

    Input: ``X``, an image of (H, W) or (H, W, C). Output: stage ``Y`` of X's shape, axes ``y``, ``x`` and, with colours, ``c``;
    float32, or float64 of float64. ``boundary`` and ``dtype`` are those of ``box_filter``.
    """
    at, kind = surrounded("gradient_magnitude", image("gradient_magnitude", X, dtype), boundary), real(dtype)

    def magnitude(*place: Axis) -> Expr:
        dx, dy = _slopes(at, kind, place)
        return sqrt(dx * dx + dy * dy)

    return pixels("Y", at.shape, magnitude)


def harris_numpy(x: Array, *, k: float, radius: int, boundary: str, dtype: str) -> Array:
    """What :func:`harris` computes."""
    around = surrounded_numpy(x, radius + 1, boundary).astype(real(dtype))
    dx, dy = (slope * 0.125 for slope in _slopes_numpy(around))
    sums = []
    for product in (dx * dx, dx * dy, dy * dy):
        for axis in (1, 0):
            product = np.add.reduce([*shifted_numpy(product, radius, axis)])
        sums.append(product)
    xx, xy, yy = sums
    return np.asarray(xx * yy - xy * xy - (xx + yy) ** 2 * k)


@operator(numpy=harris_numpy)
def harris(
    X: Shape, k: float = 0.04, radius: int = 1, boundary: str = "repeat_edge", dtype: str = "uint8"
) -> Stage:
    """``Y = xx * yy - xy ** 2 - k * (xx + yy) ** 2, where xy = sum over a window of dx * dy``: great at corners.

    Input: ``X``, a grey image of (H, W). Stages: ``dx`` and ``dy``, the slopes (those of ``sobel`` / 8) also around the image,
    of (H + 2 * radius, W + 2 * radius); ``xx``, ``xy``, ``yy``, their products summed along rows, of (H + 2 * radius, W); and the
    output ``Y`` of (H, W); all have axes ``y``, ``x``. The window has 2 * radius + 1 rows and columns. All is computed in float32
    (of float64 in float64). ``boundary`` and ``dtype`` are those of ``box_filter``.
    Source: Harris and Stephens, "A combined corner and edge detector", Alvey Vision Conference (1988).
    """
    at, kind = surrounded("harris", image("harris", X, dtype, ranks=(2,)), boundary), real(dtype)
    check_radius("harris", radius)
    H, W = at.shape
    tall = taller(at.shape, radius)
    wide = (tall[0], W + 2 * radius)
    window = range(2 * radius + 1)
    dx = compute("dx", wide, lambda y, x: _slopes(at, kind, (y - radius, x - radius))[0] * 0.125)
    dy = compute("dy", wide, lambda y, x: _slopes(at, kind, (y - radius, x - radius))[1] * 0.125)

    def along_row(name: str, a: Stage, b: Stage) -> Stage:
        return compute(name, tall, lambda y, x: _total(lambda j: a[y, x + j] * b[y, x + j], window))

    xx, xy, yy = along_row("xx", dx, dx), along_row("xy", dx, dy), along_row("yy", dy, dy)

    def response(y: Axis, x: Axis) -> Expr:
        a, b, c = (_total(lambda i, s=s: s[y + i, x], window) for s in (xx, xy, yy))  # type: ignore[misc]
        return a * c - b * b - (a + c) * (a + c) * k

    return compute("Y", (H, W), response)


def _total(of: Callable[[int], Expr], window: range) -> Expr:
    """The sum of what is at each place of a window, written out."""
    total = of(window[0])
    for place in window[1:]:
        total = total + of(place)
    return total

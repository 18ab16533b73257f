"""Blurring and sharpening images: means and Gaussians, along rows first, then along columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import exp
from operator import add
from typing import TypeVar

from loopwright.ops.broadcast import Shape
from loopwright.ops.images import (
    beside,
    check_radius,
    image,
    pixels,
    real,
    rounded,
    rounded_numpy,
    shifted_numpy,
    surrounded,
    surrounded_numpy,
    taller,
)
from loopwright.sched.dtypes import accumulator, is_float
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import Bounded
from loopwright.sched.language.builders import cast
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

T = TypeVar("T", Expr, Array)
# The greatest sum of a window that 32 bits hold: (2 * 127 + 1) ** 2 pixels of uint16.
WIDEST = 127


def _sum(terms: Iterable[T]) -> T:
    """The sum of expressions, or of arrays, written out: a window is a few rows or columns."""
    return reduce(add, terms)


def box_filter_numpy(x: Array, *, radius: int, boundary: str, dtype: str) -> Array:
    """What :func:`box_filter` computes."""
    total = surrounded_numpy(x, radius, boundary).astype(accumulator(dtype))
    for axis in (0, 1):
        total = _sum(shifted_numpy(total, radius, axis))
    count = (2 * radius + 1) ** 2
    if is_float(dtype):
        return (total * (1 / count)).astype(dtype, copy=False)
    return ((total + count // 2) // count).astype(dtype)


@operator(numpy=box_filter_numpy)
def box_filter(X: Shape, radius: int = 1, boundary: str = "repeat_edge", dtype: str = "uint8") -> Stage:
    """``Y[y, x] = mean over -radius <= i, j <= radius of X[y + i, x + j]``.

    Input: ``X``, an image of (H, W) or (H, W, C). Stages: ``rows``, the sums along rows (of H + 2 * radius rows), and the
    output ``Y`` of X's shape and dtype, axes ``y``, ``x`` and, with colours, ``c``.

    ``dtype`` is uint8, uint16 or a float. Integers are summed exactly, and the mean is rounded to the nearest, halves up;
    float16 is summed in float32. ``boundary`` says what lies outside the image: ``repeat_edge``, ``mirror_image``,
    ``mirror_interior``, ``repeat_image`` or ``constant_exterior`` (zeros).

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.box_filter(X=(1, 5)).reference(np.array([[0, 0, 90, 0, 0]], "uint8"))
    array([[ 0, 30, 30, 30,  0]], dtype=uint8)
    """
    if check_radius("box_filter", radius) > WIDEST:
        raise DefinitionError(f"box_filter: radius={radius} is too large; the widest window has {WIDEST}")
    at, wide = surrounded("box_filter", image("box_filter", X, dtype), boundary), accumulator(dtype)
    window, count = range(-radius, radius + 1), (2 * radius + 1) ** 2

    def along_row(*place: Axis) -> Expr:
        return _sum(cast(wide, beside(at, place, -radius, j)) for j in window)

    rows = pixels("rows", taller(at.shape, radius), along_row)

    def mean(*place: Axis) -> Expr:
        total = _sum(beside(rows, place, radius + i, 0) for i in window)
        return cast(dtype, total * (1 / count) if is_float(dtype) else (total + count // 2) // count)

    return pixels("Y", at.shape, mean)


def gaussian(where: str, sigma: float, radius: int) -> list[float]:
    """The weights of a Gaussian at distances 0, 1, ... from its centre; both sides together sum to 1.

    ``radius`` 0 is four ``sigma``, as SciPy has it.

    Raises:
        DefinitionError: ``sigma`` is not positive, or the radius negative.
    """
    if sigma <= 0:
        raise DefinitionError(f"{where}: sigma={sigma} is not positive")
    reach = check_radius(where, radius) or int(4 * sigma + 0.5)
    weights = [exp(-((d / sigma) ** 2) / 2) for d in range(reach + 1)]
    total = weights[0] + 2 * sum(weights[1:])
    return [weight / total for weight in weights]


def _weighted(weights: Sequence[float], at: Callable[[int], Expr]) -> Expr:
    """The sum of what is ``at`` each distance, to both sides, times its weight."""
    sides = [(at(-d) + at(d)) * weight for d, weight in enumerate(weights[1:], 1)]
    return _sum([at(0) * weights[0], *sides])


def _blurred(at: Bounded, weights: Sequence[float]) -> Callable[..., Expr]:
    """The blurred image as a function of a pixel's place, in floats; the stage ``rows`` is blurred along rows."""
    kind, radius = real(at.dtype), len(weights) - 1

    def along_row(*place: Axis) -> Expr:
        return _weighted(weights, lambda d: cast(kind, beside(at, place, -radius, d)))

    rows = pixels("rows", taller(at.shape, radius), along_row)
    return lambda *place: _weighted(weights, lambda d: beside(rows, place, radius + d, 0))


def _blurred_numpy(x: Array, weights: Sequence[float], boundary: str) -> Array:
    radius = len(weights) - 1
    both = [weights[abs(d)] for d in range(-radius, radius + 1)]
    y = surrounded_numpy(x, radius, boundary).astype(real(x.dtype.name))
    for axis in (0, 1):
        y = _sum(view * weight for view, weight in zip(shifted_numpy(y, radius, axis), both, strict=True))
    return y


def gaussian_blur_numpy(x: Array, *, sigma: float, radius: int, boundary: str, dtype: str) -> Array:
    """What :func:`gaussian_blur` computes."""
    return rounded_numpy(dtype, _blurred_numpy(x, gaussian("gaussian_blur", sigma, radius), boundary))


@operator(numpy=gaussian_blur_numpy)
def gaussian_blur(
    X: Shape, sigma: float = 1.0, radius: int = 0, boundary: str = "repeat_edge", dtype: str = "uint8"
) -> Stage:
    """``Y[y, x] = sum over i, j of g[i] * g[j] * X[y + i, x + j], where g[d] ~ exp(-d**2 / (2 * sigma**2)), of sum 1``.

    Input: ``X``, an image of (H, W) or (H, W, C). Stages: ``rows``, blurred along rows (of H + 2 * radius rows, float32), and
    the output ``Y`` of X's shape and dtype, axes ``y``, ``x`` and, with colours, ``c``. ``radius`` says where the Gaussian is
    cut off; 0 is at four ``sigma``. It is computed in float32 (of float64 in float64) and rounded once, integers to the nearest.
    ``boundary`` and ``dtype`` are those of ``box_filter``.
    """
    at = surrounded("gaussian_blur", image("gaussian_blur", X, dtype), boundary)
    blurred = _blurred(at, gaussian("gaussian_blur", sigma, radius))
    return pixels("Y", at.shape, lambda *place: rounded(dtype, blurred(*place)))


def unsharp_mask_numpy(
    x: Array, *, sigma: float, amount: float, radius: int, boundary: str, dtype: str
) -> Array:
    """What :func:`unsharp_mask` computes."""
    blurred = _blurred_numpy(x, gaussian("unsharp_mask", sigma, radius), boundary)
    return rounded_numpy(dtype, x + (x - blurred) * amount)


@operator(numpy=unsharp_mask_numpy)
def unsharp_mask(
    X: Shape,
    sigma: float = 1.0,
    amount: float = 1.0,
    radius: int = 0,
    boundary: str = "repeat_edge",
    dtype: str = "uint8",
) -> Stage:
    """``Y[y, x] = X[y, x] + amount * (X[y, x] - B[y, x]), where B is X blurred by a Gaussian``.

    Input: ``X``, an image of (H, W) or (H, W, C). Stages and options are those of ``gaussian_blur``: ``rows`` and the output
    ``Y``, axes ``y``, ``x`` and, with colours, ``c``. Integers are held to the range of their dtype; floats are not.
    """
    at = surrounded("unsharp_mask", image("unsharp_mask", X, dtype), boundary)
    blurred = _blurred(at, gaussian("unsharp_mask", sigma, radius))

    def sharpened(*place: Axis) -> Expr:
        pixel = cast(real(dtype), at.tensor[place])
        return rounded(dtype, pixel + (pixel - blurred(*place)) * amount)

    return pixels("Y", at.shape, sharpened)

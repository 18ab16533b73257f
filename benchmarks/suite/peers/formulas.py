"""The images' formulas on arrays that slice and compute as NumPy's do; the borders come with the image."""

from __future__ import annotations

from math import exp, pi, sqrt
from typing import Any

Tensor = Any

RED, GREEN, BLUE = 0.299, 0.587, 0.114
# The Gaussian of the unsharp mask at distances 0 to 3, of a standard deviation of 1.5.
GAUSSIAN = [exp(-d * d / (2 * 1.5**2)) / (sqrt(2 * pi) * 1.5) for d in range(4)]
SOBEL = (1 / 12, 1 / 6, 1 / 12)
HARRIS_K = 0.04


def shifted(x: Tensor, axis: int, count: int) -> list[Tensor]:
    """``count`` views of a plane, each one further along an axis."""
    length = x.shape[axis] - count + 1
    return [x[n : n + length] if axis == 0 else x[:, n : n + length] for n in range(count)]


def brightness(image: Tensor) -> Tensor:
    """Of three planes of colours."""
    return RED * image[0] + GREEN * image[1] + BLUE * image[2]


def blur(image: Tensor) -> Tensor:
    """The mean of three columns, then of three rows, each rounded down."""
    for axis in (1, 0):
        first, second, third = shifted(image, axis, 3)
        image = (first + second + third) // 3
    return image


def unsharp(image: Tensor) -> Tensor:
    """Each colour times twice the brightness less its blur, over the brightness."""
    gray = brightness(image)
    smooth = gray
    for axis in (0, 1):
        at = shifted(smooth, axis, 7)
        smooth = GAUSSIAN[0] * at[3]
        for far in (1, 2, 3):
            smooth = smooth + GAUSSIAN[far] * (at[3 - far] + at[3 + far])
    middle = gray[3:-3, 3:-3]
    return (2 * middle - smooth) / middle * image[:, 3:-3, 3:-3]


def harris(image: Tensor) -> Tensor:
    """The response to corners."""
    gray = brightness(image)

    def slope(along: int) -> Tensor:
        before, _, after = shifted(gray, along, 3)
        rows = shifted(after - before, 1 - along, 3)
        return SOBEL[0] * rows[0] + SOBEL[1] * rows[1] + SOBEL[2] * rows[2]

    dx, dy = slope(1), slope(0)
    sums = []
    for product in (dx * dx, dx * dy, dy * dy):
        for axis in (0, 1):
            first, second, third = shifted(product, axis, 3)
            product = first + second + third
        sums.append(product)
    xx, xy, yy = sums
    trace = xx + yy
    return xx * yy - xy * xy - HARRIS_K * trace * trace

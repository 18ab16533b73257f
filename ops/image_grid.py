"""Smoothing images without blurring their edges, in a small grid of places and tones."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.images import (
    from_light,
    from_light_numpy,
    image,
    real,
    to_light,
    to_light_numpy,
    white,
)
from loopwright.sched.dtypes import is_float
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import repeat_edge
from loopwright.sched.language.builders import cast, compute, const, min, reduce_axis
from loopwright.sched.language.expr import Axis, Expr, select
from loopwright.sched.language.mathfns import round
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Input, Stage
from loopwright.sched.reference.numbers import Array

# The grid is blurred along each of its axes with these weights. What they sum to does not matter: weights are blurred as well.
BINOMIAL = (1, 4, 6, 4, 1)
# Points around the grid to which no pixel belongs: what the blur reads beside it.
MARGIN = 2
# Floats are taken apart into so many tones, exactly, so that every kernel finds the same place in the grid.
FINE = 1 << 16


def _tone(pixel: Expr) -> tuple[Expr, int]:
    """A pixel as an integer, and which integer is white."""
    if is_float(pixel.dtype):
        return cast("int32", round(to_light(pixel) * FINE)), FINE
    return cast("int32", pixel), white(pixel.dtype)


def _blurred(name: str, grid: Stage, axis: int) -> Stage:
    """The grid blurred along an axis, and shorter by what has not all its neighbours."""
    shape = tuple(size - 2 * MARGIN if dim == axis else size for dim, size in enumerate(grid.shape))

    def along(*place: Axis) -> Expr:
        near = [(*place[:axis], place[axis] + d, *place[axis + 1 :]) for d in range(2 * MARGIN + 1)]
        return reduce(add, (grid[there] * weight for there, weight in zip(near, BINOMIAL, strict=True)))

    return compute(name, shape, along, axes="c y x z")


def _between(of: Callable[[Expr], Expr], place: Expr, part: Expr) -> Expr:
    """A function of integers between two of them."""
    return of(place) + (of(place + 1) - of(place)) * part


def bilateral_grid_numpy(x: Array, *, cell: int, steps: int, dtype: str) -> Array:
    """What :func:`bilateral_grid` computes."""
    light = to_light_numpy(x)
    tone, top = (np.rint(light * FINE), FINE) if is_float(dtype) else (x, white(dtype))
    scaled = tone.astype("int64") * steps
    rows, columns = np.indices(x.shape)
    shape = tuple((size - 1) // cell + 2 for size in x.shape)
    place = ((rows + cell // 2) // cell, (columns + cell // 2) // cell, (scaled + top // 2) // top)
    grid = np.zeros((2, *shape, steps + 1), light.dtype)
    np.add.at(grid[0], place, light)
    np.add.at(grid[1], place, 1)
    for axis in (3, 2, 1):
        around = np.pad(grid, [(2 * (dim == axis),) * 2 for dim in range(4)])
        views = (around.take(range(d, d + grid.shape[axis]), axis) for d in range(5))
        grid = reduce(add, (view * weight for view, weight in zip(views, BINOMIAL, strict=True)))
    at_z = np.minimum(scaled // top, steps - 1)
    parts = [rows % cell / cell, columns % cell / cell, (scaled - at_z * top) / top]
    for axis, index in enumerate((rows // cell, columns // cell, at_z)):
        place = (*place[:axis], index, *place[axis + 1 :])
    value, weight = _interpolated_numpy(grid, place, [part.astype(light.dtype) for part in parts])
    return from_light_numpy(dtype, value / weight)


def _interpolated_numpy(grid: Array, place: tuple[Array, ...], parts: list[Array]) -> Array:
    """The grid between its points, along all three axes."""
    total = np.zeros((2, *place[0].shape), grid.dtype)
    for corner in np.ndindex(2, 2, 2):
        shares = [part if side else 1 - part for side, part in zip(corner, parts, strict=True)]
        index = (slice(None), *(at + side for at, side in zip(place, corner, strict=True)))
        total += grid[index] * np.prod(shares, axis=0)
    return total


@operator(numpy=bilateral_grid_numpy)
def bilateral_grid(X: Shape, cell: int = 8, steps: int = 10, dtype: str = "uint8") -> Stage:
    """``Y[y, x] = V / N at (y / cell, x / cell, steps * X[y, x]), V and N the blurred sums and counts of pixels near a point``.

    Input: ``X``, a grey image of (H, W). Stages: ``grid``, to whose points pixels are added, each to the one next to it in place
    and tone (its update runs over the ``r``, ``s`` of a cell); ``blur_z``, ``blur_x``, ``blur_y``, the grid blurred by 1 4 6 4 1;
    these have axes ``c`` (sums, then counts), ``y``, ``x``, ``z``. The last is of (2, (H - 1) // cell + 2, (W - 1) // cell + 2,
    steps + 1), those before of 4 more wherever blurring is to come. Output: ``Y`` of X's shape and dtype, axes ``y``, ``x``, the
    grid's value between its points.

    Points are ``cell`` pixels apart along rows and columns, and a part ``steps`` of the way from black to white in tone.
    ``dtype`` is uint8, uint16 or a float, whose pixels are held to 0 to 1; it is computed in float32 (of float64 in float64).
    Source: Chen, Paris and Durand, "Real-time edge-aware image processing with the bilateral grid", SIGGRAPH (2007).
    """
    for name, value in (("cell", cell), ("steps", steps)):
        if value < 1:
            raise DefinitionError(f"bilateral_grid: {name}={value} is less than 1")
    picture = image("bilateral_grid", X, dtype, ranks=(2,))
    blurred = _splat(picture, cell, steps)
    for name, axis in (("blur_z", 3), ("blur_x", 2), ("blur_y", 1)):
        blurred = _blurred(name, blurred, axis)

    def sliced(y: Axis, x: Axis) -> Expr:
        tone, top = _tone(picture[y, x])
        z = min(tone * steps // top, steps - 1)
        parts = [cast(real(dtype), n) * (1 / size) for n, size in ((y % cell, cell), (x % cell, cell))]
        deep = cast(real(dtype), tone * steps - z * top) * (1 / top)

        def between(c: int) -> Expr:
            return _between(
                lambda i: _between(
                    lambda j: _between(lambda k: blurred[c, i, j, k], z, deep), x // cell, parts[1]
                ),
                y // cell,
                parts[0],
            )

        return from_light(dtype, between(0) / between(1))

    return compute("Y", picture.shape, sliced)


def _splat(picture: Input, cell: int, steps: int) -> Stage:
    """The grid with its margin: sums of the pixels next to each point, and how many these are."""
    (H, W), kind = picture.shape, real(picture.dtype)
    points = ((H - 1) // cell + 2, (W - 1) // cell + 2, steps + 1)
    at = repeat_edge(picture)
    r, s = reduce_axis("r", cell), reduce_axis("s", cell)

    def pixel_of(y: Expr, x: Expr) -> tuple[Expr, Expr]:
        return (y - MARGIN) * cell + r - cell // 2, (x - MARGIN) * cell + s - cell // 2

    def added(c: Axis, y: Axis, x: Axis) -> tuple[tuple[Expr, ...], Expr]:
        pixel = at[pixel_of(y, x)]
        tone, top = _tone(pixel)
        point = (c, y, x, (tone * steps + top // 2) // top + MARGIN)
        return point, grid[point] + select(c == 0, to_light(pixel), const(1.0, kind))

    def inside(y: Axis, x: Axis) -> Expr:
        i, j = pixel_of(y, x)
        return (i >= 0) & (i < H) & (j >= 0) & (j < W)

    shape = (2, *(size + 2 * MARGIN for size in points))
    grid = compute("grid", shape, lambda c, y, x, z: const(0.0, kind))
    return grid.update(added, over=(r, s), where=inside)

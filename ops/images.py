"""What the operators on images share: shapes, element types, what lies outside, and rounding back to pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.sched.dtypes import accumulator, is_float, limits
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import (
    Bounded,
    constant_exterior,
    mirror_image,
    mirror_interior,
    repeat_edge,
    repeat_image,
)
from loopwright.sched.language.builders import cast, clip, compute, input
from loopwright.sched.language.expr import Expr, Extent
from loopwright.sched.language.extents import same
from loopwright.sched.language.mathfns import round
from loopwright.sched.language.stage import Input, Stage, Tensor
from loopwright.sched.reference.numbers import Array

# Rows, columns, colours.
AXES = ("y", "x", "c")
PIXELS = ("uint8", "uint16", "float16", "float32", "float64")
# Name -> the boundary condition along rows and columns, and NumPy's name for it.
BOUNDARIES: Mapping[str, tuple[Callable[[Tensor], Bounded], str]] = {
    "repeat_edge": (lambda x: repeat_edge(x, (0, 1)), "edge"),
    "mirror_image": (lambda x: mirror_image(x, (0, 1)), "symmetric"),
    "mirror_interior": (lambda x: mirror_interior(x, (0, 1)), "reflect"),
    "repeat_image": (lambda x: repeat_image(x, (0, 1)), "wrap"),
    "constant_exterior": (lambda x: constant_exterior(x, 0, (0, 1)), "constant"),
}


def image(
    where: str, shape: Shape, dtype: str, ranks: tuple[int, ...] = (2, 3), kinds: Sequence[str] = PIXELS
) -> Input:
    """The input ``X``: a grey image (H, W), or one with colours (H, W, C).

    Raises:
        DefinitionError: no such shape or dtype, or an image without pixels.
    """
    forms = {2: "(H, W)", 3: "(H, W, C)"}
    if not isinstance(shape, (tuple, list)) or len(shape) not in ranks:
        wanted = " or ".join(forms[rank] for rank in ranks)
        raise DefinitionError(f"{where}: X={shape!r} is not the shape {wanted} of an image")
    if any(same(extent, 0) for extent in shape):
        raise DefinitionError(f"{where}: an image of the shape {tuple(shape)} has no pixels")
    if dtype not in kinds:
        raise DefinitionError(
            f"{where}: pixels are of {', '.join(kinds[:-1])} or {kinds[-1]}; got dtype={dtype!r}"
        )
    return input("X", shape, dtype)


def surrounded(where: str, x: Tensor, boundary: str) -> Bounded:
    """The image and what lies outside it.

    Raises:
        DefinitionError: there is no such boundary condition.
    """
    if boundary not in BOUNDARIES:
        raise DefinitionError(f"{where}: unknown boundary {boundary!r}; there are {', '.join(BOUNDARIES)}")
    return BOUNDARIES[boundary][0](x)


def check_radius(where: str, radius: int) -> int:
    """The radius of a window, which has ``2 * radius + 1`` pixels along rows and columns.

    Raises:
        DefinitionError: it is negative.
    """
    if radius < 0:
        raise DefinitionError(f"{where}: radius={radius} is negative; a window of one pixel has radius 0")
    return radius


def pixels(name: str, shape: Iterable[Extent], of: Callable[..., Expr]) -> Stage:
    """A stage of images: ``of(y, x)`` for each pixel of a grey one, ``of(y, x, c)`` where there are colours."""
    extents = tuple(shape)
    return compute(name, extents, of, axes=AXES[: len(extents)])


def beside(at: Tensor | Bounded, place: Sequence[Expr], i: int, j: int) -> Expr:
    """What is ``i`` rows below a place, and ``j`` columns to the right of it."""
    y, x, *color = place
    index = (y + i, x + j, *color)
    return at[index]


def taller(shape: Sequence[Extent], radius: int) -> tuple[Extent, ...]:
    """The shape with so many rows more at the top and at the bottom: what a filter along columns reads."""
    return (shape[0] + 2 * radius, *shape[1:])


def real(dtype: str) -> str:
    """The floats that an operator computes in: float64 of float64, else float32."""
    return accumulator(dtype) if is_float(dtype) else "float32"


def rounded(dtype: str, value: Expr) -> Expr:
    """A float as a pixel: of an integer dtype the nearest one it can hold, halves to even."""
    return cast(dtype, value if is_float(dtype) else round(value))


def white(dtype: str) -> int:
    """The brightest pixel: the greatest integer, or 1 of floats."""
    return 1 if is_float(dtype) else int(limits(dtype)[1])


def to_light(x: Expr) -> Expr:
    """A pixel as a float from 0 to 1."""
    light = cast(real(x.dtype), x)
    return clip(light, 0, 1) if is_float(x.dtype) else light * (1 / white(x.dtype))


def from_light(dtype: str, light: Expr) -> Expr:
    """The pixel of that light, which is held to what there is from black to white."""
    return rounded(dtype, clip(light, 0, 1) * white(dtype))


def rounded_numpy(dtype: str, value: Array) -> Array:
    """What :func:`rounded` gives."""
    if is_float(dtype):
        return value.astype(dtype, copy=False)
    low, high = limits(dtype)
    return np.clip(np.rint(value), low, high).astype(dtype)


def to_light_numpy(x: Array) -> Array:
    """What :func:`to_light` gives."""
    kind = real(x.dtype.name)
    return np.clip(x.astype(kind), 0, 1) if x.dtype.kind == "f" else x.astype(kind) / white(x.dtype.name)


def from_light_numpy(dtype: str, light: Array) -> Array:
    """What :func:`from_light` gives."""
    return rounded_numpy(dtype, np.clip(light, 0, 1) * white(dtype))


def surrounded_numpy(x: Array, radius: int, boundary: str) -> Array:
    """The image with ``radius`` pixels more on each side."""
    around = [(radius, radius)] * 2 + [(0, 0)] * (x.ndim - 2)
    return np.pad(x, around, mode=BOUNDARIES[boundary][1])  # type: ignore[call-overload]


def shifted_numpy(x: Array, radius: int, axis: int) -> Iterator[Array]:
    """Views of ``x`` that are shifted along an axis by 0 to ``2 * radius``, and shorter by that."""
    for shift in range(2 * radius + 1):
        yield x[(slice(None),) * axis + (slice(shift, shift + x.shape[axis] - 2 * radius),)]

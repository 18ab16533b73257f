"""Local contrast of images, by pyramids of Laplacians."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.image_tone import BLUE, GREEN, RED
from loopwright.ops.images import (
    from_light,
    from_light_numpy,
    image,
    pixels,
    to_light,
    to_light_numpy,
)
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import repeat_edge
from loopwright.sched.language.builders import cast, compute, max, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.extents import same
from loopwright.sched.language.mathfns import abs, exp
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Input, Stage
from loopwright.sched.reference.numbers import Array

# Added to light where its ratios are kept: black has none.
DARK = 0.01
Line = Callable[[Expr], Expr]


def _down(at: Line) -> Line:
    """Every second element of a row, after blurring it by 1 3 3 1."""
    return lambda i: (at(i * 2 - 1) + (at(i * 2) + at(i * 2 + 1)) * 3 + at(i * 2 + 2)) * 0.125


def _up(at: Line) -> Line:
    """A row of twice the length, by linear interpolation."""
    return lambda i: at(i // 2 - 1 + i % 2 * 2) * 0.25 + at(i // 2) * 0.75


def _resampled(how: Callable[[Line], Line], of: Stage) -> Callable[..., Expr]:
    """A stage whose last two axes are a row and a column, resampled along both; its edges are repeated."""
    rank = len(of.shape)
    at = repeat_edge(of, (rank - 2, rank - 1))

    def element(*place: Expr) -> Expr:
        *outer, y, x = place

        def of(i: Expr, j: Expr) -> Expr:
            index = (*outer, i, j)
            return at[index]

        return how(lambda i: how(lambda j: of(i, j))(x))(y)

    return element


def _pyramid(name: str, base: Stage, levels: int) -> list[Stage]:
    """A stage, and under it stages of half the rows and columns each, rounded up."""
    found = [base]
    for level in range(1, levels):
        *outer, rows, columns = found[-1].shape
        shape = (*outer, (rows + 1) // 2, (columns + 1) // 2)
        axes = [axis.name for axis in base.axes]
        found.append(compute(f"{name}{level}", shape, _resampled(_down, found[-1]), axes=axes))
    return found


def _resized_numpy(x: Array, rows: Array, columns: Array, weights: Array) -> Array:
    """Weighted sums of the elements at ``rows`` and ``columns`` (outputs, taps), the nearest where these are outside."""
    rows, columns = (np.clip(at, 0, size - 1) for at, size in zip((rows, columns), x.shape[-2:], strict=True))
    tall = (x[..., rows, :] * weights[:, None]).sum(-2)
    return np.asarray((tall[..., columns] * weights).sum(-1))


def _down_numpy(x: Array) -> Array:
    rows, columns = (2 * np.arange((size + 1) // 2)[:, None] + np.arange(-1, 3) for size in x.shape[-2:])
    return _resized_numpy(x, rows, columns, np.array([1, 3, 3, 1], x.dtype) / 8)


def _up_numpy(x: Array, shape: tuple[int, ...]) -> Array:
    rows, columns = (
        np.stack([n // 2 - 1 + n % 2 * 2, n // 2], axis=1) for n in (np.arange(size) for size in shape[-2:])
    )
    return _resized_numpy(x, rows, columns, np.array([1, 3], x.dtype) / 4)


def local_laplacian_numpy(
    x: Array, *, alpha: float, beta: float, tones: int, levels: int, dtype: str
) -> Array:
    """What :func:`local_laplacian` computes."""
    light = to_light_numpy(x)
    grey = light if x.ndim == 2 else light[..., 0] * RED + light[..., 1] * GREEN + light[..., 2] * BLUE
    steps, k = tones - 1, np.arange(tones)[:, None, None].astype(grey.dtype)
    distance = grey * steps - k
    greys, remapped = [grey], [(k + distance * (beta + alpha * np.exp(distance**2 / -2))) / steps]
    for _ in range(levels - 1):
        greys.append(_down_numpy(greys[-1]))
        remapped.append(_down_numpy(remapped[-1]))
    out = np.zeros((1, 1), grey.dtype)
    for level in reversed(range(levels)):
        detail = remapped[level]
        if level + 1 < levels:
            detail = detail - _up_numpy(remapped[level + 1], detail.shape)
            out = _up_numpy(out, greys[level].shape)
        near = np.maximum(0, 1 - np.abs(greys[level] * steps - k))
        out = out + (near * detail).sum(0)
    if x.ndim == 3:
        out = (out[..., None] + DARK) * ((light + DARK) / (grey[..., None] + DARK)) - DARK
    return from_light_numpy(dtype, out)


@operator(numpy=local_laplacian_numpy)
def local_laplacian(
    X: Shape, alpha: float = 1.0, beta: float = 1.0, tones: int = 8, levels: int = 4, dtype: str = "uint8"
) -> Stage:
    """``Y[y, x] = the image whose Laplacian pyramid, near tone k, is that of X remapped around k``: contrast, without halos.

    Input: ``X``, a grey image of (H, W) or one of (H, W, 3). It is remapped around ``tones`` tones from black to white: a pixel
    that is d steps brighter than tone k becomes k + d * (beta + alpha * exp(-d ** 2 / 2)). ``alpha`` adds contrast to detail
    (less than 0 takes it away), ``beta`` is the contrast of the whole; 0 and 1 change nothing.

    Stages: ``grey0``, ``grey1`` ..., the Gaussian pyramid of the image's brightness, of ``levels`` levels (axes ``y``, ``x``),
    each of half the rows and columns of the one before; ``tones0``, ``tones1`` ..., those of the remapped images (axes ``k``,
    ``y``, ``x``); ``out0``, ``out1`` ..., the result from each level down (axes ``y``, ``x``, reduction ``k``); and the output
    ``Y`` of X's shape and dtype, axes ``y``, ``x`` and, with colours, ``c``; colours keep their ratios. Images are blurred by
    1 3 3 1 before rows and columns are left out, and their edges are repeated at each level. ``dtype`` is uint8, uint16 or a
    float, whose pixels are held to 0 to 1; all is computed in float32 (of float64 in float64).
    Source: Paris, Hasinoff and Kautz, "Local Laplacian filters", SIGGRAPH (2011), as in Halide's example of that name.
    """
    for name, value, least in (("tones", tones, 2), ("levels", levels, 1)):
        if value < least:
            raise DefinitionError(f"local_laplacian: {name}={value} is less than {least}")
    picture = image("local_laplacian", X, dtype)
    if len(picture.shape) == 3 and not same(picture.shape[2], 3):
        raise DefinitionError(
            f"local_laplacian: X={X!r} has {picture.shape[2]} colours, not red, green and blue"
        )
    greys = _pyramid("grey", compute("grey0", picture.shape[:2], _brightness(picture), axes="y x"), levels)
    remapped = _pyramid("tones", _remapped(greys[0], alpha, beta, tones), levels)
    out = _collapsed(greys, remapped)

    def pixel(*place: Axis) -> Expr:
        if len(place) == 2:
            return from_light(dtype, out[place])
        ratio = (to_light(picture[place]) + DARK) / (greys[0][place[:2]] + DARK)
        return from_light(dtype, (out[place[:2]] + DARK) * ratio - DARK)

    return pixels("Y", picture.shape, pixel)


def _brightness(picture: Input) -> Callable[..., Expr]:
    """The light of a pixel; of one with colours, their luma."""
    if len(picture.shape) == 2:
        return lambda y, x: to_light(picture[y, x])

    def luma(y: Axis, x: Axis) -> Expr:
        red, green, blue = (to_light(picture[y, x, c]) for c in range(3))
        return red * RED + green * GREEN + blue * BLUE

    return luma


def _remapped(grey: Stage, alpha: float, beta: float, tones: int) -> Stage:
    """The image with another contrast around each tone."""

    def element(k: Axis, y: Axis, x: Axis) -> Expr:
        tone = cast(grey.dtype, k)
        distance = grey[y, x] * (tones - 1) - tone
        return (tone + distance * (exp(distance * distance * -0.5) * alpha + beta)) * (1 / (tones - 1))

    return compute("tones0", (tones, *grey.shape), element)


def _collapsed(greys: list[Stage], remapped: list[Stage]) -> Stage:
    """The image made of details of the remapped ones, from the coarsest level to the finest."""
    out = None
    for level in reversed(range(len(greys))):
        finer, coarser = remapped[level], remapped[level + 1] if out is not None else None
        out = compute(f"out{level}", greys[level].shape, _mixed(greys[level], finer, coarser, out))
    assert out is not None
    return out


def _mixed(grey: Stage, finer: Stage, coarser: Stage | None, below: Stage | None) -> Callable[..., Expr]:
    """A level of the result: details of the remapped images, on top of the level below.

    At a pixel between two tones, the details of these two are mixed: the weight of all others is 0.
    """
    tones = finer.shape[0]
    k = reduce_axis("k", tones)

    def element(y: Axis, x: Axis) -> Expr:
        near = max(1 - abs(grey[y, x] * (tones - 1) - cast(grey.dtype, k)), 0)
        if coarser is None or below is None:
            return sum(near * finer[k, y, x], over=k)
        detail = finer[k, y, x] - _resampled(_up, coarser)(k, y, x)
        return sum(near * detail, over=k) + _resampled(_up, below)(y, x)

    return element

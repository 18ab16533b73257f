"""Recursive filters of images: a blur of any width at the same cost."""

from __future__ import annotations

from loopwright.ops.broadcast import Shape
from loopwright.ops.images import image, pixels, real
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, reduce_axis
from loopwright.sched.language.expr import Expr, Extent
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def iir_blur_numpy(x: Array, *, alpha: float, dtype: str) -> Array:
    """What :func:`iir_blur` computes, a row or a column at a time."""
    y = x.astype(real(dtype))
    for lines in (y, y.swapaxes(0, 1)):
        for line in (lines, lines[::-1]):
            for now, before in zip(line[1:], line[:-1], strict=True):
                now[...] = before + (now - before) * alpha
    return y


@operator(numpy=iir_blur_numpy)
def iir_blur(X: Shape, alpha: float = 0.5, dtype: str = "uint8") -> Stage:
    """``Y[y] = Y[y - 1] + alpha * (X[y] - Y[y - 1])``, down all columns, up again, then along all rows, there and back.

    Input: ``X``, an image of (H, W) or (H, W, C). Output: stage ``Y`` of X's shape, axes ``y``, ``x`` and, with colours, ``c``;
    float32, or float64 of float64. Its updates run down (over ``t``), up, right and left: ``Y.u0`` to ``Y.u3``. ``alpha`` is
    above 0 and at most 1; the smaller it is, the wider the blur, which falls off by a factor of ``1 - alpha`` with each pixel.
    The first pixel of each pass stays as it is, as if it were repeated before. ``dtype`` is that of ``box_filter``.
    Source: Young and van Vliet, "Recursive implementation of the Gaussian filter", Signal Processing 44 (1995).
    """
    if not 0 < alpha <= 1:
        raise DefinitionError(f"iir_blur: alpha={alpha} is not above 0 and at most 1")
    x = image("iir_blur", X, dtype)
    H, W = x.shape[:2]
    blurred = pixels("Y", x.shape, lambda *place: cast(real(dtype), x[place]))
    for last, back in ((H - 1, False), (H - 1, True)):
        blurred = _along_columns(blurred, last, back, alpha)
    for last, back in ((W - 1, False), (W - 1, True)):
        blurred = _along_rows(blurred, last, back, alpha)
    return blurred


def _along_columns(image: Stage, last: Extent, back: bool, alpha: float) -> Stage:
    """One pass along all columns; these are independent of each other."""
    t = reduce_axis("t", last)
    before, now = (last - t, last - t - 1) if back else (t, t + 1)

    def step(*others: Expr) -> tuple[tuple[Expr, ...], Expr]:
        at, behind = (now, *others), (before, *others)
        return at, image[behind] + (image[at] - image[behind]) * alpha

    if len(image.shape) == 2:
        return image.update(lambda x: step(x), over=t)
    return image.update(lambda x, c: step(x, c), over=t)


def _along_rows(image: Stage, last: Extent, back: bool, alpha: float) -> Stage:
    """One pass along all rows; these are independent of each other."""
    t = reduce_axis("t", last)
    before, now = (last - t, last - t - 1) if back else (t, t + 1)

    def step(y: Expr, *color: Expr) -> tuple[tuple[Expr, ...], Expr]:
        at, behind = (y, now, *color), (y, before, *color)
        return at, image[behind] + (image[at] - image[behind]) * alpha

    if len(image.shape) == 2:
        return image.update(lambda y: step(y), over=t)
    return image.update(lambda y, c: step(y, c), over=t)

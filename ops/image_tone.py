"""The tones of images: grey from colours, and histograms made even."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.images import image, real, rounded, rounded_numpy, white
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, compute, const, max, min, reduce_axis
from loopwright.sched.language.expr import Axis, Expr, select
from loopwright.sched.language.extents import same
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

# What red, green and blue add to brightness, of ITU-R BT.601.
RED, GREEN, BLUE = 0.299, 0.587, 0.114


def luma_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`luma` computes."""
    red, green, blue = np.moveaxis(x.astype(real(dtype)), -1, 0)
    return rounded_numpy(dtype, red * RED + green * GREEN + blue * BLUE)


@operator(numpy=luma_numpy)
def luma(X: Shape, dtype: str = "uint8") -> Stage:
    """``Y[y, x] = 0.299 * X[y, x, 0] + 0.587 * X[y, x, 1] + 0.114 * X[y, x, 2]``: the brightness of red, green and blue.

    Input: ``X``, an image of (H, W, 3). Output: stage ``Y`` of (H, W), axes ``y``, ``x``, of X's dtype: uint8, uint16 or a float.
    It is computed in float32 (of float64 in float64); integers are rounded to the nearest. Source: ITU-R BT.601.
    """
    x = image("luma", X, dtype, ranks=(3,))
    if not same(x.shape[2], 3):
        raise DefinitionError(f"luma: X={X!r} has {x.shape[2]} colours, not red, green and blue")

    def brightness(i: Axis, j: Axis) -> Expr:
        red, green, blue = (cast(real(dtype), x[i, j, c]) for c in range(3))
        return rounded(dtype, red * RED + green * GREEN + blue * BLUE)

    return compute("Y", x.shape[:2], brightness, axes="y x")


def equalize_histogram_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`equalize_histogram` computes."""
    cdf = np.bincount(x.ravel(), minlength=white(dtype) + 1).cumsum()
    darkest = cdf[cdf > 0][0]
    spread = x.size - darkest
    if spread == 0:
        return x.copy()
    lut = (np.maximum(cdf - darkest, 0) * white(dtype) + spread // 2) // spread
    return np.asarray(lut.astype(dtype)[x])


@operator(numpy=equalize_histogram_numpy)
def equalize_histogram(X: Shape, dtype: str = "uint8") -> Stage:
    """``Y[y, x] = white * (cdf[X[y, x]] - cdf[darkest]) / (H * W - cdf[darkest])``: every tone as frequent as any other.

    Input: ``X``, a grey image of (H, W), uint8 (white is 255) or uint16 (65535). Stages: ``hist``, how many pixels have each tone
    (axis ``v``; its update runs over ``y``, ``x``); ``cdf``, its running sums; ``darkest``, the sum at the darkest tone there is;
    ``lut``, what each tone becomes, to the nearest, halves up; and the output ``Y`` of X's shape and dtype, axes ``y``, ``x``. An
    image of one tone stays as it is.
    """
    image_ = image("equalize_histogram", X, dtype, ranks=(2,), kinds=("uint8", "uint16"))
    (H, W), tones = image_.shape, white(dtype) + 1
    y, x = reduce_axis("y", H), reduce_axis("x", W)
    hist = compute("hist", (tones,), lambda v: const(0, "int32"))
    hist = hist.update(lambda old: old + 1, at=cast("int32", image_[y, x]), over=(y, x))
    t = reduce_axis("t", tones - 1)
    cdf = compute("cdf", (tones,), lambda v: hist[v])
    cdf = cdf.update(lambda: (t + 1, cdf[t + 1] + cdf[t]), over=t)
    u = reduce_axis("u", tones)
    darkest = compute("darkest", (), lambda: min(select(cdf[u] > 0, cdf[u], H * W), over=u))

    def tone(v: Axis) -> Expr:
        spread = cast("int64", H * W - darkest[()])
        even = (cast("int64", max(cdf[v] - darkest[()], 0)) * white(dtype) + spread // 2) // spread
        return cast(dtype, select(spread == 0, cast("int64", v), even))

    lut = compute("lut", (tones,), tone)
    return compute("Y", (H, W), lambda i, j: lut[cast("int32", image_[i, j])], axes="y x")

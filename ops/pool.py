"""Pooling: the greatest or the mean of the elements in a window."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loopwright.ops.windows import (
    Padding,
    Steps,
    arranged,
    axis_names,
    channels_last,
    pad_numpy,
    slide_numpy,
    windows,
    with_padding,
)
from loopwright.sched.dtypes import accumulator, is_float, limits
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import constant_exterior
from loopwright.sched.language.builders import cast, compute, input, max, min, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

TAPS = ("t", "r", "s")


def _lowest(dtype: str) -> int | float:
    """What is below every element: the padding of a maximum."""
    return -float("inf") if is_float(dtype) else limits(dtype)[0]


def _max_pool(
    where: str,
    sizes: Mapping[str, int],
    batch: tuple[int, int],
    taps: tuple[int, ...],
    stride: Steps,
    padding: Padding,
    dilation: Steps,
    layout: str,
    dtype: str,
) -> Stage:
    (N, C), last = batch, channels_last(where, layout, len(sizes))
    around = windows(where, sizes, taps, stride or taps, padding, dilation)
    names = [name.lower() for name in sizes]
    X = input("X", arranged(last, N, list(sizes.values()), C), dtype)
    P = with_padding(X, around, last, names, lambda x, dims: constant_exterior(x, _lowest(dtype), dims))
    steps = [reduce_axis(name, count) for name, count in zip(TAPS[-len(taps) :], taps, strict=True)]

    def value(*axes: Axis) -> Expr:
        n, spatial, c = (axes[0], axes[1:-1], axes[-1]) if last else (axes[0], axes[2:], axes[1])
        places = [window.at(i, step) for window, i, step in zip(around, spatial, steps, strict=True)]
        return max(P[arranged(last, n, places, c)], over=tuple(steps))

    return compute(
        "Y", arranged(last, N, [w.outputs for w in around], C), value, axes=axis_names(last, names, "c")
    )


def max_pool_numpy(
    x: Array,
    *,
    T: int = 0,
    R: int = 0,
    S: int = 0,
    stride: Steps,
    padding: Padding,
    dilation: Steps,
    layout: str,
    dtype: str,
) -> Array:
    """What the maxima of windows are."""
    rank = x.ndim - 2
    taps = (T, R, S)[-rank:]
    last = channels_last("max_pool", layout, rank)
    x = x if last else np.moveaxis(x, 1, -1)
    sizes = {str(dim): size for dim, size in enumerate(x.shape[1:-1])}
    around = windows("max_pool", sizes, taps, stride or taps, padding, dilation)
    if any(window.before or window.after for window in around):
        x = pad_numpy(x, around, constant_values=_lowest(dtype))
    out = slide_numpy(x, around).max(axis=tuple(range(-rank, 0)))
    return np.ascontiguousarray(out if last else np.moveaxis(out, -1, 1))


def _avg_pool(
    where: str,
    sizes: Mapping[str, int],
    batch: tuple[int, int],
    taps: tuple[int, ...],
    stride: Steps,
    padding: Padding,
    count_include_pad: bool,
    layout: str,
    dtype: str,
) -> Stage:
    (N, C), last = batch, channels_last(where, layout, len(sizes))
    check_floats(where, dtype)
    around = windows(where, sizes, taps, stride or taps, padding, 1)
    names, wide = [name.lower() for name in sizes], accumulator(dtype)
    X = input("X", arranged(last, N, list(sizes.values()), C), dtype)
    P = with_padding(X, around, last, names, lambda x, dims: constant_exterior(x, 0, dims))
    steps = [reduce_axis(name, count) for name, count in zip(TAPS[-len(taps) :], taps, strict=True)]

    def value(*axes: Axis) -> Expr:
        n, spatial, c = (axes[0], axes[1:-1], axes[-1]) if last else (axes[0], axes[2:], axes[1])
        places = [window.at(i, step) for window, i, step in zip(around, spatial, steps, strict=True)]
        total = sum(P[arranged(last, n, places, c)], over=tuple(steps))
        count: Expr | int = 1
        for window, i in zip(around, spatial, strict=True):
            inside: Expr | int = window.taps
            if not count_include_pad and (window.before or window.after):
                first = i * window.stride - window.before
                inside = min(first + window.taps, window.size) - max(first, 0)
            count = inside * count
        return cast(dtype, total / (cast(wide, count) if isinstance(count, Expr) else count))

    return compute(
        "Y", arranged(last, N, [w.outputs for w in around], C), value, axes=axis_names(last, names, "c")
    )


def avg_pool_numpy(
    x: Array,
    *,
    T: int = 0,
    R: int = 0,
    S: int = 0,
    stride: Steps,
    padding: Padding,
    count_include_pad: bool,
    layout: str,
    dtype: str,
) -> Array:
    """What the means of windows are."""
    rank, wide = x.ndim - 2, accumulator(dtype)
    taps = (T, R, S)[-rank:]
    last = channels_last("avg_pool", layout, rank)
    x = (x if last else np.moveaxis(x, 1, -1)).astype(wide, copy=False)
    sizes = {str(dim): size for dim, size in enumerate(x.shape[1:-1])}
    around = windows("avg_pool", sizes, taps, stride or taps, padding, 1)
    axes = tuple(range(-rank, 0))
    ones = slide_numpy(pad_numpy(np.ones((1, *x.shape[1:-1], 1), wide), around), around).sum(axis=axes)
    out = slide_numpy(pad_numpy(x, around), around).sum(axis=axes)
    out = (out / (np.prod(taps) if count_include_pad else ones)).astype(dtype, copy=False)
    return np.ascontiguousarray(out if last else np.moveaxis(out, -1, 1))


def check_floats(where: str, dtype: str) -> None:
    """Refuse the mean of anything but floats.

    Raises:
        DefinitionError: it is another dtype.
    """
    if not is_float(dtype):
        raise DefinitionError(f"{where}: a mean is of floats; got dtype={dtype!r}")


@operator(numpy=max_pool_numpy)
def max_pool1d(
    N: int,
    L: int,
    C: int,
    S: int,
    stride: Steps = 0,
    padding: Padding = "valid",
    dilation: Steps = 1,
    layout: str = "NWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, l, c] = max over s of X[n, l * stride + s * dilation, c]``.

    Input: ``X`` of (N, L, C); with ``layout="NCW"``, (N, C, L).
    Stages: ``padded`` (if there is padding) and the output ``Y``, axes ``n``, ``l``, ``c`` (reduction ``s``)
    in the order of the layout.
    The options are those of ``max_pool2d``.
    """
    return _max_pool("max_pool1d", {"L": L}, (N, C), (S,), stride, padding, dilation, layout, dtype)


@operator(numpy=max_pool_numpy)
def max_pool2d(
    N: int,
    H: int,
    W: int,
    C: int,
    R: int,
    S: int,
    stride: Steps = 0,
    padding: Padding = "valid",
    dilation: Steps = 1,
    layout: str = "NHWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, h, w, c] = max over r, s of X[n, h * stride + r * dilation, w * stride + s * dilation, c]``.

    Input: ``X`` of (N, H, W, C); with ``layout="NCHW"``, (N, C, H, W).
    Stages: ``padded`` (if there is padding) and the output ``Y``, axes ``n``, ``h``, ``w``, ``c`` (reduction ``r``, ``s``)
    in the order of the layout.
    ``stride`` 0 is the window's size; ``padding`` and ``dilation`` are those of ``conv2d``. What lies outside is below
    every number. Any dtype of numbers.
    """
    return _max_pool("max_pool2d", {"H": H, "W": W}, (N, C), (R, S), stride, padding, dilation, layout, dtype)


@operator(numpy=max_pool_numpy)
def max_pool3d(
    N: int,
    D: int,
    H: int,
    W: int,
    C: int,
    T: int,
    R: int,
    S: int,
    stride: Steps = 0,
    padding: Padding = "valid",
    dilation: Steps = 1,
    layout: str = "NDHWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, d, h, w, c] = max over t, r, s of X[n, d * stride + t * dilation, ..., c]``.

    Input: ``X`` of (N, D, H, W, C); with ``layout="NCDHW"``, (N, C, D, H, W).
    Stages: ``padded`` (if there is padding) and the output ``Y``, axes ``n``, ``d``, ``h``, ``w``, ``c``
    (reduction ``t``, ``r``, ``s``) in the order of the layout.
    The options are those of ``max_pool2d``.
    """
    return _max_pool(
        "max_pool3d", {"D": D, "H": H, "W": W}, (N, C), (T, R, S), stride, padding, dilation, layout, dtype
    )


@operator(numpy=avg_pool_numpy)
def avg_pool1d(
    N: int,
    L: int,
    C: int,
    S: int,
    stride: Steps = 0,
    padding: Padding = "valid",
    count_include_pad: bool = False,
    layout: str = "NWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, l, c] = mean over s of X[n, l * stride + s, c]``.

    Input: ``X`` of (N, L, C); with ``layout="NCW"``, (N, C, L).
    Stages: ``padded`` (if there is padding) and the output ``Y``, axes ``n``, ``l``, ``c`` (reduction ``s``)
    in the order of the layout.
    The options are those of ``avg_pool2d``.
    """
    return _avg_pool("avg_pool1d", {"L": L}, (N, C), (S,), stride, padding, count_include_pad, layout, dtype)


@operator(numpy=avg_pool_numpy)
def avg_pool2d(
    N: int,
    H: int,
    W: int,
    C: int,
    R: int,
    S: int,
    stride: Steps = 0,
    padding: Padding = "valid",
    count_include_pad: bool = False,
    layout: str = "NHWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, h, w, c] = mean over r, s of X[n, h * stride + r, w * stride + s, c]``.

    Input: ``X`` of (N, H, W, C); with ``layout="NCHW"``, (N, C, H, W).
    Stages: ``padded`` (if there is padding) and the output ``Y``, axes ``n``, ``h``, ``w``, ``c`` (reduction ``r``, ``s``)
    in the order of the layout.
    ``stride`` 0 is the window's size; ``padding`` is that of ``conv2d``. The mean is of the elements inside the image, with
    ``count_include_pad`` of all the window's, zeros outside. Of floats; float16 and bfloat16 are summed in float32.
    """
    return _avg_pool(
        "avg_pool2d", {"H": H, "W": W}, (N, C), (R, S), stride, padding, count_include_pad, layout, dtype
    )


@operator(numpy=avg_pool_numpy)
def avg_pool3d(
    N: int,
    D: int,
    H: int,
    W: int,
    C: int,
    T: int,
    R: int,
    S: int,
    stride: Steps = 0,
    padding: Padding = "valid",
    count_include_pad: bool = False,
    layout: str = "NDHWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, d, h, w, c] = mean over t, r, s of X[n, d * stride + t, h * stride + r, w * stride + s, c]``.

    Input: ``X`` of (N, D, H, W, C); with ``layout="NCDHW"``, (N, C, D, H, W).
    Stages: ``padded`` (if there is padding) and the output ``Y``, axes ``n``, ``d``, ``h``, ``w``, ``c``
    (reduction ``t``, ``r``, ``s``) in the order of the layout.
    The options are those of ``avg_pool2d``.
    """
    return _avg_pool(
        "avg_pool3d",
        {"D": D, "H": H, "W": W},
        (N, C),
        (T, R, S),
        stride,
        padding,
        count_include_pad,
        layout,
        dtype,
    )

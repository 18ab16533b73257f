"""Depthwise convolutions: each channel is convolved by itself."""

from __future__ import annotations

import numpy as np

from loopwright.ops.conv import Options, epilogue, finished_numpy
from loopwright.ops.windows import (
    PADDING_MODES,
    Padding,
    Steps,
    arranged,
    axis_names,
    channels_last,
    outside_of,
    pad_numpy,
    slide_numpy,
    windows,
    with_padding,
)
from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import compute, input, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def depthwise_conv2d_numpy(
    x: Array,
    w: Array,
    *rest: Array,
    stride: Steps,
    padding: Padding,
    dilation: Steps,
    layout: str,
    padding_mode: str,
    bias: bool,
    activation: str,
    residual: bool,
    dtype: str,
) -> Array:
    """What :func:`depthwise_conv2d` computes."""
    last, wide = channels_last("depthwise_conv2d", layout, 2), accumulator(dtype)
    if not last:
        x, w = np.moveaxis(x, 1, -1), np.moveaxis(w, 0, -1)
    around = windows(
        "depthwise_conv2d", {"H": x.shape[1], "W": x.shape[2]}, w.shape[:2], stride, padding, dilation
    )
    if any(window.before or window.after for window in around):
        x = pad_numpy(x, around, mode=PADDING_MODES[padding_mode][1])
    out = np.einsum("nhwcrs,rsc->nhwc", slide_numpy(x, around).astype(wide), w.astype(wide))
    return finished_numpy(out, rest, last, bias, activation, residual, dtype)


@operator(numpy=depthwise_conv2d_numpy)
def depthwise_conv2d(
    N: int,
    H: int,
    W: int,
    C: int,
    R: int,
    S: int,
    stride: Steps = 1,
    padding: Padding = "valid",
    dilation: Steps = 1,
    layout: str = "NHWC",
    padding_mode: str = "zeros",
    bias: bool = False,
    activation: str = "none",
    residual: bool = False,
    dtype: str = "float32",
) -> Stage:
    """``Y[n, h, w, c] = sum over r, s of X[n, h * stride + r * dilation, w * stride + s * dilation, c] * W[r, s, c]``.

    Inputs: ``X`` of (N, H, W, C) and the weights ``W`` of (R, S, C); with ``layout="NCHW"``, (N, C, H, W) and (C, R, S). The
    options, and the inputs ``bias`` of (C,) and ``residual`` of the output's shape, are those of ``conv2d``. Stages:
    ``padded`` (the input with its padding, if there is any) and the output ``Y`` of (N, H', W', C), axes ``n``, ``h``, ``w``,
    ``c`` (reduction ``r``, ``s``) in the order of the layout.
    Source: Howard et al., "MobileNets", arXiv:1704.04861.
    """
    where = "depthwise_conv2d"
    last = channels_last(where, layout, 2)
    around = windows(where, {"H": H, "W": W}, (R, S), stride, padding, dilation)
    X = input("X", arranged(last, N, (H, W), C), dtype)
    weights = input("W", (R, S, C) if last else (C, R, S), dtype)
    P = with_padding(X, around, last, "hw", outside_of(where, padding_mode))
    outputs = arranged(last, N, [window.outputs for window in around], C)
    how = Options(stride, padding, dilation, C, layout, padding_mode, bias, activation, residual, dtype)
    finished = epilogue(where, C, outputs, how)
    r, s = reduce_axis("r", R), reduce_axis("s", S)
    rows, columns = around

    def value(*axes: Axis) -> Expr:
        n, h, w, c = axes if last else (axes[0], axes[2], axes[3], axes[1])
        pixel = P[arranged(last, n, (rows.at(h, r), columns.at(w, s)), c)]
        return finished(sum(pixel * weights[(r, s, c) if last else (c, r, s)], over=(r, s)), c, axes)

    return compute("Y", outputs, value, axes=axis_names(last, "hw", "c"))

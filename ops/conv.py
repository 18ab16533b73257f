"""Convolutions in one, two and three dimensions: strided, dilated, grouped, with any padding, in both layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from loopwright.ops.activation import activate, activate_numpy
from loopwright.ops.operands import Pair, both, common, summed_in
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
from loopwright.sched.dtypes import is_float
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

# Names of the taps of a window, innermost last.
TAPS = ("t", "r", "s")


def result(dtype: Pair) -> str:
    """The dtype of a convolution: the inputs' own of floats, the accumulator's of integers."""
    return common(dtype) if is_float(common(dtype)) else summed_in(dtype)


@dataclass(frozen=True)
class Options:
    """How a convolution slides, and what follows it; as the operators take them."""

    stride: Steps
    padding: Padding
    dilation: Steps
    groups: int
    layout: str
    padding_mode: str
    bias: bool
    activation: str
    residual: bool
    dtype: Pair


def _convolution(
    where: str, sizes: Mapping[str, int], channels: tuple[int, int, int], taps: tuple[int, ...], how: Options
) -> Stage:
    """A convolution of any rank; ``channels`` are the batch, and how many channels go in and come out."""
    N, C, K = channels
    last = channels_last(where, how.layout, len(sizes))
    check_groups(where, how.groups, C, K)
    around = windows(where, sizes, taps, how.stride, how.padding, how.dilation)
    names, own, others = [name.lower() for name in sizes], C // how.groups, K // how.groups
    kind, weights_kind = both(where, how.dtype)
    X = input("X", arranged(last, N, list(sizes.values()), C), kind)
    W = input("W", (*taps, own, K) if last else (K, own, *taps), weights_kind)
    P = with_padding(X, around, last, names, outside_of(where, how.padding_mode))
    outputs = arranged(last, N, [window.outputs for window in around], K)
    finished = epilogue(where, K, outputs, how)
    steps = [reduce_axis(name, count) for name, count in zip(TAPS[-len(taps) :], taps, strict=True)]
    c = reduce_axis("c", own)

    def value(*axes: Axis) -> Expr:
        n, spatial, k = (axes[0], axes[1:-1], axes[-1]) if last else (axes[0], axes[2:], axes[1])
        places = [window.at(i, step) for window, i, step in zip(around, spatial, steps, strict=True)]
        channel = c if how.groups == 1 else k // others * own + c
        pixel = P[arranged(last, n, places, channel)]
        weight = W[(*steps, c, k) if last else (k, c, *steps)]
        return finished(sum(pixel * weight, over=(*steps, c) if last else (c, *steps)), k, axes)

    return compute("Y", outputs, value, axes=axis_names(last, names, "k"))


def epilogue(
    where: str, K: int, outputs: tuple[int, ...], how: Options
) -> Callable[[Expr, Expr, tuple[Axis, ...]], Expr]:
    """What is done to a sum where it ends: bias, residual, activation."""
    out = result(how.dtype)
    bias = input("bias", (K,), out) if how.bias else None
    residual = input("residual", outputs, out) if how.residual else None

    def after(found: Expr, k: Expr, axes: tuple[Axis, ...]) -> Expr:
        if bias is not None:
            found = found + bias[k]
        if residual is not None:
            found = found + residual[axes]
        return cast(out, activate(how.activation, found, where))

    return after


def check_groups(where: str, groups: int, C: int, K: int) -> None:
    """Refuse groups that do not divide the channels.

    Raises:
        DefinitionError: they do not.
    """
    for count, what in ((C, f"C={C} channels"), (K, f"K={K} filters")):
        if groups < 1 or count % groups:
            raise DefinitionError(f"{where}: groups={groups} does not divide {what}")


def convolution_numpy(
    x: Array,
    w: Array,
    *rest: Array,
    stride: Steps,
    padding: Padding,
    dilation: Steps,
    groups: int,
    layout: str,
    padding_mode: str,
    bias: bool,
    activation: str,
    residual: bool,
    dtype: Pair,
) -> Array:
    """What the convolutions compute: for each group a product of matrices."""
    rank, wide = x.ndim - 2, summed_in(dtype)
    last = channels_last("convolution", layout, rank)
    if not last:
        x, w = np.moveaxis(x, 1, -1), np.moveaxis(w, (1, 0), (-2, -1))
    sizes = {str(dim): size for dim, size in enumerate(x.shape[1:-1])}
    around = windows("convolution", sizes, w.shape[:rank], stride, padding, dilation)
    if any(window.before or window.after for window in around):
        x = pad_numpy(x, around, mode=PADDING_MODES[padding_mode][1])
    out = _products(slide_numpy(x, around).astype(wide, copy=False), w.astype(wide, copy=False), groups)
    return finished_numpy(out, rest, last, bias, activation, residual, dtype)


def finished_numpy(
    out: Array, rest: tuple[Array, ...], last: bool, bias: bool, activation: str, residual: bool, dtype: Pair
) -> Array:
    """What :func:`epilogue` does, to sums with channels last; the result lies in the layout asked for."""
    arrays = list(rest)
    if bias:
        out += arrays.pop(0)
    if residual:
        out += arrays[0] if last else np.moveaxis(arrays[0], 1, -1)
    out = activate_numpy(activation, out).astype(result(dtype), copy=False)
    return out if last else np.ascontiguousarray(np.moveaxis(out, -1, 1))


def _products(views: Array, w: Array, groups: int) -> Array:
    """The sums over taps and channels, of views (batch, outputs ..., channels, taps ...) and weights (taps ..., channels, k)."""
    rank = w.ndim - 2
    channel, taps = rank + 1, range(rank + 2, 2 * rank + 2)
    found = [
        np.tensordot(mine, weights, ((channel, *taps), (rank, *range(rank))))
        for mine, weights in zip(
            np.split(views, groups, axis=channel), np.split(w, groups, axis=-1), strict=True
        )
    ]
    return np.concatenate(found, axis=-1)


@operator(numpy=convolution_numpy)
def conv1d(
    N: int,
    L: int,
    C: int,
    K: int,
    S: int,
    stride: Steps = 1,
    padding: Padding = "valid",
    dilation: Steps = 1,
    groups: int = 1,
    layout: str = "NWC",
    padding_mode: str = "zeros",
    bias: bool = False,
    activation: str = "none",
    residual: bool = False,
    dtype: Pair = "float32",
) -> Stage:
    """``Y[n, l, k] = sum over s, c of X[n, l * stride + s * dilation, c] * W[s, c, k]``.

    Inputs: ``X`` of (N, L, C) and the weights ``W`` of (S, C / groups, K);
    with ``layout="NCW"``, (N, C, L) and (K, C / groups, S).
    ``bias`` adds ``bias`` of (K,), ``residual`` adds ``residual`` of the output's shape, then ``activation`` is one of those
    of ``dense``; all run where the sum ends. Stages: ``padded`` (the input with its padding, if there is any) and the
    output ``Y`` of (N, L', K), axes ``n``, ``l``, ``k`` (reduction ``s``, ``c``) in
    the order of the layout.
    The options are those of ``conv2d``.
    """
    how = Options(stride, padding, dilation, groups, layout, padding_mode, bias, activation, residual, dtype)
    return _convolution("conv1d", {"L": L}, (N, C, K), (S,), how)


@operator(numpy=convolution_numpy)
def conv2d(
    N: int,
    H: int,
    W: int,
    C: int,
    K: int,
    R: int,
    S: int,
    stride: Steps = 1,
    padding: Padding = "valid",
    dilation: Steps = 1,
    groups: int = 1,
    layout: str = "NHWC",
    padding_mode: str = "zeros",
    bias: bool = False,
    activation: str = "none",
    residual: bool = False,
    dtype: Pair = "float32",
) -> Stage:
    """``Y[n, h, w, k] = sum over r, s, c of X[n, h * stride + r * dilation, w * stride + s * dilation, c] * W[r, s, c, k]``.

    Inputs: ``X`` of (N, H, W, C) and the weights ``W`` of (R, S, C / groups, K);
    with ``layout="NCHW"``, (N, C, H, W) and (K, C / groups, R, S).
    ``bias`` adds ``bias`` of (K,), ``residual`` adds ``residual`` of the output's shape, then ``activation`` is one of those
    of ``dense``; all run where the sum ends. Stages: ``padded`` (the input with its padding, if there is any) and the
    output ``Y`` of (N, H', W', K), axes ``n``, ``h``, ``w``, ``k`` (reduction ``r``, ``s``, ``c``) in
    the order of the layout.

    ``stride`` and ``dilation`` are a number, or one for each dimension. ``padding`` is ``"valid"`` (none), ``"same"`` (an output
    for every stride), a number for all sides, or for each dimension a number or (before, after); ``padding_mode`` says what
    is there: ``zeros``, ``reflect``, ``replicate`` or ``circular``. With ``groups``, filter k reads only the channels of its
    group. Floats keep their dtype (float16 and bfloat16 are summed in float32); int8 gives int32, uint8 uint32. ``dtype``
    may be two, of ``X`` and of ``W``: ``("uint8", "int8")`` gives int32.
    Source: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", arXiv:1603.07285.

    >>> from loopwright import ops
    >>> ops.conv2d(N=1, H=56, W=56, C=64, K=64, R=3, S=3, padding="same", activation="relu").outputs[0].shape
    (1, 56, 56, 64)
    """
    how = Options(stride, padding, dilation, groups, layout, padding_mode, bias, activation, residual, dtype)
    return _convolution("conv2d", {"H": H, "W": W}, (N, C, K), (R, S), how)


@operator(numpy=convolution_numpy)
def conv3d(
    N: int,
    D: int,
    H: int,
    W: int,
    C: int,
    K: int,
    T: int,
    R: int,
    S: int,
    stride: Steps = 1,
    padding: Padding = "valid",
    dilation: Steps = 1,
    groups: int = 1,
    layout: str = "NDHWC",
    padding_mode: str = "zeros",
    bias: bool = False,
    activation: str = "none",
    residual: bool = False,
    dtype: Pair = "float32",
) -> Stage:
    """``Y[n, d, h, w, k] = sum over t, r, s, c of X[n, d * stride + t * dilation, ..., c] * W[t, r, s, c, k]``.

    Inputs: ``X`` of (N, D, H, W, C) and the weights ``W`` of (T, R, S, C / groups, K);
    with ``layout="NCDHW"``, (N, C, D, H, W) and (K, C / groups, T, R, S).
    ``bias`` adds ``bias`` of (K,), ``residual`` adds ``residual`` of the output's shape, then ``activation`` is one of those
    of ``dense``; all run where the sum ends. Stages: ``padded`` (the input with its padding, if there is any) and the
    output ``Y`` of (N, D', H', W', K), axes ``n``, ``d``, ``h``, ``w``, ``k`` (reduction ``t``, ``r``, ``s``, ``c``) in
    the order of the layout.
    The options are those of ``conv2d``.
    """
    how = Options(stride, padding, dilation, groups, layout, padding_mode, bias, activation, residual, dtype)
    return _convolution("conv3d", {"D": D, "H": H, "W": W}, (N, C, K), (T, R, S), how)

"""Transposed convolutions, written so that each output reads only the inputs that reach it."""

from __future__ import annotations

import numpy as np

from loopwright.ops.conv import result
from loopwright.ops.windows import Window, arranged, axis_names, channels_last, outside_of, with_padding
from loopwright.sched.dtypes import accumulator
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import constant_exterior
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage, Tensor
from loopwright.sched.reference.numbers import Array


def conv_transpose2d_numpy(
    x: Array, w: Array, *rest: Array, stride: int, padding: int, output_padding: int, layout: str, dtype: str
) -> Array:
    """What :func:`conv_transpose2d` computes: every input adds its filters to the output."""
    last, wide = channels_last("conv_transpose2d", layout, 2), accumulator(dtype)
    if not last:
        x, w = np.moveaxis(x, 1, -1), np.moveaxis(w, (2, 3, 0, 1), (0, 1, 2, 3))
    (N, H, W, _), (R, S, _, K) = x.shape, w.shape
    full = np.zeros(
        (N, (H - 1) * stride + R + output_padding, (W - 1) * stride + S + output_padding, K), wide
    )
    for r in range(R):
        for s in range(S):
            rows, columns = (slice(at, at + (n - 1) * stride + 1, stride) for at, n in ((r, H), (s, W)))
            full[:, rows, columns] += x.astype(wide, copy=False) @ w[r, s].astype(wide, copy=False)
    out = full[:, padding : full.shape[1] - padding, padding : full.shape[2] - padding]
    if rest:
        out = out + rest[0]
    return np.ascontiguousarray((out if last else np.moveaxis(out, -1, 1)).astype(result(dtype), copy=False))


@operator(numpy=conv_transpose2d_numpy)
def conv_transpose2d(
    N: int,
    H: int,
    W: int,
    C: int,
    K: int,
    R: int,
    S: int,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    layout: str = "NHWC",
    bias: bool = False,
    dtype: str = "float32",
) -> Stage:
    """``Y[n, h, w, k] = sum over i, j, c of X[n, i, j, c] * W[h + padding - i * stride, w + padding - j * stride, c, k]``.

    The sum is over all i and j for which W has such an element. Inputs: ``X`` of (N, H, W, C) and the weights ``W`` of
    (R, S, C, K); with ``layout="NCHW"``, (N, C, H, W) and (C, K, R, S); with ``bias``, ``bias`` of (K,). Stages: ``padded``
    and ``filter`` (the input and the weights with the zeros that are read, if there are any) and the output ``Y`` of
    (N, H', W', K), where H' is (H - 1) * stride + R - 2 * padding + output_padding, axes ``n``, ``h``, ``w``, ``k``
    (reduction ``a``, ``b``, ``c``) in the order of the layout.

    What reaches an output are the inputs ``(h + padding) // stride - a``, for taps of the filter ``stride`` apart (the
    sub-pixel form): no multiplication by an inserted zero. Dtypes are those of ``conv2d``.
    Source: Shi et al., "Is the deconvolution layer the same as a convolutional layer?", arXiv:1609.07009.
    """
    where = "conv_transpose2d"
    last = channels_last(where, layout, 2)
    _check(where, stride, padding, output_padding)
    outputs = [(size - 1) * stride + taps - 2 * padding + output_padding for size, taps in ((H, R), (W, S))]
    if min(outputs) < 0:
        raise DefinitionError(f"{where}: padding={padding} takes more than the {R} x {S} filter adds")
    X = input("X", arranged(last, N, (H, W), C), dtype)
    weights = input("W", (R, S, C, K) if last else (C, K, R, S), dtype)
    added = input("bias", (K,), result(dtype)) if bias else None
    around = [
        _reached(size, -(-taps // stride), stride, padding, count)
        for size, taps, count in ((H, R, outputs[0]), (W, S, outputs[1]))
    ]
    P = with_padding(X, around, last, "hw", outside_of(where, "zeros"))
    F = _whole_filter(weights, R, S, stride, last)
    a, b, c = (
        reduce_axis(name, count) for name, count in zip("abc", (*(w.taps for w in around), C), strict=True)
    )

    def value(*axes: Axis) -> Expr:
        n, h, w, k = axes if last else (axes[0], axes[2], axes[3], axes[1])
        places = [
            (at + padding) // stride - step + window.before
            for at, step, window in zip((h, w), (a, b), around, strict=True)
        ]
        r, s = ((at + padding) % stride + step * stride for at, step in ((h, a), (w, b)))
        product = P[arranged(last, n, places, c)] * F[(r, s, c, k) if last else (c, k, r, s)]
        found = sum(product, over=(a, b, c) if last else (c, a, b))
        return cast(result(dtype), found if added is None else found + added[k])

    return compute("Y", arranged(last, N, outputs, K), value, axes=axis_names(last, "hw", "k"))


def _reached(size: int, taps: int, stride: int, padding: int, outputs: int) -> Window:
    """The inputs that the outputs read, ``taps`` each: what of them lies outside is padding."""
    first, last = padding // stride - (taps - 1), (outputs - 1 + padding) // stride
    return Window(size, taps, before=max(0, -first), after=max(0, last + 1 - size))


def _whole_filter(weights: Tensor, R: int, S: int, stride: int, last: bool) -> Tensor:
    """The filter with zeros after its last taps, so that ``stride`` divides it."""
    if R % stride == 0 and S % stride == 0:
        return weights
    shape, dims = list(weights.shape), (0, 1) if last else (2, 3)
    for dim in dims:
        shape[dim] = -(-int(shape[dim]) // stride) * stride
    bounded = constant_exterior(weights, 0, dims)
    return compute("filter", tuple(shape), lambda *axes: bounded[axes], axes="r s c k" if last else "c k r s")


def _check(where: str, stride: int, padding: int, output_padding: int) -> None:
    if stride < 1 or padding < 0:
        raise DefinitionError(f"{where}: stride={stride} is at least 1, and padding={padding} at least 0")
    if not 0 <= output_padding < stride:
        raise DefinitionError(
            f"{where}: output_padding={output_padding} is at least 0 and below stride={stride}"
        )

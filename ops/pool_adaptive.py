"""Pooling of whole images, and of windows that divide them into a given number."""

from __future__ import annotations

import builtins

import numpy as np

from loopwright.ops.pool import check_floats
from loopwright.ops.windows import arranged, axis_names, channels_last
from loopwright.sched.dtypes import accumulator
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, compute, const, input, max, min, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr, select
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def adaptive_avg_pool2d_numpy(x: Array, *, P: int, Q: int, layout: str, dtype: str) -> Array:
    """What :func:`adaptive_avg_pool2d` computes."""
    last, wide = channels_last("adaptive_avg_pool2d", layout, 2), accumulator(dtype)
    x = (x if last else np.moveaxis(x, 1, -1)).astype(wide, copy=False)
    out = np.zeros((x.shape[0], P, Q, x.shape[3]), wide)
    for i, j in np.ndindex(P, Q):
        part = x[:, slice(*_part(i, x.shape[1], P)), slice(*_part(j, x.shape[2], Q))]
        out[:, i, j] = part.sum(axis=(1, 2)) / (part.shape[1] * part.shape[2])
    return np.ascontiguousarray((out if last else np.moveaxis(out, -1, 1)).astype(dtype, copy=False))


def _part(i: int, size: int, parts: int) -> tuple[int, int]:
    """Where the i-th of ``parts`` windows begins and ends: together they cover all, and overlap by an element at most."""
    return i * size // parts, -(-(i + 1) * size // parts)


@operator(numpy=adaptive_avg_pool2d_numpy)
def adaptive_avg_pool2d(
    N: int, H: int, W: int, C: int, P: int, Q: int, layout: str = "NHWC", dtype: str = "float32"
) -> Stage:
    """``Y[n, h, w, c] = mean of X[n, y, x, c] over h * H // P <= y < ceil((h + 1) * H / P), and so for x``.

    Input: ``X`` of (N, H, W, C); with ``layout="NCHW"``, (N, C, H, W). Output: stage ``Y`` of (N, P, Q, C), axes ``n``, ``h``,
    ``w``, ``c`` (reduction ``r``, ``s``) in the order of the layout: P times Q windows that cover the image. Of floats; float16
    and bfloat16 are summed in float32. Source: PyTorch, ``torch.nn.AdaptiveAvgPool2d``.
    """
    where = "adaptive_avg_pool2d"
    check_floats(where, dtype)
    if builtins.min(P, Q, H, W) < 1:
        raise DefinitionError(f"{where}: {H} x {W} elements cannot be divided into {P} x {Q} windows")
    last, wide = channels_last(where, layout, 2), accumulator(dtype)
    X = input("X", arranged(last, N, (H, W), C), dtype)
    r, s = reduce_axis("r", _longest(H, P)), reduce_axis("s", _longest(W, Q))

    def value(*axes: Axis) -> Expr:
        n, h, w, c = axes if last else (axes[0], axes[2], axes[3], axes[1])
        (top, rows), (left, columns) = _bounds(h, H, P), _bounds(w, W, Q)
        # Where all windows are equally long, both tests are true, and nothing is asked.
        inside = (r < rows) & (s < columns)
        at = arranged(last, n, (min(top + r, H - 1), min(left + s, W - 1)), c)
        total = sum(select(inside, cast(wide, X[at]), const(0, wide)), over=(r, s))
        return cast(dtype, total / cast(wide, rows * columns))

    return compute("Y", arranged(last, N, (P, Q), C), value, axes=axis_names(last, "hw", "c"))


def _longest(size: int, parts: int) -> int:
    return builtins.max(end - start for start, end in (_part(i, size, parts) for i in range(parts)))


def _bounds(i: Expr, size: int, parts: int) -> tuple[Expr, Expr]:
    """Where a window begins, and how long it is."""
    if size % parts == 0:
        return i * (size // parts), const(size // parts, "int32")
    start = i * size // parts
    return start, (i * size + size + parts - 1) // parts - start


def global_avg_pool2d_numpy(x: Array, *, layout: str, dtype: str) -> Array:
    """What :func:`global_avg_pool2d` computes."""
    axes = (1, 2) if channels_last("global_avg_pool2d", layout, 2) else (2, 3)
    return np.asarray(x.mean(axis=axes, dtype=accumulator(dtype)).astype(dtype, copy=False))


@operator(numpy=global_avg_pool2d_numpy)
def global_avg_pool2d(N: int, H: int, W: int, C: int, layout: str = "NHWC", dtype: str = "float32") -> Stage:
    """``Y[n, c] = mean over r, s of X[n, r, s, c]``.

    Input: ``X`` of (N, H, W, C); with ``layout="NCHW"``, (N, C, H, W). Output: stage ``Y`` of (N, C), axes ``n``,
    ``c`` (reduction ``r``, ``s``). Of floats; float16 and bfloat16 are summed in float32.
    """
    check_floats("global_avg_pool2d", dtype)
    last = channels_last("global_avg_pool2d", layout, 2)
    X = input("X", arranged(last, N, (H, W), C), dtype)
    r, s = reduce_axis("r", H), reduce_axis("s", W)
    return compute(
        "Y",
        (N, C),
        lambda n, c: cast(dtype, sum(X[arranged(last, n, (r, s), c)], over=(r, s)) / (H * W)),
    )


def global_max_pool2d_numpy(x: Array, *, layout: str) -> Array:
    """What :func:`global_max_pool2d` computes."""
    return np.asarray(x.max(axis=(1, 2) if channels_last("global_max_pool2d", layout, 2) else (2, 3)))


@operator(numpy=global_max_pool2d_numpy)
def global_max_pool2d(N: int, H: int, W: int, C: int, layout: str = "NHWC", dtype: str = "float32") -> Stage:
    """``Y[n, c] = max over r, s of X[n, r, s, c]``.

    Input: ``X`` of (N, H, W, C); with ``layout="NCHW"``, (N, C, H, W). Output: stage ``Y`` of (N, C), axes ``n``,
    ``c`` (reduction ``r``, ``s``). Any dtype of numbers.
    """
    last = channels_last("global_max_pool2d", layout, 2)
    X = input("X", arranged(last, N, (H, W), C), dtype)
    r, s = reduce_axis("r", H), reduce_axis("s", W)
    return compute("Y", (N, C), lambda n, c: max(X[arranged(last, n, (r, s), c)], over=(r, s)))

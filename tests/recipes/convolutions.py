"""Convolutions of every kind as plain formulas, for the tests of recipes and sketches: padding is a stage of its own."""

from __future__ import annotations

from typing import Any

import loopwright as lw
from loopwright.sched.language.stage import Stage


def padded(data: Any, border: dict[int, int]) -> Any:
    """A stage with zeros around ``data``: so many on both sides of a dimension."""
    if not any(border.values()):
        return data
    around = lw.constant_exterior(data, 0.0)
    shape = tuple(size + 2 * border.get(dim, 0) for dim, size in enumerate(data.shape))
    before = [border.get(dim, 0) for dim in range(len(shape))]
    at = {
        3: lambda a, b, c: around[a - before[0], b - before[1], c - before[2]],
        4: lambda a, b, c, d: around[a - before[0], b - before[1], c - before[2], d - before[3]],
        5: lambda a, b, c, d, e: around[a, b - before[1], c - before[2], d - before[3], e - before[4]],
    }[len(shape)]
    return lw.compute("padded", shape, at)


@lw.operator
def nhwc(H: int, W: int, C: int, F: int, K: int, stride: int = 1, pad: int = 0, dilation: int = 1) -> Stage:
    """Channels last."""
    data, weight = lw.input("data", (1, H, W, C)), lw.input("weight", (K, K, C, F))
    p = padded(data, {1: pad, 2: pad})
    r, q, c = lw.reduce_axis("r", K), lw.reduce_axis("q", K), lw.reduce_axis("c", C)
    rows, columns = ((size + 2 * pad - dilation * (K - 1) - 1) // stride + 1 for size in (H, W))
    term = lambda n, y, x, f: (  # noqa: E731
        p[n, y * stride + r * dilation, x * stride + q * dilation, c] * weight[r, q, c, f]
    )
    return lw.compute(
        "out", (1, rows, columns, F), lambda n, y, x, f: lw.sum(term(n, y, x, f), over=(r, q, c))
    )


@lw.operator
def nchw(
    H: int, W: int, C: int, F: int, K: int, stride: int = 1, pad: int = 0, G: int = 1, N: int = 1
) -> Stage:
    """Channels first, in ``G`` groups."""
    data, weight = lw.input("data", (N, C, H, W)), lw.input("weight", (F, C // G, K, K))
    p = padded(data, {2: pad, 3: pad})
    c, r, q = lw.reduce_axis("c", C // G), lw.reduce_axis("r", K), lw.reduce_axis("q", K)
    rows, columns = ((size + 2 * pad - K) // stride + 1 for size in (H, W))
    channel = lambda f: c if G == 1 else f // (F // G) * (C // G) + c  # noqa: E731
    term = lambda n, f, y, x: p[n, channel(f), y * stride + r, x * stride + q] * weight[f, c, r, q]  # noqa: E731
    return lw.compute(
        "out", (N, F, rows, columns), lambda n, f, y, x: lw.max(lw.sum(term(n, f, y, x), over=(c, r, q)), 0.0)
    )


@lw.operator
def ncw(L: int, C: int, F: int, K: int, pad: int = 0) -> Stage:
    """One dimension, channels first."""
    data, weight = lw.input("data", (1, C, L)), lw.input("weight", (F, C, K))
    p = padded(data, {2: pad})
    c, r = lw.reduce_axis("c", C), lw.reduce_axis("r", K)
    return lw.compute(
        "out",
        (1, F, L + 2 * pad - K + 1),
        lambda n, f, x: lw.sum(p[n, c, x + r] * weight[f, c, r], over=(c, r)),
    )


@lw.operator
def ndhwc(S: int, C: int, F: int, K: int, pad: int = 0) -> Stage:
    """Three dimensions, channels last."""
    data, weight = lw.input("data", (1, S, S, S, C)), lw.input("weight", (K, K, K, C, F))
    p = padded(data, {1: pad, 2: pad, 3: pad})
    a, r, q = (lw.reduce_axis(name, K) for name in "arq")
    c = lw.reduce_axis("c", C)
    out = S + 2 * pad - K + 1
    return lw.compute(
        "out",
        (1, out, out, out, F),
        lambda n, z, y, x, f: lw.sum(p[n, z + a, y + r, x + q, c] * weight[a, r, q, c, f], over=(a, r, q, c)),
    )


@lw.operator
def transposed(H: int, C: int, F: int) -> Stage:
    """The transposed convolution of 4x4 and stride 2, channels first: four ordinary ones of 2x2, side by side."""
    data, weight = lw.input("data", (1, C, H, H)), lw.input("weight", (C, F, 4, 4))
    p = padded(data, {2: 1, 3: 1})
    c, r, q = lw.reduce_axis("c", C), lw.reduce_axis("r", 2), lw.reduce_axis("q", 2)
    return lw.compute(
        "out",
        (1, F, H, 2, H, 2),
        lambda n, f, y, i, x, j: lw.sum(
            p[n, c, y + i - r + 1, x + j - q + 1] * weight[c, f, 1 - i + 2 * r, 1 - j + 2 * q], over=(c, r, q)
        ),
    )


@lw.operator
def depthwise(H: int, W: int, C: int, K: int, stride: int = 1, pad: int = 0, first: bool = False) -> Stage:
    """A convolution of each channel by itself, with channels last or ``first``."""
    data = lw.input("data", (1, C, H, W) if first else (1, H, W, C))
    weight = lw.input("weight", (C, K, K) if first else (K, K, C))
    p = padded(data, {2: pad, 3: pad} if first else {1: pad, 2: pad})
    r, q = lw.reduce_axis("r", K), lw.reduce_axis("q", K)
    rows, columns = ((size + 2 * pad - K) // stride + 1 for size in (H, W))
    if first:
        term = lambda n, c, y, x: p[n, c, y * stride + r, x * stride + q] * weight[c, r, q]  # noqa: E731
        return lw.compute(
            "out", (1, C, rows, columns), lambda n, c, y, x: lw.sum(term(n, c, y, x), over=(r, q))
        )
    last = lambda n, y, x, c: p[n, y * stride + r, x * stride + q, c] * weight[r, q, c]  # noqa: E731
    return lw.compute("out", (1, rows, columns, C), lambda n, y, x, c: lw.sum(last(n, y, x, c), over=(r, q)))


@lw.operator
def pool(
    H: int,
    W: int,
    C: int,
    K: int,
    stride: int,
    first: bool = False,
    mean: bool = False,
    dtype: str = "float32",
) -> Stage:
    """The largest, or the mean, of each window."""
    data = lw.input("data", (1, C, H, W) if first else (1, H, W, C), dtype)
    r, q = lw.reduce_axis("r", K), lw.reduce_axis("q", K)
    over = lw.sum if mean else lw.max
    rows, columns = ((size - K) // stride + 1 for size in (H, W))
    if first:
        at = lambda n, c, y, x: data[n, c, y * stride + r, x * stride + q]  # noqa: E731
        return lw.compute("out", (1, C, rows, columns), lambda n, c, y, x: over(at(n, c, y, x), over=(r, q)))
    last = lambda n, y, x, c: data[n, y * stride + r, x * stride + q, c]  # noqa: E731
    return lw.compute("out", (1, rows, columns, C), lambda n, y, x, c: over(last(n, y, x, c), over=(r, q)))

"""Rows other than images in Halide's language, for its auto-schedulers. Dimensions of arrays come in the opposite order there."""

from __future__ import annotations

from typing import Any

import halide as hl

from benchmarks.suite.peers.given import Given
from benchmarks.suite.peers.layouts import convolution

Func = Any
Y, X, B, W, H, C, N = (hl.Var(name) for name in ("y", "x", "b", "w", "h", "c", "n"))
# What an auto-scheduler is given: a function, and the shape of its output as NumPy has it.
Formula = tuple[Func, tuple[int, ...]]


def func(*names: str) -> Any:
    """Functions without a definition."""
    made = [hl.Func(name) for name in names]
    return made if len(made) > 1 else made[0]


def product(given: Given) -> Formula | None:
    """A product of matrices, or one for each of a batch."""
    if not given.of_floats():
        return None
    a, b = given.arrays
    left, right = hl.Buffer(a), hl.Buffer(b)
    k = hl.RDom([(0, a.shape[-1])])
    total, out = func("total", "out")
    batch = (B,) if a.ndim == 3 else ()
    total[(X, Y, *batch)] = hl.f32(0)
    total[(X, Y, *batch)] += left[(k.x, Y, *batch)] * right[(X, k.x, *batch)]
    out[(X, Y, *batch)] = total[(X, Y, *batch)]
    return out, (*a.shape[:-1], b.shape[-1])


def conv(given: Given, depthwise: bool = False) -> Formula | None:
    """A convolution of images in the row's layout; weights lie as the row has them."""
    how = convolution(given, depthwise)
    if len(how.stride) != 2:
        return None
    x, w = given.arrays
    image = hl.BoundaryConditions.constant_exterior(hl.Buffer(x), hl.f32(0))
    weights = hl.Buffer(w)
    filters, own, rows, columns = how.w.shape
    over = hl.RDom([(0, columns), (0, rows), (0, own)])
    channel = C // (filters // how.groups) * own + over.z
    across = W * how.stride[1] + over.x * how.dilation[1] - how.padding[1]
    down = H * how.stride[0] + over.y * how.dilation[0] - how.padding[0]
    if how.last:
        tap = (C, over.x, over.y) if depthwise else (C, over.z, over.x, over.y)
    else:
        tap = (over.x, over.y, C) if depthwise else (over.x, over.y, over.z, C)

    def order(c: Any, across: Any, down: Any) -> tuple[Any, ...]:
        return (c, across, down, N) if how.last else (across, down, c, N)

    total, out = func("total", "out")
    total[order(C, W, H)] = hl.f32(0)
    total[order(C, W, H)] += image[order(channel, across, down)] * weights[tap]
    out[order(C, W, H)] = total[order(C, W, H)]
    height, width = (
        (how.x.shape[2 + n] + 2 * how.padding[n] - how.dilation[n] * (how.w.shape[2 + n] - 1) - 1)
        // how.stride[n]
        + 1
        for n in (0, 1)
    )
    return out, (1, height, width, filters) if how.last else (1, filters, height, width)


def softmax(given: Given) -> Formula:
    """Of each row."""
    (array,) = given.arrays
    x, k = hl.Buffer(array), hl.RDom([(0, array.shape[1])])
    most, power, total, out = func("most", "power", "total", "out")
    most[Y] = hl.maximum(x[k.x, Y])
    power[X, Y] = hl.exp(x[X, Y] - most[Y])
    total[Y] = hl.sum(power[k.x, Y])
    out[X, Y] = power[X, Y] / total[Y]
    return out, array.shape


def layer_norm(given: Given) -> Formula:
    """Of each row."""
    array = given.arrays[0]
    x, gamma, beta = map(hl.Buffer, given.arrays)
    count, k = hl.f32(array.shape[1]), hl.RDom([(0, array.shape[1])])
    mean, scale, out = func("mean", "scale", "out")
    mean[Y] = hl.sum(x[k.x, Y]) / count
    off = x[k.x, Y] - mean[Y]
    scale[Y] = hl.f32(1) / hl.sqrt(hl.sum(off * off) / count + hl.f32(given.options["eps"]))
    out[X, Y] = (x[X, Y] - mean[Y]) * scale[Y] * gamma[X] + beta[X]
    return out, array.shape


def rms_norm(given: Given) -> Formula:
    """Of each row."""
    array = given.arrays[0]
    x, gamma = map(hl.Buffer, given.arrays)
    count, k = hl.f32(array.shape[1]), hl.RDom([(0, array.shape[1])])
    scale, out = func("scale", "out")
    scale[Y] = hl.f32(1) / hl.sqrt(hl.sum(x[k.x, Y] * x[k.x, Y]) / count + hl.f32(given.options["eps"]))
    out[X, Y] = x[X, Y] * scale[Y] * gamma[X]
    return out, array.shape


def sums(given: Given) -> Formula:
    """Along an axis."""
    (array,), axis = given.arrays, given.options["axis"]
    x, k = hl.Buffer(array), hl.RDom([(0, array.shape[axis])])
    out = func("out")
    out[Y] = hl.sum(x[k.x, Y] if axis else x[Y, k.x])
    return out, (array.shape[1 - axis],)


def add_relu(given: Given) -> Formula:
    """Of vectors."""
    a, b = map(hl.Buffer, given.arrays)
    out = func("out")
    out[Y] = hl.max(a[Y] + b[Y], hl.f32(0))
    return out, given.arrays[0].shape


def transpose(given: Given) -> Formula:
    """Of a matrix."""
    (array,) = given.arrays
    a, out = hl.Buffer(array), func("out")
    out[X, Y] = a[Y, X]
    return out, (array.shape[1], array.shape[0])


KINDS = {
    "gemm": product,
    "gemm constant": product,
    "batched": product,
    "conv": conv,
    "depthwise": lambda given: conv(given, depthwise=True),
    "softmax": softmax,
    "layer norm": layer_norm,
    "rms norm": rms_norm,
    "sum": sums,
    "add+relu": add_relu,
    "transpose": transpose,
}

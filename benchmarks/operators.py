"""Operators that the benchmarks measure and the library does not have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import loopwright as lw


@lw.operator
def blur(H: int, W: int) -> Any:
    """Halide's first example: the mean of three columns, then of three rows, in the image's own uint16."""
    img = lw.input("img", (H + 2, W + 2), "uint16")
    bx = lw.compute("bx", (H + 2, W), lambda y, x: (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3)
    return lw.compute("by", (H, W), lambda y, x: (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3)


@lw.operator
def unsharp(H: int, W: int) -> Any:
    """Halide's unsharp mask: a colour image, sharpened by its brightness less a Gaussian blur of it."""
    k = [math.exp(-i * i / (2 * 1.5**2)) / (math.sqrt(2 * math.pi) * 1.5) for i in range(4)]
    img = lw.input("img", (3, H + 6, W + 6))
    gray = lw.compute(
        "gray",
        (H + 6, W + 6),
        lambda y, x: 0.299 * img[0, y, x] + 0.587 * img[1, y, x] + 0.114 * img[2, y, x],
    )

    def weighted(at: Callable[[int], Any]) -> Any:
        return k[0] * at(3) + k[1] * (at(2) + at(4)) + k[2] * (at(1) + at(5)) + k[3] * (at(0) + at(6))

    by = lw.compute("by", (H, W + 6), lambda y, x: weighted(lambda n: gray[y + n, x]))
    bx = lw.compute("bx", (H, W), lambda y, x: weighted(lambda n: by[y, x + n]))
    ratio = lw.compute(
        "ratio", (H, W), lambda y, x: (2.0 * gray[y + 3, x + 3] - bx[y, x]) / gray[y + 3, x + 3]
    )
    return lw.compute("out", (3, H, W), lambda c, y, x: ratio[y, x] * img[c, y + 3, x + 3])


@lw.operator
def harris(H: int, W: int) -> Any:
    """Halide's corner detector: how much the brightness of a colour image changes in every direction, around each pixel."""
    img = lw.input("img", (3, H + 4, W + 4))
    gray = lw.compute(
        "gray",
        (H + 4, W + 4),
        lambda y, x: 0.299 * img[0, y, x] + 0.587 * img[1, y, x] + 0.114 * img[2, y, x],
    )

    def slope(at: Callable[[int, int], Any]) -> Any:
        """Sobel's derivative along the second place."""
        return sum(weight * (at(n, 2) - at(n, 0)) for n, weight in enumerate((1 / 12, 1 / 6, 1 / 12)))

    shape = (H + 2, W + 2)
    dx = lw.compute("dx", shape, lambda y, x: slope(lambda n, far: gray[y + n, x + far]))
    dy = lw.compute("dy", shape, lambda y, x: slope(lambda n, far: gray[y + far, x + n]))

    def total(a: Any, b: Any, y: Any, x: Any) -> Any:
        return sum(a[y + i, x + j] * b[y + i, x + j] for i in range(3) for j in range(3))

    xx = lw.compute("xx", (H, W), lambda y, x: total(dx, dx, y, x))
    xy = lw.compute("xy", (H, W), lambda y, x: total(dx, dy, y, x))
    yy = lw.compute("yy", (H, W), lambda y, x: total(dy, dy, y, x))

    def response(y: Any, x: Any) -> Any:
        trace = xx[y, x] + yy[y, x]
        return xx[y, x] * yy[y, x] - xy[y, x] * xy[y, x] - 0.04 * trace * trace

    return lw.compute("out", (H, W), response)


def bytes_matmul_numpy(a: Any, b: Any) -> Any:
    """What :func:`bytes_matmul` computes: float64 holds its sums exactly, and BLAS knows it."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int32)


@lw.operator(numpy=bytes_matmul_numpy)
def bytes_matmul(M: int, N: int, K: int) -> Any:
    """A matrix of uint8 times one of int8, as quantized networks have them: activations by weights, summed in int32."""
    a, b, k = lw.input("A", (M, K), "uint8"), lw.input("B", (K, N), "int8"), lw.reduce_axis("k", K)
    return lw.compute(
        "C", (M, N), lambda i, j: lw.sum(lw.cast("int32", a[i, k]) * lw.cast("int32", b[k, j]), over=k)
    )


@lw.operator
def biased_gelu(M: int, N: int) -> Any:
    """gelu(x + bias), of the rows of a matrix."""
    x, bias = lw.input("x", (M, N)), lw.input("bias", (N,))
    t = lw.compute("t", (M, N), lambda i, j: x[i, j] + bias[j])
    return lw.compute("y", (M, N), lambda i, j: 0.5 * t[i, j] * (1.0 + lw.erf(t[i, j] * math.sqrt(0.5))))


@lw.operator
def add_relu(N: int) -> Any:
    """max(a + b, 0), of long vectors."""
    a, b = lw.input("a", (N,)), lw.input("b", (N,))
    return lw.compute("y", (N,), lambda i: lw.max(a[i] + b[i], 0.0))

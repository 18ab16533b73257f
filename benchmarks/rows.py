"""What the benchmarks of whole kernels measure: workloads at sizes that people use, some of them no operator of the library."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.workload import Workload


@dataclass(frozen=True)
class Row:
    """A workload, and who computes the same.

    Attributes:
        name: its name, on the command line too.
        work: makes the workload.
        peers: those of :mod:`benchmarks.peers` that have it.
        bar: how fast the best of a random search is to be, over the fastest peer; None: no bar is set.
    """

    name: str
    work: Callable[[], Workload]
    peers: tuple[str, ...] = ()
    bar: float | None = None


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


@lw.operator
def transposed(M: int, N: int) -> Any:
    """The transpose of a matrix."""
    a = lw.input("a", (M, N))
    return lw.compute("y", (N, M), lambda i, j: a[j, i])


@lw.operator
def sums(M: int, N: int, axis: int) -> Any:
    """The sums of a matrix's rows, or of its columns."""
    x, k = lw.input("x", (M, N)), lw.reduce_axis("k", (M, N)[axis])
    return lw.compute("y", ((N,), (M,))[axis], lambda i: lw.sum(x[i, k] if axis else x[k, i], over=k))


@lw.operator
def attention(heads: int, tokens: int, width: int) -> Any:
    """softmax(q k' / sqrt(width)) v, for each head."""
    shape = (heads, tokens, width)
    q, k, v = lw.input("q", shape), lw.input("k", shape), lw.input("v", shape)
    d, t, s, u = (
        lw.reduce_axis(n, e) for n, e in (("d", width), ("t", tokens), ("s", tokens), ("u", tokens))
    )
    scores = lw.compute(
        "scores",
        (heads, tokens, tokens),
        lambda h, i, j: lw.sum(q[h, i, d] * k[h, j, d], over=d) * width**-0.5,
    )
    most = lw.compute("most", (heads, tokens), lambda h, i: lw.max(scores[h, i, t], over=t))
    exps = lw.compute("exps", scores.shape, lambda h, i, j: lw.exp(scores[h, i, j] - most[h, i]))
    total = lw.compute("total", (heads, tokens), lambda h, i: lw.sum(exps[h, i, s], over=s))
    return lw.compute("out", shape, lambda h, i, j: lw.sum(exps[h, i, u] * v[h, u, j], over=u) / total[h, i])


def _conv(**sizes: Any) -> Callable[[], Workload]:
    return lambda: ops.conv2d(N=1, **sizes)


ROWS: tuple[Row, ...] = (
    Row("gemm 1024", lambda: ops.matmul(M=1024, N=1024, K=1024), ("numpy",), 0.95),
    Row("gemm 1009", lambda: ops.matmul(M=1009, N=1009, K=1009), ("numpy",), 0.9),
    Row("conv 3x3 56x56x64", _conv(H=56, W=56, C=64, K=64, R=3, S=3, padding=1), ("torch",), 0.9),
    Row(
        "depthwise 3x3 112x112x32",
        lambda: ops.depthwise_conv2d(N=1, H=112, W=112, C=32, R=3, S=3, padding=1),
        ("torch",),
        1.5,
    ),
    Row("softmax 128x1000", lambda: ops.softmax(M=128, N=1000), ("torch", "numpy"), 1.0),
    Row("layer norm 128x768", lambda: ops.layer_norm(M=128, N=768), ("torch", "numpy"), 1.1),
    Row("blur 1536x2560", lambda: blur(H=1536, W=2560), ("halide", "opencv"), 0.8),
    # No bars for these here: how far the default schedule is from what is found.
    Row("gemm 512", lambda: ops.matmul(M=512, N=512, K=512), ("numpy",)),
    Row("gemm 128x3072x768", lambda: ops.matmul(M=128, N=3072, K=768), ("numpy",)),
    Row("gemm 128x768x3072", lambda: ops.matmul(M=128, N=768, K=3072), ("numpy",)),
    Row("batched 12x128x128x64", lambda: ops.batch_matmul(B=12, M=128, N=128, K=64), ("numpy",)),
    Row("matrix-vector 1x1000x2048", lambda: ops.matmul(M=1, N=1000, K=2048), ("numpy",)),
    Row("conv 1x1 28x28 512-128", _conv(H=28, W=28, C=512, K=128, R=1, S=1), ("torch",)),
    Row("conv 7x7/2 224", _conv(H=224, W=224, C=3, K=64, R=7, S=7, stride=2, padding=3), ("torch",)),
    Row("conv 3x3/2 28x28x256", _conv(H=28, W=28, C=256, K=256, R=3, S=3, stride=2, padding=1), ("torch",)),
    Row(
        "conv 3x3 56x56x64 NCHW",
        _conv(H=56, W=56, C=64, K=64, R=3, S=3, padding=1, layout="NCHW"),
        ("torch",),
    ),
    Row(
        "depthwise 5x5 14x14x480",
        lambda: ops.depthwise_conv2d(N=1, H=14, W=14, C=480, R=5, S=5, padding=2),
        ("torch",),
    ),
    Row(
        "depthwise 3x3 112x112x32 NCHW",
        lambda: ops.depthwise_conv2d(N=1, H=112, W=112, C=32, R=3, S=3, padding=1, layout="NCHW"),
        ("torch",),
    ),
    Row("conv1d 64x1024 k5", lambda: ops.conv1d(N=1, L=1024, C=64, K=64, S=5, padding=2)),
    Row("conv3d 16-32 16^3", lambda: ops.conv3d(N=1, D=16, H=16, W=16, C=16, K=32, T=3, R=3, S=3, padding=1)),
    Row(
        "transposed 64-32 k4 s2",
        lambda: ops.conv_transpose2d(N=1, H=28, W=28, C=64, K=32, R=4, S=4, stride=2, padding=1),
    ),
    Row("rms norm 128x768", lambda: ops.rms_norm(M=128, N=768)),
    Row("row sum 1024x1000", lambda: sums(M=1024, N=1000, axis=1), ("torch", "numpy")),
    Row("column sum 1024x1000", lambda: sums(M=1024, N=1000, axis=0), ("torch", "numpy")),
    Row("gelu(x+bias) 512x3072", lambda: biased_gelu(M=512, N=3072), ("torch",)),
    Row("add+relu 4M", lambda: add_relu(N=4 << 20), ("torch", "numpy")),
    Row("transpose 2048", lambda: transposed(M=2048, N=2048), ("torch", "numpy")),
    Row("attention 12x128x64", lambda: attention(heads=12, tokens=128, width=64), ("torch",)),
    Row("unsharp 1536x2560", lambda: unsharp(H=1536, W=2560), ("halide",)),
)

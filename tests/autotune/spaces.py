"""Workloads and spaces that the tests of the tuner share."""

from __future__ import annotations

import loopwright as lw
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target

AVX2 = Target("cpu", "znver3", 2, ("avx", "avx2", "fma"), (32768, 524288, 33554432))
AVX512 = Target("cpu", "znver4", 8, ("avx2", "avx512f", "fma"), (32768, 1048576, 33554432))


@lw.operator
def row_norm(M: int, K: int) -> Stage:
    A = lw.input("A", (M, K))
    k = lw.reduce_axis("k", K)
    S = lw.compute("S", (M,), lambda i: lw.sum(A[i, k] * A[i, k], over=k))
    return lw.compute("R", (M,), lambda i: lw.sqrt(S[i]))


@lw.operator
def column_sum(M: int, N: int) -> Stage:
    A = lw.input("A", (M, N))
    k = lw.reduce_axis("k", M)
    return lw.compute("R", (N,), lambda j: lw.sum(A[k, j], over=k))


@lw.operator
def bias_relu(M: int, N: int) -> Stage:
    A, B = lw.input("A", (M, N)), lw.input("B", (N,))
    return lw.compute("R", (M, N), lambda i, j: lw.max(A[i, j] + B[j], 0.0))


@lw.operator
def transpose(M: int, N: int) -> Stage:
    A = lw.input("A", (M, N))
    return lw.compute("R", (N, M), lambda i, j: A[j, i])


@lw.operator
def total(M: int, N: int) -> Stage:
    A = lw.input("A", (M, N))
    k, m = lw.reduce_axis("k", M), lw.reduce_axis("m", N)
    return lw.compute("R", (), lambda: lw.sum(A[k, m], over=(k, m)))


@lw.operator
def softmax(M: int, N: int) -> Stage:
    A = lw.input("A", (M, N))
    k, m = lw.reduce_axis("k", N), lw.reduce_axis("m", N)
    most = lw.compute("most", (M,), lambda i: lw.max(A[i, k], over=k))
    ex = lw.compute("ex", (M, N), lambda i, j: lw.exp(A[i, j] - most[i]))
    whole = lw.compute("whole", (M,), lambda i: lw.sum(ex[i, m], over=m))
    return lw.compute("R", (M, N), lambda i, j: ex[i, j] / whole[i])


@lw.operator
def dense(M: int, N: int, K: int) -> Stage:
    """A product with an epilogue in a stage of its own."""
    A, B = lw.input("A", (M, K)), lw.input("B", (K, N))
    k = lw.reduce_axis("k", K)
    C = lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k))
    return lw.compute("R", (M, N), lambda i, j: lw.max(C[i, j] * 0.5, 0.0))


@lw.operator
def conv2d(H: int, W: int, C: int, O: int) -> Stage:  # noqa: E741
    """A 3x3 convolution with its padding as a stage."""
    A, B = lw.input("A", (1, H, W, C)), lw.input("B", (3, 3, C, O))
    y, x, c = (lw.reduce_axis(name, size) for name, size in (("y", 3), ("x", 3), ("c", C)))
    inside = lambda h, w: (h >= 1) & (h < H + 1) & (w >= 1) & (w < W + 1)  # noqa: E731
    P = lw.compute(
        "P", (1, H + 2, W + 2, C), lambda n, h, w, d: lw.select(inside(h, w), A[n, h - 1, w - 1, d], 0.0)
    )
    return lw.compute(
        "R", (1, H, W, O), lambda n, h, w, o: lw.sum(P[n, h + y, w + x, c] * B[y, x, c, o], over=(y, x, c))
    )


def space_of(work: Workload, target: Target = AVX2) -> SearchSpace:
    """The automatic space."""
    return SearchSpace(sketches(work, target), target)

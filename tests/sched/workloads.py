"""Small workloads that between them hold every shape of computation a schedule can meet."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.recurrences import CASES
from tests.sched.tuple_workloads import TUPLES


@lw.operator
def matmul(M: int, N: int, K: int, dtype: str = "float32") -> Any:
    A = lw.input("A", (M, K), dtype)
    B = lw.input("B", (K, N), dtype)
    k = lw.reduce_axis("k", K)
    return lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k))


@lw.operator
def dense(M: int, N: int, K: int) -> Any:
    """A product with an epilogue in its own stage."""
    A = lw.input("A", (M, K))
    B = lw.input("B", (K, N))
    bias = lw.input("bias", (N,))
    k = lw.reduce_axis("k", K)
    return lw.compute("C", (M, N), lambda i, j: lw.max(lw.sum(A[i, k] * B[k, j], over=k) + bias[j], 0))


@lw.operator
def dense_apart(M: int, N: int, K: int) -> Any:
    """A product, a bias and an activation, each a stage."""
    A = lw.input("A", (M, K))
    B = lw.input("B", (K, N))
    bias = lw.input("bias", (N,))
    k = lw.reduce_axis("k", K)
    acc = lw.compute("acc", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k))
    biased = lw.compute("biased", (M, N), lambda i, j: acc[i, j] + bias[j])
    return lw.compute("out", (M, N), lambda i, j: lw.max(biased[i, j], 0))


@lw.operator
def residual(M: int, N: int) -> Any:
    """A stage read by two others, one of which reads the other."""
    A = lw.input("A", (M, N))
    k = lw.reduce_axis("k", N)
    s = lw.compute("s", (M,), lambda i: lw.sum(A[i, k], over=k))
    t = lw.compute("t", (M,), lambda i: s[i] * 2)
    return lw.compute("u", (M,), lambda i: t[i] + s[i])


@lw.operator
def centred(N: int) -> Any:
    """A value that only all elements together give, subtracted from each."""
    a = lw.input("a", (N,))
    k = lw.reduce_axis("k", N)
    c = lw.compute("c", (N,), lambda i: a[i] * 2)
    r = lw.compute("r", (N,), lambda i: c[i] + 1)
    q = lw.compute("q", (1,), lambda z: lw.sum(r[k], over=k))
    return lw.compute("x", (N,), lambda i: c[i] - q[0])


@lw.operator
def softmax(M: int, N: int) -> Any:
    x = lw.input("x", (M, N))
    k = lw.reduce_axis("k", N)
    top = lw.compute("top", (M,), lambda i: lw.max(x[i, k], over=k))
    e = lw.compute("e", (M, N), lambda i, j: lw.exp(x[i, j] - top[i]))
    total = lw.compute("total", (M,), lambda i: lw.sum(e[i, k], over=k))
    return lw.compute("y", (M, N), lambda i, j: e[i, j] / total[i])


@lw.operator
def normalise(M: int, N: int) -> Any:
    """Reductions that the tracer puts into stages of their own, with a dot in their names."""
    x = lw.input("x", (M, N))
    k = lw.reduce_axis("k", N)
    return lw.compute("y", (M, N), lambda i, j: x[i, j] - lw.sum(x[i, k], over=k) + lw.max(x[i, k], over=k))


@lw.operator
def blur(H: int, W: int) -> Any:
    """A stencil on a stencil, with edges repeated."""
    img = lw.input("img", (H, W), "int32")

    def at(y: Any, x: Any) -> Any:
        return img[lw.clip(y, 0, H - 1), lw.clip(x, 0, W - 1)]

    bx = lw.compute("bx", (H + 2, W), lambda y, x: at(y - 1, x - 1) + at(y - 1, x) * 2 + at(y - 1, x + 1))
    return lw.compute("by", (H, W), lambda y, x: bx[y, x] + bx[y + 1, x] * 3 + bx[y + 2, x])


@lw.operator
def padded(N: int) -> Any:
    """A convolution whose borders a select makes zero."""
    x = lw.input("x", (N,))
    w = lw.input("w", (3,))
    r = lw.reduce_axis("r", 3)
    p = lw.compute("p", (N + 2,), lambda i: lw.select((i > 0) & (i < N + 1), x[i - 1] * 2, 0))
    return lw.compute("c", (N,), lambda i: lw.sum(p[i + r] * w[r], over=r))


@lw.operator
def chain(M: int, N: int) -> Any:
    a = lw.input("a", (M, N))
    b = lw.compute("b", (M, N), lambda i, j: a[i, j] + 1)
    c = lw.compute("c", (M, N), lambda i, j: b[i, j] * 2)
    return lw.compute("d", (M, N), lambda i, j: c[i, j] - a[i, j])


@lw.operator
def turned(M: int, N: int) -> Any:
    """Transposes: one exact, one mixed with the untransposed value where the shape is square."""
    a = lw.input("a", (M, N))
    t = lw.compute("t", (N, M), lambda j, i: a[i, j] * 3)
    u = lw.compute("u", (M, N), lambda i, j: t[j, i] + 1)
    return lw.compute("v", (M, N), lambda i, j: u[i, j] + u[j, i] if M == N else u[i, j])


@lw.operator
def pooled(N: int) -> Any:
    """Strided windows: an index with a coefficient."""
    x = lw.input("x", (2 * N + 1,))
    r = lw.reduce_axis("r", 3)
    sq = lw.compute("sq", (2 * N + 1,), lambda i: x[i] * x[i])
    return lw.compute("p", (N,), lambda i: lw.max(sq[2 * i + r], over=r))


@lw.operator
def gathered(N: int, M: int) -> Any:
    """An index that depends on data, and may be far out of range."""
    table = lw.input("table", (M,))
    index = lw.input("index", (N,), "int32")
    double = lw.compute("double", (M,), lambda m: table[m] * 2)
    return lw.compute("g", (N,), lambda i: double[lw.clip(index[i], 0, M - 1)] + 1)


@lw.operator
def stats(M: int, N: int) -> Any:
    """Two outputs, one of which reads the other; reductions over two axes at once."""
    x = lw.input("x", (M, N), "int8")
    i, j = lw.reduce_axis("i", M), lw.reduce_axis("j", N)
    rows = lw.compute("rows", (M,), lambda r: lw.sum(x[r, j], over=j))
    total = lw.compute("total", (1,), lambda z: lw.sum(x[i, j] * 2, over=(i, j)))
    return rows, lw.compute("shifted", (M,), lambda r: rows[r] - total[0])


@lw.operator
def checked(M: int, N: int) -> Any:
    x = lw.input("x", (M, N))
    k = lw.reduce_axis("k", N)
    big = lw.compute("big", (M, N), lambda i, j: x[i, j] > 2)
    return lw.compute("found", (M,), lambda i: lw.any(big[i, k], over=k))


@lw.operator
def folded(N: int) -> Any:
    """Indices with floor division and modulo."""
    x = lw.input("x", (N, 4))
    flat = lw.compute("flat", (N * 4,), lambda f: x[f // 4, f % 4] + 1)
    return lw.compute("back", (4, N), lambda c, r: flat[r * 4 + c] * 2)


@lw.operator
def conv(C: int, K: int, H: int, W: int) -> Any:
    """A two-dimensional convolution over a padded copy of its input."""
    x = lw.input("x", (C, H, W))
    w = lw.input("w", (K, C, 3, 3))
    c, p, q = lw.reduce_axis("c", C), lw.reduce_axis("p", 3), lw.reduce_axis("q", 3)

    def border(n: Any, i: Any, j: Any) -> Any:
        inside = (i > 0) & (i < H + 1) & (j > 0) & (j < W + 1)
        return lw.select(inside, x[n, i - 1, j - 1], 0)

    pad = lw.compute("pad", (C, H + 2, W + 2), border)
    return lw.compute(
        "y",
        (K, H, W),
        lambda o, i, j: lw.max(lw.sum(pad[c, i + p, j + q] * w[o, c, p, q], over=(c, p, q)), 0),
    )


@lw.operator
def mirrored(N: int, M: int) -> Any:
    """Indices that run backwards, are sums of axes, and lie on a diagonal."""
    x = lw.input("x", (N + M,))
    p = lw.compute("p", (N + M,), lambda i: x[i] * 2)
    d = lw.compute("d", (N, M), lambda i, j: p[i + j] - p[N + M - 1 - i])
    return lw.compute("e", (min(N, M),), lambda i: d[i, i] + d[i, min(N, M) - 1 - i])


@lw.operator
def widened(M: int, N: int) -> Any:
    """Stages of different dtypes in one another's loops."""
    a = lw.input("a", (M, N), "uint8")
    k = lw.reduce_axis("k", N)
    big = lw.compute("big", (M, N), lambda i, j: lw.cast("float64", a[i, j]) * 0.5)
    s = lw.compute("s", (M,), lambda i: lw.sum(big[i, k], over=k))
    return lw.compute("t", (M, N), lambda i, j: lw.cast("int16", big[i, j] + s[i]))


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "matmul 7x13x5": lambda: matmul(7, 13, 5),
    "matmul 16x32x8": lambda: matmul(16, 32, 8),
    "matmul 33x19x21": lambda: matmul(33, 19, 21),
    "matmul int8": lambda: matmul(9, 11, 6, "int8"),
    "matmul 1x1x1": lambda: matmul(1, 1, 1),
    "matmul 5x1x7": lambda: matmul(5, 1, 7),
    "matmul 4x5x0": lambda: matmul(4, 5, 0),
    "matmul 0x5x3": lambda: matmul(0, 5, 3),
    "matmul 6x150x9": lambda: matmul(6, 150, 9),
    "matmul float64": lambda: matmul(13, 70, 6, "float64"),
    "conv": lambda: conv(3, 5, 6, 9),
    "mirrored": lambda: mirrored(9, 6),
    "widened": lambda: widened(4, 37),
    "dense": lambda: dense(10, 21, 7),
    "dense 4x5x0": lambda: dense(4, 5, 0),
    "dense apart": lambda: dense_apart(9, 18, 6),
    "residual": lambda: residual(11, 5),
    "centred": lambda: centred(9),
    "softmax": lambda: softmax(6, 11),
    "normalise": lambda: normalise(5, 9),
    "blur": lambda: blur(13, 19),
    "padded": lambda: padded(17),
    "chain": lambda: chain(7, 12),
    "chain 0": lambda: chain(3, 0),
    "turned": lambda: turned(6, 9),
    "turned square": lambda: turned(8, 8),
    "pooled": lambda: pooled(11),
    "gathered": lambda: gathered(13, 6),
    "stats": lambda: stats(6, 7),
    "checked": lambda: checked(5, 8),
    "folded": lambda: folded(5),
    **TUPLES,
    **{name: case.work for name, case in CASES.items()},
}


def arrays(work: Workload) -> list[np.ndarray]:
    """Inputs in which sums are exact in any order: small integers, whatever the dtype."""
    rng = np.random.default_rng(zlib.crc32(str(work).encode()))
    return [rng.integers(-4, 5, t.shape).astype(t.dtype) for t in work.inputs]


def check_kernel(work: Workload, kernel: Callable[..., Any]) -> None:
    """A kernel gives what the definition says, to the bit where the arithmetic is exact."""
    given = arrays(work)
    want, got = work.reference(*given), kernel(*given)
    wants, gots = (x if isinstance(x, tuple) else (x,) for x in (want, got))
    for expected, actual in zip(wants, gots, strict=True):
        if work.name == "softmax":
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(actual, expected)


def tiled_matmul(size: tuple[int, int, int], i_tile: Any = 8, j_tile: Any = 32) -> Schedule:
    """The quickstart's schedule; tiles may be knobs."""
    return (
        matmul(*size)
        .schedule()
        .split("C.i", ("io", "ii"), i_tile)
        .split("C.j", ("jo", "ji"), j_tile)
        .reorder("C", "io jo k ii ji")
        .vectorize("C.ji")
        .unroll("C.ii")
        .parallel("C.io")
    )

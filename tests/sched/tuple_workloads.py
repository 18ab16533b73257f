"""Small workloads of tuples: positions of extremes, reducers of the user's own, several reductions in one stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loopwright as lw
from loopwright.sched.language.workload import Workload

complex_product = lw.reducer(
    lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]), (1, 0), name="complex_product"
)
# Integers modulo 2**32 with x -> m*x + c: associative, and the order matters.
affine = lw.reducer(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1, 0), name="affine", commutative=False)
either = lw.reducer(lambda a, b: a ^ b, 0, name="parity")


@lw.operator
def best(M: int, K: int, dtype: str = "float32", index: str = "int32") -> Any:
    x = lw.input("x", (M, K), dtype)
    k = lw.reduce_axis("k", K)
    return lw.compute("best", (M,), lambda i: lw.argmax(x[i, k], over=k, dtype=index))


@lw.operator
def columns(M: int, K: int, dtype: str = "float32") -> Any:
    """Value and index, over the axis that is not along memory: the lanes are columns."""
    x = lw.input("x", (K, M), dtype)
    k = lw.reduce_axis("k", K)
    return lw.compute("least", (M,), lambda j: lw.argmin(x[k, j], over=k, both=True))


@lw.operator
def peak(N: int, H: int, W: int) -> Any:
    """An index over two axes, with an epilogue on it."""
    x = lw.input("x", (N, H, W), "int32")
    r, c = lw.reduce_axis("r", H), lw.reduce_axis("c", W)
    return lw.compute("row", (N,), lambda n: lw.argmax(x[n, r, c], over=(r, c)) // W)


@lw.operator
def summary(M: int, K: int) -> Any:
    """Four reductions of different kinds in one loop nest; two of its parts are outputs, one is read, one nobody wants."""
    x = lw.input("x", (M, K))
    k = lw.reduce_axis("k", K)
    total, top, at, _ = lw.compute(
        "summary",
        (M,),
        lambda i: (
            lw.sum(x[i, k], over=k) * 2,
            lw.max(x[i, k], over=k),
            lw.argmax(x[i, k], over=k),
            lw.min(x[i, k], over=k),
        ),
    )
    shifted = lw.compute("shifted", (M, K), lambda i, j: x[i, j] - total[i])
    return shifted, at, top


@lw.operator
def twisted(M: int, K: int) -> Any:
    """A reducer of the user's own on tuples that another stage of tuples makes."""
    x = lw.input("x", (M, K), "int32")
    y = lw.input("y", (M, K), "int32")
    k = lw.reduce_axis("k", K)
    re, im = lw.compute("z", (M, K), lambda i, j: (x[i, j] + y[i, j], x[i, j] - 1))
    return lw.compute("product", (M,), lambda i: complex_product((re[i, k], im[i, k]), over=k))


@lw.operator
def composed(M: int, K: int) -> Any:
    """A reduction that keeps its order."""
    x = lw.input("x", (M, K), "int32")
    k = lw.reduce_axis("k", K)
    return lw.compute("f", (M,), lambda i: affine((x[i, k], x[i, k] + 3), over=k))


@lw.operator
def mixed(M: int, K: int) -> Any:
    """Different reductions in one value: each becomes a stage."""
    x = lw.input("x", (M, K), "int32")
    k = lw.reduce_axis("k", K)
    return lw.compute(
        "y", (M,), lambda i: either(x[i, k], over=k) + lw.argmin(x[i, k], over=k) + lw.sum(x[i, k], over=k)
    )


@lw.operator
def halves(M: int, N: int) -> Any:
    """Tuples without a reduction: copied, transposed and joined again."""
    x = lw.input("x", (M, N))
    low, high = lw.compute("ends", (M, N), lambda i, j: (lw.min(x[i, j], 0), lw.max(x[i, j], 0)))
    whole = lw.compute("whole", (N, M), lambda j, i: high[i, j] * 2 + low[i, j])
    return whole, low


TUPLES: dict[str, Callable[[], Workload]] = {
    "best 6x13": lambda: best(6, 13),
    "best 17x5 float16": lambda: best(17, 5, "float16", "uint8"),
    "best 4x9 bool": lambda: best(4, 9, "bool", "int64"),
    "best 0x3": lambda: best(0, 3),
    "columns 21x7": lambda: columns(21, 7),
    "columns 1x1": lambda: columns(1, 1),
    "columns 40x3 int8": lambda: columns(40, 3, "int8"),
    "peak": lambda: peak(3, 5, 4),
    "summary": lambda: summary(7, 9),
    "twisted": lambda: twisted(5, 6),
    "composed": lambda: composed(9, 8),
    "mixed": lambda: mixed(5, 7),
    "halves": lambda: halves(6, 11),
}

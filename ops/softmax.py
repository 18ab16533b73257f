"""Softmax over the rows of a matrix."""

from __future__ import annotations

import numpy as np

from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import cast, compute, input, max, reduce_axis, sum
from loopwright.sched.language.mathfns import exp, log
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def softmax_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`softmax` computes, working in one temporary."""
    y = np.subtract(x, x.max(axis=1, keepdims=True), dtype=accumulator(dtype))
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
    return y.astype(dtype, copy=False)


@operator(numpy=softmax_numpy)
def softmax(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[i, j] = exp(X[i, j] - row_max[i]) / row_sum[i]``: each row becomes positive and sums to 1.

    Input: ``X`` of (M, N). Stages: ``row_max`` (axes ``i``, ``k``), ``exps`` (``i``, ``j``), ``row_sum`` (``i``, ``k``),
    and the output ``Y`` of (M, N) (``i``, ``j``). The greatest of the row is taken off first, so nothing overflows.
    float16 is computed in float32. A row is divided by its sum, which is 1 at least, by multiplying with the reciprocal: a
    division takes ten times as long, and the result is within an ulp of its.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.softmax(M=1, N=4).reference(np.zeros((1, 4), "f"))
    array([[0.25, 0.25, 0.25, 0.25]], dtype=float32)
    """
    wide = accumulator(dtype)
    X = input("X", (M, N), dtype)
    k = reduce_axis("k", N)
    row_max = compute("row_max", (M,), lambda i: max(X[i, k], over=k))
    exps = compute("exps", (M, N), lambda i, j: exp(cast(wide, X[i, j]) - row_max[i]))
    row_sum = compute("row_sum", (M,), lambda i: sum(exps[i, k], over=k))
    return compute("Y", (M, N), lambda i, j: cast(dtype, exps[i, j] * (1 / row_sum[i])))


def log_softmax_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`log_softmax` computes."""
    y = np.subtract(x, x.max(axis=1, keepdims=True), dtype=accumulator(dtype))
    y -= np.log(np.exp(y).sum(axis=1, keepdims=True))
    return y.astype(dtype, copy=False)


@operator(numpy=log_softmax_numpy)
def log_softmax(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[i, j] = X[i, j] - row_max[i] - log_sum[i]``: the logarithm of :func:`softmax`, without computing it.

    Input: ``X`` of (M, N). Stages: ``row_max`` (axes ``i``, ``k``), ``log_sum`` (``i``, ``k``), and the output ``Y`` of
    (M, N) (``i``, ``j``). float16 is computed in float32.
    """
    wide = accumulator(dtype)
    X = input("X", (M, N), dtype)
    k = reduce_axis("k", N)
    row_max = compute("row_max", (M,), lambda i: max(X[i, k], over=k))
    log_sum = compute("log_sum", (M,), lambda i: log(sum(exp(cast(wide, X[i, k]) - row_max[i]), over=k)))
    return compute("Y", (M, N), lambda i, j: cast(dtype, cast(wide, X[i, j]) - row_max[i] - log_sum[i]))

"""Normalisation of the rows of a matrix."""

from __future__ import annotations

import numpy as np

from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.mathfns import rsqrt
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def layer_norm_numpy(x: Array, gamma: Array, beta: Array, *, eps: float, dtype: str) -> Array:
    """What :func:`layer_norm` computes, working in one temporary."""
    wide = accumulator(dtype)
    y = np.subtract(x, x.mean(axis=1, keepdims=True, dtype=wide), dtype=wide)
    variance = np.einsum("ik,ik->i", y, y)[:, None] / x.shape[1]
    y *= gamma / np.sqrt(variance + variance.dtype.type(eps))
    y += beta
    return y.astype(dtype, copy=False)


@operator(numpy=layer_norm_numpy)
def layer_norm(M: int, N: int, eps: float = 1e-5, dtype: str = "float32") -> Stage:
    """``Y[i, j] = (X[i, j] - mean[i]) * inv_std[i] * gamma[j] + beta[j]``, of each row's mean and standard deviation.

    Inputs: ``X`` of (M, N), ``gamma`` and ``beta`` of (N,). Stages: ``mean`` (axes ``i``, ``k``), ``inv_std`` (``i``, ``k``:
    one over the root of the variance plus ``eps``), and the output ``Y`` of (M, N) (``i``, ``j``). float16 is computed in
    float32. Source: Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450.
    """
    wide = accumulator(dtype)
    X = input("X", (M, N), dtype)
    gamma, beta = input("gamma", (N,), dtype), input("beta", (N,), dtype)
    k = reduce_axis("k", N)
    mean = compute("mean", (M,), lambda i: sum(X[i, k], over=k) / N)

    def deviation(i: Expr, j: Expr) -> Expr:
        return cast(wide, X[i, j]) - mean[i]

    inv_std = compute(
        "inv_std", (M,), lambda i: rsqrt(sum(deviation(i, k) * deviation(i, k), over=k) / N + eps)
    )
    return compute("Y", (M, N), lambda i, j: cast(dtype, deviation(i, j) * inv_std[i] * gamma[j] + beta[j]))


def rms_norm_numpy(x: Array, gamma: Array, *, eps: float, dtype: str) -> Array:
    """What :func:`rms_norm` computes."""
    y = x.astype(accumulator(dtype), copy=False)
    square = np.einsum("ik,ik->i", y, y)[:, None] / x.shape[1]
    y = y * (1 / np.sqrt(square + square.dtype.type(eps)))
    y *= gamma
    return y.astype(dtype, copy=False)


@operator(numpy=rms_norm_numpy)
def rms_norm(M: int, N: int, eps: float = 1e-6, dtype: str = "float32") -> Stage:
    """``Y[i, j] = X[i, j] * inv_rms[i] * gamma[j]``, where ``inv_rms`` is one over the root of the row's mean square.

    Inputs: ``X`` of (M, N), ``gamma`` of (N,). Stages: ``inv_rms`` (axes ``i``, ``k``) and the output ``Y`` of (M, N)
    (``i``, ``j``). float16 is computed in float32. Source: Zhang and Sennrich, "Root Mean Square Layer Normalization",
    arXiv:1910.07467.
    """
    wide = accumulator(dtype)
    X = input("X", (M, N), dtype)
    gamma = input("gamma", (N,), dtype)
    k = reduce_axis("k", N)
    inv_rms = compute("inv_rms", (M,), lambda i: rsqrt(sum(X[i, k] * X[i, k], over=k) / N + eps))
    return compute("Y", (M, N), lambda i, j: cast(dtype, cast(wide, X[i, j]) * inv_rms[i] * gamma[j]))

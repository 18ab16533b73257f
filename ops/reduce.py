"""Reductions of a matrix."""

from __future__ import annotations

import numpy as np

from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import compute, input, max, min, reduce_axis, sum
from loopwright.sched.language.mathfns import sqrt
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def row_sum_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`row_sum` computes."""
    return np.asarray(x.sum(axis=1, dtype=accumulator(dtype)))


@operator(numpy=row_sum_numpy)
def row_sum(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[i] = sum over k of X[i, k]``.

    Input: ``X`` of (M, N). Output: stage ``Y`` of (M,), axes ``i``, ``k``; float16 is summed in float32, int8 in int32, and
    ``Y`` has that dtype.
    """
    X = input("X", (M, N), dtype)
    k = reduce_axis("k", N)
    return compute("Y", (M,), lambda i: sum(X[i, k], over=k))


def column_sum_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`column_sum` computes."""
    return np.asarray(x.sum(axis=0, dtype=accumulator(dtype)))


@operator(numpy=column_sum_numpy)
def column_sum(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[j] = sum over k of X[k, j]``.

    Input: ``X`` of (M, N). Output: stage ``Y`` of (N,), axes ``j``, ``k``; its dtype is as in :func:`row_sum`.
    """
    X = input("X", (M, N), dtype)
    k = reduce_axis("k", M)
    return compute("Y", (N,), lambda j: sum(X[k, j], over=k))


def row_max_numpy(x: Array) -> Array:
    """What :func:`row_max` computes."""
    return np.asarray(x.max(axis=1))


@operator(numpy=row_max_numpy)
def row_max(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[i] = max over k of X[i, k]``.

    Input: ``X`` of (M, N). Output: stage ``Y`` of (M,), axes ``i``, ``k``.
    """
    X = input("X", (M, N), dtype)
    k = reduce_axis("k", N)
    return compute("Y", (M,), lambda i: max(X[i, k], over=k))


def row_min_numpy(x: Array) -> Array:
    """What :func:`row_min` computes."""
    return np.asarray(x.min(axis=1))


@operator(numpy=row_min_numpy)
def row_min(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[i] = min over k of X[i, k]``.

    Input: ``X`` of (M, N). Output: stage ``Y`` of (M,), axes ``i``, ``k``.
    """
    X = input("X", (M, N), dtype)
    k = reduce_axis("k", N)
    return compute("Y", (M,), lambda i: min(X[i, k], over=k))


def row_norm_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`row_norm` computes: einsum needs no temporary for the squares."""
    wide = x.astype(accumulator(dtype), copy=False)
    return np.sqrt(np.einsum("ik,ik->i", wide, wide))


@operator(numpy=row_norm_numpy)
def row_norm(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[i] = sqrt(sum over k of X[i, k] ** 2)``: the length of each row.

    Input: ``X`` of (M, N), of a float dtype. Output: stage ``Y`` of (M,), axes ``i``, ``k``; its dtype is as in
    :func:`row_sum`.
    """
    X = input("X", (M, N), dtype)
    k = reduce_axis("k", N)
    return compute("Y", (M,), lambda i: sqrt(sum(X[i, k] * X[i, k], over=k)))

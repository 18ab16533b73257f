"""Elementwise operators on matrices. A tensor of more dimensions is a matrix of the same elements."""

from __future__ import annotations

import numpy as np

from loopwright.ops.activation import activate, activate_numpy
from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import cast, compute, input
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


@operator(numpy=np.add)
def add(M: int, N: int, dtype: str = "float32") -> Stage:
    """``C[i, j] = A[i, j] + B[i, j]``.

    Inputs: ``A`` and ``B`` of (M, N). Output: stage ``C`` of (M, N), axes ``i``, ``j``.
    """
    A, B = input("A", (M, N), dtype), input("B", (M, N), dtype)
    return compute("C", (M, N), lambda i, j: A[i, j] + B[i, j])


@operator(numpy=np.multiply)
def multiply(M: int, N: int, dtype: str = "float32") -> Stage:
    """``C[i, j] = A[i, j] * B[i, j]``.

    Inputs: ``A`` and ``B`` of (M, N). Output: stage ``C`` of (M, N), axes ``i``, ``j``.
    """
    A, B = input("A", (M, N), dtype), input("B", (M, N), dtype)
    return compute("C", (M, N), lambda i, j: A[i, j] * B[i, j])


@operator(numpy=np.add)
def bias_add(M: int, N: int, dtype: str = "float32") -> Stage:
    """``C[i, j] = A[i, j] + bias[j]``.

    Inputs: ``A`` of (M, N), ``bias`` of (N,). Output: stage ``C`` of (M, N), axes ``i``, ``j``.
    """
    A, bias = input("A", (M, N), dtype), input("bias", (N,), dtype)
    return compute("C", (M, N), lambda i, j: A[i, j] + bias[j])


def activation_numpy(x: Array, *, kind: str, dtype: str) -> Array:
    """What :func:`activation` computes."""
    return activate_numpy(kind, x.astype(accumulator(dtype))).astype(dtype, copy=False)


def _activated(kind: str, x: Expr, where: str) -> Expr:
    """The activation of an element, computed in float32 at least."""
    return cast(x.dtype, activate(kind, cast(accumulator(x.dtype), x), where))


@operator(numpy=activation_numpy)
def activation(M: int, N: int, kind: str = "relu", dtype: str = "float32") -> Stage:
    """``Y[i, j] = kind(X[i, j])``, where ``kind`` is one of those of :func:`loopwright.ops.dense`.

    Input: ``X`` of (M, N), of a float dtype. Output: stage ``Y`` of (M, N), axes ``i``, ``j``. float16 is computed in
    float32.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.activation(M=1, N=3, kind="relu").reference(np.array([[-1, 0, 2]], "f"))
    array([[0., 0., 2.]], dtype=float32)
    """
    X = input("X", (M, N), dtype)
    return compute("Y", (M, N), lambda i, j: _activated(kind, X[i, j], "activation"))


def relu_numpy(x: Array) -> Array:
    """What :func:`relu` computes."""
    return np.maximum(x, 0)


@operator(numpy=relu_numpy)
def relu(M: int, N: int, dtype: str = "float32") -> Stage:
    """``Y[i, j] = max(X[i, j], 0)``.

    Input: ``X`` of (M, N). Output: stage ``Y`` of (M, N), axes ``i``, ``j``.
    """
    X = input("X", (M, N), dtype)
    return compute("Y", (M, N), lambda i, j: activate("relu", X[i, j], "relu"))


def gelu_numpy(x: Array, *, approximate: bool, dtype: str) -> Array:
    """What :func:`gelu` computes."""
    return activation_numpy(x, kind="gelu_tanh" if approximate else "gelu", dtype=dtype)


@operator(numpy=gelu_numpy)
def gelu(M: int, N: int, approximate: bool = False, dtype: str = "float32") -> Stage:
    """``Y = X / 2 * (1 + erf(X / sqrt(2)))``, or its usual approximation by tanh.

    Input: ``X`` of (M, N), of a float dtype. Output: stage ``Y`` of (M, N), axes ``i``, ``j``. float16 is computed in
    float32. Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415.
    """
    X = input("X", (M, N), dtype)
    kind = "gelu_tanh" if approximate else "gelu"
    return compute("Y", (M, N), lambda i, j: _activated(kind, X[i, j], "gelu"))

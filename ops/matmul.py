"""Matrix products: plain, batched, and the dense layer of a network."""

from __future__ import annotations

import numpy as np

from loopwright.ops.activation import activate, activate_numpy
from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def matmul_numpy(a: Array, b: Array, *, dtype: str, ta: bool, tb: bool) -> Array:
    """What :func:`matmul` and :func:`batch_matmul` compute: BLAS takes the transposed views without a copy."""
    return np.matmul(
        a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b, dtype=accumulator(dtype)
    )


@operator(numpy=matmul_numpy)
def matmul(M: int, N: int, K: int, dtype: str = "float32", ta: bool = False, tb: bool = False) -> Stage:
    """``C[i, j] = sum over k of A[i, k] * B[k, j]``.

    Inputs: ``A`` of (M, K), or (K, M) with ``ta``; ``B`` of (K, N), or (N, K) with ``tb``. Output: stage ``C`` of
    (M, N), axes ``i``, ``j``, ``k``. float16 is summed in float32, int8 in int32, and ``C`` has that dtype.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.matmul(M=2, N=2, K=3).reference(np.ones((2, 3), "f"), np.ones((3, 2), "f"))
    array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    A = input("A", (K, M) if ta else (M, K), dtype)
    B = input("B", (N, K) if tb else (K, N), dtype)
    k = reduce_axis("k", K)
    return compute(
        "C",
        (M, N),
        lambda i, j: sum((A[k, i] if ta else A[i, k]) * (B[j, k] if tb else B[k, j]), over=k),
    )


@operator(numpy=matmul_numpy)
def batch_matmul(
    B: int, M: int, N: int, K: int, dtype: str = "float32", ta: bool = False, tb: bool = False
) -> Stage:
    """``C[b, i, j] = sum over k of A[b, i, k] * B[b, k, j]``: B products side by side.

    Inputs: ``A`` of (B, M, K), or (B, K, M) with ``ta``; ``B`` of (B, K, N), or (B, N, K) with ``tb``. Output: stage
    ``C`` of (B, M, N), axes ``b``, ``i``, ``j``, ``k``; its dtype is as in :func:`matmul`.
    """
    left = input("A", (B, K, M) if ta else (B, M, K), dtype)
    right = input("B", (B, N, K) if tb else (B, K, N), dtype)
    k = reduce_axis("k", K)

    def product(b: Expr, i: Expr, j: Expr) -> Expr:
        return sum(
            (left[b, k, i] if ta else left[b, i, k]) * (right[b, j, k] if tb else right[b, k, j]), over=k
        )

    return compute("C", (B, M, N), product)


def dense_numpy(x: Array, w: Array, bias: Array, *, dtype: str, activation: str) -> Array:
    """What :func:`dense` computes, updating the product in place."""
    out = np.matmul(x, w.T, dtype=accumulator(dtype))
    out += bias
    return activate_numpy(activation, out).astype(dtype, copy=False)


@operator(numpy=dense_numpy)
def dense(M: int, N: int, K: int, dtype: str = "float32", activation: str = "none") -> Stage:
    """``C[i, j] = activation(bias[j] + sum over k of X[i, k] * W[j, k])``: a layer of a network on a batch of rows.

    Inputs: ``X`` of (M, K), ``W`` of (N, K) as frameworks keep it, ``bias`` of (N,). Output: stage ``C`` of (M, N), axes
    ``i``, ``j``, ``k``, of the inputs' dtype, which is a float. ``activation`` is one of ``none``, ``relu``, ``relu6``, ``gelu``,
    ``gelu_tanh``, ``silu``, ``mish``, ``hardswish``, ``sigmoid``, ``tanh``; it runs where the sum ends, so the stage's loops stay
    the same.
    """
    X = input("X", (M, K), dtype)
    W = input("W", (N, K), dtype)
    bias = input("bias", (N,), dtype)
    k = reduce_axis("k", K)
    return compute(
        "C",
        (M, N),
        lambda i, j: cast(dtype, activate(activation, sum(X[i, k] * W[j, k], over=k) + bias[j], "dense")),
    )

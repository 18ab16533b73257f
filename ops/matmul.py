"""Matrix products: plain, batched, of a matrix and a vector, and the dense layer of a network."""

from __future__ import annotations

import numpy as np

from loopwright.ops.activation import ELEMENTS, activate, activate_numpy
from loopwright.ops.broadcast import Shape, broadcast, element
from loopwright.ops.operands import Pair, both, summed_in
from loopwright.sched.dtypes import is_float
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

# The activations that integers have as well.
OF_INTEGERS = {"none", "relu", "relu6"}


def product_numpy(a: Array, b: Array, *, dtype: Pair, ta: bool, tb: bool) -> Array:
    """The product of matrices: BLAS takes the transposed views without a copy."""
    wide = summed_in(dtype)
    if "bfloat16" in both("matmul", dtype):
        a, b = a.astype(wide), b.astype(wide)
    return np.matmul(a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b, dtype=wide)


def matmul_numpy(a: Array, b: Array, *bias: Array, dtype: Pair, ta: bool, tb: bool, activation: str) -> Array:
    """What :func:`matmul` computes."""
    out = product_numpy(a, b, dtype=dtype, ta=ta, tb=tb)
    if bias:
        out += bias[0]
    return activate_numpy(activation, out)


@operator(numpy=matmul_numpy)
def matmul(
    M: int,
    N: int,
    K: int,
    dtype: Pair = "float32",
    ta: bool = False,
    tb: bool = False,
    batch_a: Shape = (),
    batch_b: Shape = (),
    bias: bool = False,
    activation: str = "none",
) -> Stage:
    """``C[i, j] = sum over k of A[i, k] * B[k, j]``.

    Inputs: ``A`` of (M, K), or (K, M) with ``ta``; ``B`` of (K, N), or (N, K) with ``tb``. Output: stage ``C`` of
    (M, N), axes ``i``, ``j``, ``k``. float16 and bfloat16 are summed in float32, int8 in int32, uint8 in
    uint32, and ``C`` has that dtype.

    - ``dtype`` may be two, of ``A`` and of ``B``: ``("uint8", "int8")`` is summed in int32.
    - ``batch_a``, ``batch_b``: dimensions before those of ``A`` and of ``B``, which broadcast as NumPy's: ``C`` has them all,
      axes ``b0``, ``b1`` and so on before ``i``.
    - ``bias`` is an input of (N,), of the dtype of ``C``, added to each row.
    - ``activation`` is one of those of :func:`dense`; of integers only ``relu`` and ``relu6``.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.matmul(M=2, N=2, K=3).reference(np.ones((2, 3), "f"), np.ones((3, 2), "f"))
    array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    (left_dtype, right_dtype), wide = both("matmul", dtype), summed_in(dtype)
    batch = broadcast("matmul", batch_a, batch_b)
    if not is_float(wide) and activation in set(ELEMENTS) - OF_INTEGERS:
        raise DefinitionError(
            f"matmul: activation={activation!r} is of floats; products of {dtype} are {wide}"
        )
    A = input("A", (*batch_a, K, M) if ta else (*batch_a, M, K), left_dtype)
    B = input("B", (*batch_b, N, K) if tb else (*batch_b, K, N), right_dtype)
    offset = input("bias", (N,), wide) if bias else None
    k = reduce_axis("k", K)

    def value(*axes: Axis) -> Expr:
        *b, i, j = axes
        left = element(A, (*b, k, i) if ta else (*b, i, k))
        right = element(B, (*b, j, k) if tb else (*b, k, j))
        found: Expr = sum(left * right, over=k)
        return activate(activation, found if offset is None else found + offset[j], "matmul")

    names = (*(f"b{dim}" for dim in range(len(batch))), "i", "j")
    return compute("C", (*batch, M, N), value, axes=names)


def matvec_numpy(a: Array, x: Array, *, dtype: str, ta: bool) -> Array:
    """What :func:`matvec` computes."""
    return product_numpy(a, x[:, None], dtype=dtype, ta=ta, tb=False)[:, 0]


@operator(numpy=matvec_numpy)
def matvec(M: int, K: int, dtype: str = "float32", ta: bool = False) -> Stage:
    """``C[i] = sum over k of A[i, k] * X[k]``.

    Inputs: ``A`` of (M, K), or (K, M) with ``ta``; ``X`` of (K,). Output: stage ``C`` of (M,), axes ``i``, ``k``; its dtype is
    as in :func:`matmul`.
    """
    A, X = input("A", (K, M) if ta else (M, K), dtype), input("X", (K,), dtype)
    k = reduce_axis("k", K)
    return compute("C", (M,), lambda i: sum((A[k, i] if ta else A[i, k]) * X[k], over=k))


@operator(numpy=product_numpy)
def batch_matmul(
    B: int, M: int, N: int, K: int, dtype: Pair = "float32", ta: bool = False, tb: bool = False
) -> Stage:
    """``C[b, i, j] = sum over k of A[b, i, k] * B[b, k, j]``: B products side by side.

    Inputs: ``A`` of (B, M, K), or (B, K, M) with ``ta``; ``B`` of (B, K, N), or (B, N, K) with ``tb``. Output: stage
    ``C`` of (B, M, N), axes ``b``, ``i``, ``j``, ``k``; its dtype is as in :func:`matmul`.
    """
    left_dtype, right_dtype = both("batch_matmul", dtype)
    left = input("A", (B, K, M) if ta else (B, M, K), left_dtype)
    right = input("B", (B, N, K) if tb else (B, K, N), right_dtype)
    k = reduce_axis("k", K)

    def product(b: Expr, i: Expr, j: Expr) -> Expr:
        return sum(
            (left[b, k, i] if ta else left[b, i, k]) * (right[b, j, k] if tb else right[b, k, j]), over=k
        )

    return compute("C", (B, M, N), product)


def dense_numpy(x: Array, w: Array, bias: Array, *, dtype: str, activation: str) -> Array:
    """What :func:`dense` computes, updating the product in place."""
    out = product_numpy(x, w, dtype=dtype, ta=False, tb=True)
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

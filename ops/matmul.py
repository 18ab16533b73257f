"""Matrix products: plain and batched."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.sched.builders import compute, input, reduce_axis, sum
from loopwright.sched.dtypes import accumulator
from loopwright.sched.expr import Expr
from loopwright.sched.operator import operator
from loopwright.sched.stage import Stage

Array = np.ndarray[Any, Any]


def matmul_numpy(a: Array, b: Array, *, dtype: str, ta: bool, tb: bool) -> Array:
    """What :func:`matmul` and :func:`batch_matmul` compute: BLAS takes the transposed views without a copy."""
    return np.matmul(
        a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b, dtype=accumulator(dtype)
    )


@operator(numpy=matmul_numpy)
def matmul(M: int, N: int, K: int, dtype: str = "float32", ta: bool = False, tb: bool = False) -> Stage:
    """``C[i, j] = sum over k of A[i, k] * B[k, j]``.

    Inputs: ``A`` of (M, K), or (K, M) with ``ta``; ``B`` of (K, N), or (N, K) with ``tb``. Output: stage ``C`` of (M, N), axes
    ``i``, ``j``, ``k``. float16 is summed in float32, int8 in int32, and ``C`` has that dtype.

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
        "C", (M, N), lambda i, j: sum((A[k, i] if ta else A[i, k]) * (B[j, k] if tb else B[k, j]), over=k)
    )


@operator(numpy=matmul_numpy)
def batch_matmul(
    B: int, M: int, N: int, K: int, dtype: str = "float32", ta: bool = False, tb: bool = False
) -> Stage:
    """``C[b, i, j] = sum over k of A[b, i, k] * B[b, k, j]``: B products side by side.

    Inputs: ``A`` of (B, M, K), or (B, K, M) with ``ta``; ``B`` of (B, K, N), or (B, N, K) with ``tb``. Output: stage ``C`` of
    (B, M, N), axes ``b``, ``i``, ``j``, ``k``; its dtype is as in :func:`matmul`.
    """
    left = input("A", (B, K, M) if ta else (B, M, K), dtype)
    right = input("B", (B, N, K) if tb else (B, K, N), dtype)
    k = reduce_axis("k", K)

    def product(b: Expr, i: Expr, j: Expr) -> Expr:
        return sum(
            (left[b, k, i] if ta else left[b, i, k]) * (right[b, j, k] if tb else right[b, k, j]), over=k
        )

    return compute("C", (B, M, N), product)

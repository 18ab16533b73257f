"""Sparse products: matrices in compressed rows, and rows of blocks, times vectors and matrices."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import checked
from loopwright.sched.dtypes import accumulator
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, clip, compute, const, input, reduce_axis
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Input, Stage
from loopwright.sched.reference.numbers import Array


def _row_of_each(indptr: Input, rows: int, count: int) -> Stage:
    """The row of each of ``count`` stored elements: how many rows have ended before it.

    The ends of rows are counted at the elements where they are, then summed from the first on. A row that ends behind the
    last element is outside the stage, and so it is not counted.
    """
    row = compute("row", (count,), lambda e: const(0, "int32"))
    i, e = reduce_axis("i", rows), reduce_axis("e", count)
    ends = row.update(lambda old: old + 1, at=indptr[i + 1], over=i)
    return ends.update(lambda: (e, ends[e] + ends[e - 1]), over=e, where=e > 0)


def _row_of_each_numpy(indptr: Array, count: int) -> Array:
    """What :func:`_row_of_each` computes, with no assumption about ``indptr``."""
    ends = indptr[1:]
    inside = ends[(ends >= 0) & (ends < count)]
    return np.cumsum(np.bincount(inside, minlength=count)[:count], dtype=np.int64)


def _column(indices: Input, e: Expr, columns: int) -> Expr:
    """Where a stored element stands in its row; never outside, whatever the data."""
    return clip(indices[e], 0, columns - 1)


def _check(where: str, columns: int, count: int, dtype: str) -> str:
    """The dtype of the sums."""
    checked(where, "numbers", dtype)
    if columns == 0 and count != 0:
        raise DefinitionError(f"{where}: K=0 columns hold none of E={count} stored elements")
    return accumulator(dtype)


def csr_matvec_numpy(indptr: Array, indices: Array, data: Array, x: Array, *, dtype: str) -> Array:
    """What :func:`csr_matvec` computes."""
    return csr_matmul_numpy(indptr, indices, data, x[:, None], dtype=dtype)[:, 0]


@operator(numpy=csr_matvec_numpy)
def csr_matvec(M: int, K: int, E: int, dtype: str = "float32") -> Stage:
    """``Y[i] = sum over e from indptr[i] to indptr[i + 1] of data[e] * X[indices[e]]``: a sparse matrix times a vector.

    Inputs: a matrix of (M, K) with E stored elements, in rows (CSR): ``indptr`` of (M + 1,), where each row begins, and
    ``indices`` of (E,), the column of each element, both of int32, and ``data`` of (E,); the vector ``X`` of (K,). Stages:
    ``row`` of (E,), axis ``e``: the row of each element, which its updates count (``row.u0``, axis ``i``) and sum
    (``row.u1``, axis ``e``); and ``Y`` of (M,), axis ``i``, with its update ``Y.u0``, axis ``e``. float16 is summed in
    float32, int8 in int32, and ``Y`` has that dtype. ``indptr`` rises from 0 to E, as SciPy has it; an index outside ``0..K -
    1`` is moved to the nearest inside.
    """
    wide = _check("csr_matvec", K, E, dtype)
    indptr, indices = input("indptr", (M + 1,), "int32"), input("indices", (E,), "int32")
    data, X = input("data", (E,), dtype), input("X", (K,), dtype)
    row, e = _row_of_each(indptr, M, E), reduce_axis("e", E)
    Y = compute("Y", (M,), lambda i: const(0, wide))
    return Y.update(
        lambda old: old + cast(wide, data[e]) * cast(wide, X[_column(indices, e, K)]), at=row[e], over=e
    )


def csr_matmul_numpy(indptr: Array, indices: Array, data: Array, b: Array, *, dtype: str) -> Array:
    """What :func:`csr_matmul` computes."""
    wide = accumulator(dtype)
    row = _row_of_each_numpy(indptr, len(data))
    terms = data.astype(wide)[:, None] * b.astype(wide)[np.clip(indices, 0, max(0, len(b) - 1))]
    out = np.zeros((len(indptr) - 1, b.shape[1]), wide)
    np.add.at(out, row[row < len(out)], terms[row < len(out)])
    return out


@operator(numpy=csr_matmul_numpy)
def csr_matmul(M: int, N: int, K: int, E: int, dtype: str = "float32") -> Stage:
    """``C[i, j] = sum over e from indptr[i] to indptr[i + 1] of data[e] * B[indices[e], j]``: a sparse times a dense matrix.

    Inputs: ``indptr``, ``indices`` and ``data`` as in :func:`csr_matvec`, and ``B`` of (K, N). Stages: ``row``, as there, and
    ``C`` of (M, N), axes ``i``, ``j``, with its update ``C.u0``, axes ``j``, ``e``. Its dtype is as there.
    """
    wide = _check("csr_matmul", K, E, dtype)
    indptr, indices = input("indptr", (M + 1,), "int32"), input("indices", (E,), "int32")
    data, B = input("data", (E,), dtype), input("B", (K, N), dtype)
    row, e = _row_of_each(indptr, M, E), reduce_axis("e", E)
    C = compute("C", (M, N), lambda i, j: const(0, wide))

    def added(j: Expr) -> tuple[tuple[Expr, Expr], Expr]:
        term = cast(wide, data[e]) * cast(wide, B[_column(indices, e, K), j])
        return (row[e], j), C[row[e], j] + term

    return C.update(added, over=e)


def bsr_matvec_numpy(indptr: Array, indices: Array, data: Array, x: Array, *, dtype: str) -> Array:
    """What :func:`bsr_matvec` computes."""
    return bsr_matmul_numpy(indptr, indices, data, x[:, None], dtype=dtype)[:, 0]


@operator(numpy=bsr_matvec_numpy)
def bsr_matvec(M: int, K: int, R: int, S: int, E: int, dtype: str = "float32") -> Stage:
    """``Y[p * R + r] = sum over e from indptr[p] to indptr[p + 1], s of data[e, r, s] * X[indices[e] * S + s]``.

    Inputs: a matrix of (M, K) with E stored blocks of (R, S), in rows of blocks (BSR): ``indptr`` of (M / R + 1,), where each row
    of blocks begins, and ``indices`` of (E,), the place of each block in its row, both of int32, and ``data`` of (E, R, S); the
    vector ``X`` of (K,). Stages: ``row`` as in :func:`csr_matvec`, ``blocks`` of (M / R, R), axes ``p``, ``r``, with its update
    ``blocks.u0``, axes ``r``, ``e``, ``s``, and the output ``Y`` of (M,), axis ``i``. Its dtype is as there; a block outside is
    moved to the nearest inside.
    """
    wide = _check_blocks("bsr_matvec", M, K, R, S, E, dtype)
    indptr, indices = input("indptr", (M // R + 1,), "int32"), input("indices", (E,), "int32")
    data, X = input("data", (E, R, S), dtype), input("X", (K,), dtype)
    row, e, s = _row_of_each(indptr, M // R, E), reduce_axis("e", E), reduce_axis("s", S)
    sums = compute("blocks", (M // R, R), lambda p, r: const(0, wide))

    def added(r: Expr) -> tuple[tuple[Expr, Expr], Expr]:
        term = cast(wide, data[e, r, s]) * cast(wide, X[_column(indices, e, K // S) * S + s])
        return (row[e], r), sums[row[e], r] + term

    blocks = sums.update(added, over=(e, s))
    return compute("Y", (M,), lambda i: blocks[i // R, i % R])


def bsr_matmul_numpy(indptr: Array, indices: Array, data: Array, b: Array, *, dtype: str) -> Array:
    """What :func:`bsr_matmul` computes."""
    wide, (count, R, S) = accumulator(dtype), data.shape
    row, rows = _row_of_each_numpy(indptr, count), len(indptr) - 1
    panels = b.astype(wide).reshape(-1, S, b.shape[1])
    terms = data.astype(wide) @ panels[np.clip(indices, 0, max(0, len(panels) - 1))]
    out = np.zeros((rows, R, b.shape[1]), wide)
    np.add.at(out, row[row < rows], terms[row < rows])
    return out.reshape(rows * R, b.shape[1])


@operator(numpy=bsr_matmul_numpy)
def bsr_matmul(M: int, N: int, K: int, R: int, S: int, E: int, dtype: str = "float32") -> Stage:
    """``C[p * R + r, j] = sum over e from indptr[p] to indptr[p + 1], s of data[e, r, s] * B[indices[e] * S + s, j]``.

    Inputs: ``indptr``, ``indices`` and ``data`` as in :func:`bsr_matvec`, and ``B`` of (K, N). Stages: ``row``, ``blocks`` of
    (M / R, R, N), axes ``p``, ``r``, ``j``, with its update ``blocks.u0``, axes ``r``, ``j``, ``e``, ``s``, and the output ``C``
    of (M, N), axes ``i``, ``j``. Its dtype is as there.
    """
    wide = _check_blocks("bsr_matmul", M, K, R, S, E, dtype)
    indptr, indices = input("indptr", (M // R + 1,), "int32"), input("indices", (E,), "int32")
    data, B = input("data", (E, R, S), dtype), input("B", (K, N), dtype)
    row, e, s = _row_of_each(indptr, M // R, E), reduce_axis("e", E), reduce_axis("s", S)
    sums = compute("blocks", (M // R, R, N), lambda p, r, j: const(0, wide))

    def added(r: Expr, j: Expr) -> tuple[tuple[Expr, Expr, Expr], Expr]:
        term = cast(wide, data[e, r, s]) * cast(wide, B[_column(indices, e, K // S) * S + s, j])
        return (row[e], r, j), sums[row[e], r, j] + term

    blocks = sums.update(added, over=(e, s))
    return compute("C", (M, N), lambda i, j: blocks[i // R, i % R, j])


def _check_blocks(where: str, M: int, K: int, R: int, S: int, E: int, dtype: str) -> str:
    """The dtype of the sums, of a matrix that blocks divide."""
    for (name, size), (block, length) in ((("M", M), ("R", R)), (("K", K), ("S", S))):
        if length < 1 or size % length:
            raise DefinitionError(f"{where}: blocks of {block}={length} do not divide {name}={size}")
    return _check(where, K, E, dtype)

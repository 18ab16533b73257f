"""Selection: elements that other arrays choose, by index or by condition."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import Shape, broadcast, checked, element
from loopwright.ops.dims import dimension, replaced
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import constant_exterior
from loopwright.sched.language.builders import compute, const, input, reduce_axis, select
from loopwright.sched.language.expr import Axis, Expr, Extent
from loopwright.sched.language.extents import same
from loopwright.sched.language.operator import operator
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

MODES = ("clip", "wrap")


def take_numpy(x: Array, indices: Array, *, axis: int, mode: str) -> Array:
    """What :func:`take` computes."""
    return np.take(x, indices, axis, mode=mode)  # type: ignore[call-overload]


@operator(numpy=take_numpy)
def take(X: Shape, indices: Shape, axis: int = 0, mode: str = "clip", dtype: str = "float32") -> Stage:
    """``Y[..., j ..., ...] = X[..., indices[j ...], ...]``: along one dimension, what indices say.

    Inputs: ``X`` of any shape and dtype, ``indices`` of any shape, of int32. Output: stage ``Y``, whose shape is that of X with
    the shape of ``indices`` in the place of dimension ``axis``; axes ``i0``, ``i1`` and so on. An index that is outside is moved
    to the nearest that is not with ``mode="clip"``, and counts around, -1 as the last, with ``mode="wrap"``. As ``numpy.take``.
    """
    x, chosen = input("X", X, dtype), input("indices", indices, "int32")
    dim = dimension("take", axis, x.ndim)
    size, end = x.shape[dim], dim + chosen.ndim
    if mode not in MODES:
        raise DefinitionError(f"take: unknown mode {mode!r}; there are {' and '.join(MODES)}")
    _not_from_nothing("take", size, dim, chosen.shape)

    def value(*i: Axis) -> Expr:
        # An index that only the data knows is held inside by the language itself.
        index = chosen[i[dim:end]]
        at = (*i[:dim], index % size if mode == "wrap" else index, *i[end:])
        return x[at]

    return compute("Y", (*x.shape[:dim], *chosen.shape, *x.shape[dim + 1 :]), value)


def gather_numpy(x: Array, indices: Array, *, axis: int) -> Array:
    """What :func:`gather` computes."""
    return np.take_along_axis(x, np.clip(indices, 0, max(0, x.shape[axis] - 1)), axis)


@operator(numpy=gather_numpy)
def gather(X: Shape, indices: Shape, axis: int = 0, dtype: str = "float32") -> Stage:
    """``Y[..., j, ...] = X[..., indices[..., j, ...], ...]``: each element of indices chooses one along one dimension.

    Inputs: ``X`` of any dtype, ``indices`` of int32, of as many dimensions, which broadcast in all but ``axis``. Output: stage
    ``Y``, of the shape that they have together and the size of ``indices`` along ``axis``; axes ``i0``, ``i1`` and so on. An
    index that is outside is moved to the nearest that is not. As ``numpy.take_along_axis``.
    """
    x, chosen = input("X", X, dtype), input("indices", indices, "int32")
    dim = dimension("gather", axis, x.ndim)
    if chosen.ndim != x.ndim:
        raise DefinitionError(f"gather: X={X} and indices={indices} differ in their number of dimensions")
    _not_from_nothing("gather", x.shape[dim], dim, chosen.shape)
    shape = broadcast("gather", replaced(x.shape, dim, 1), chosen.shape)

    def value(*i: Axis) -> Expr:
        whole = tuple(
            0 if same(size, 1) and not same(at.extent, 1) else at for size, at in zip(x.shape, i, strict=True)
        )
        return x[replaced(whole, dim, element(chosen, i))]

    return compute("Y", shape, value)


def _not_from_nothing(where: str, size: Extent, dim: int, chosen: tuple[Extent, ...]) -> None:
    """Refuse to choose among no elements, as NumPy does."""
    if not at_most(1, size) and not any(same(count, 0) for count in chosen):
        may = "may have no elements (promise at_least=1)" if isinstance(size, Expr) else "has no elements"
        raise DefinitionError(f"{where}: dimension {dim} of X {may} to choose from")


@operator(numpy=np.where)
def where(condition: Shape, A: Shape, B: Shape, dtype: str = "float32") -> Stage:
    """``C = a if c else b``, of each element c of condition, a of A and b of B.

    Inputs: ``condition`` of bool, ``A`` and ``B`` of any dtype; their shapes broadcast. Output: stage ``C`` of the
    broadcast shape, axes ``i0``, ``i1`` and so on. As ``numpy.where``.
    """
    c, a, b = input("condition", condition, "bool"), input("A", A, dtype), input("B", B, dtype)
    shape = broadcast("where", c.shape, a.shape, b.shape)
    return compute("C", shape, lambda *i: select(element(c, i), element(a, i), element(b, i)))


def one_hot_numpy(indices: Array, *, N: int, axis: int, dtype: str) -> Array:
    """What :func:`one_hot` computes."""
    found = indices[..., None] == np.arange(N, dtype="int32")
    return np.ascontiguousarray(np.moveaxis(found, -1, axis)).astype(dtype)


@operator(numpy=one_hot_numpy)
def one_hot(indices: Shape, N: int, axis: int = -1, dtype: str = "float32") -> Stage:
    """``Y[..., n, ...] = 1 where n is the index, else 0``, of each index along a new dimension of N elements.

    Input: ``indices`` of any shape, of int32. Output: stage ``Y`` of any dtype, axes ``i0``, ``i1`` and so on; its dimension
    ``axis`` is the new one. An index outside ``0..N - 1`` gives zeros alone.
    """
    chosen = input("indices", indices, "int32")
    dim = dimension("one_hot", axis, chosen.ndim + 1)

    def value(*i: Axis) -> Expr:
        return select(chosen[i[:dim] + i[dim + 1 :]] == i[dim], const(1, dtype), const(0, dtype))

    return compute("Y", (*chosen.shape[:dim], N, *chosen.shape[dim:]), value)


def embedding_numpy(indices: Array, w: Array) -> Array:
    """What :func:`embedding` computes."""
    inside = (indices >= 0) & (indices < len(w))
    if len(w) == 0:
        return np.zeros((*indices.shape, w.shape[1]), w.dtype)
    rows = w[np.where(inside, indices, 0)]
    rows[~inside] = 0
    return rows


@operator(numpy=embedding_numpy)
def embedding(indices: Shape, V: int, D: int, dtype: str = "float32") -> Stage:
    """``Y[..., d] = W[indices[...], d]``: the row of a table for each index.

    Inputs: ``indices`` of any shape, of int32, and the table ``W`` of (V, D), of any dtype. Output: stage ``Y``, axes ``i0``,
    ``i1`` and so on; the last is d. An index outside ``0..V - 1``, such as -1 for an empty place, gives a row of zeros.
    """
    chosen, table = input("indices", indices, "int32"), input("W", (V, D), dtype)
    rows = constant_exterior(table, 0, dims=0)
    return compute("Y", (*chosen.shape, D), lambda *i: rows[chosen[i[:-1]], i[-1]])


def scatter_add_numpy(x: Array, indices: Array, u: Array) -> Array:
    """What :func:`scatter_add` computes."""
    y, inside = x.copy(), (indices >= 0) & (indices < len(x))
    np.add.at(y, indices[inside], u[inside])
    return y


@operator(numpy=scatter_add_numpy)
def scatter_add(M: int, N: int, K: int, dtype: str = "float32") -> Stage:
    """``Y = X; for each k in order: Y[indices[k], j] += U[k, j]``.

    Inputs: ``X`` of (M, N), ``indices`` of (K,), of int32, and ``U`` of (K, N), of numbers. Stages: ``Y`` of (M, N), axes ``i``,
    ``j``, and its update ``Y.u0``, axes ``j``, ``k``. An index outside ``0..M - 1`` adds nothing. Sums keep the dtype: floats are
    rounded, and integers wrap, at each addition.
    """
    X, indices = input("X", (M, N), checked("scatter_add", "numbers", dtype)), input("indices", (K,), "int32")
    U, k = input("U", (K, N), dtype), reduce_axis("k", K)
    Y = compute("Y", (M, N), lambda i, j: X[i, j])
    return Y.update(lambda j: ((indices[k], j), Y[indices[k], j] + U[k, j]), over=k)

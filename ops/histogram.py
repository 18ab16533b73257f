"""Counting: how many elements of an array fall into each bin."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import Shape, checked
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, compute, const, input, min, reduce_axis
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def _wide(dtype: str) -> str:
    """What bins are computed in: float32 of what it holds exactly, float64 of the rest."""
    return "float64" if dtype in ("float64", "int32", "uint32", "int64", "uint64") else "float32"


def histogram_numpy(x: Array, *, bins: int, low: float, high: float, dtype: str) -> Array:
    """What :func:`histogram` computes."""
    wide = np.dtype(_wide(dtype)).type
    x = x.astype(wide, copy=False).ravel()
    x = x[(x >= wide(low)) & (x <= wide(high))]
    at = np.minimum(((x - wide(low)) * wide(bins / (high - low))).astype("int64"), bins - 1)
    return np.bincount(at, minlength=bins).astype("int32")


@operator(numpy=histogram_numpy)
def histogram(X: Shape, bins: int = 256, low: float = 0, high: float = 1, dtype: str = "float32") -> Stage:
    """``Y[b] = how many x of X have floor((x - low) * bins / (high - low)) = b``; one that is ``high`` is in the last bin.

    Input: ``X`` of any shape, of numbers. Output: stage ``Y`` of (bins,), of int32, axis ``b``; its update ``Y.u0`` counts one
    element after another, axes ``t0``, ``t1`` and so on for the dimensions of ``X``. What is below ``low`` or above ``high``
    is not counted, nor is NaN. The place is computed in float32 (of float64 and of integers of 32 bits or more in float64):
    where NumPy compares with rounded edges, what is a rounding away from one may count beside it.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.histogram(X=(5,), bins=4).reference(np.array([0, 0.1, 0.5, 1, 2], "f"))
    array([2, 0, 1, 1], dtype=int32)
    """
    if bins < 1:
        raise DefinitionError(f"histogram: bins={bins}; there is at least 1")
    if not low < high or high - low == float("inf"):
        raise DefinitionError(
            f"histogram: the bins go from low={low} to high={high}; low is below high, both are finite"
        )
    x = input("X", X, checked("histogram", "numbers", dtype))
    over = tuple(reduce_axis(f"t{dim}", extent) for dim, extent in enumerate(x.shape)) or (
        reduce_axis("t", 1),
    )
    found = cast(_wide(dtype), x[over if x.shape else ()])
    at = min(cast("int32", (found - low) * (bins / (high - low))), bins - 1)
    inside = (found >= low) & (found <= high)
    Y = compute("Y", (bins,), lambda b: const(0, "int32"))
    return Y.update(lambda old: old + 1, at=at, over=over, where=inside)


def bincount_numpy(x: Array, *weights: Array, bins: int) -> Array:
    """What :func:`bincount` computes."""
    inside = (x >= 0) & (x < bins)
    if not weights:
        return np.bincount(x[inside], minlength=bins).astype("int32")
    return np.bincount(x[inside], weights[0][inside], minlength=bins).astype(weights[0].dtype)


@operator(numpy=bincount_numpy)
def bincount(N: int, bins: int, weights: bool = False, dtype: str = "int32") -> Stage:
    """``Y[b] = how many t have X[t] = b``; or the sum of their ``W[t]``.

    Inputs: ``X`` of (N,), of integers; with ``weights`` also ``W`` of (N,), of float32. Output: stage ``Y`` of (bins,), axis
    ``b``, of int32 or float32; its update ``Y.u0`` counts one element after another, axis ``t``. What is below 0, or
    ``bins`` and above, is not counted.
    """
    if bins < 0:
        raise DefinitionError(f"bincount: bins={bins} is less than none")
    x, t = input("X", (N,), checked("bincount", "integers", dtype)), reduce_axis("t", N)
    w = input("W", (N,), "float32") if weights else None
    Y = compute("Y", (bins,), lambda b: const(0, "float32" if weights else "int32"))
    return Y.update(lambda old: old + (1 if w is None else w[t]), at=x[t], over=t)

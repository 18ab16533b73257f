"""Small elementwise kernels, to try what one element can be computed with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import loopwright as lw

Array = np.ndarray[Any, Any]


def elementwise(fn: Callable[..., Any], dtypes: Sequence[str], n: int) -> lw.Workload:
    """``y[i] = fn(x0[i], x1[i], ...)`` over ``n`` elements."""

    @lw.operator
    def each(N: int) -> Any:
        inputs = [lw.input(f"x{k}", (N,), dtype) for k, dtype in enumerate(dtypes)]
        return lw.compute("y", (N,), lambda i: fn(*(x[i] for x in inputs)))

    return each(N=n)


def computed(fn: Callable[..., Any], *arrays: Array) -> Array:
    """What kernels make of arrays: one by one and in vectors, which must agree, and with the reference too."""
    work = elementwise(fn, [array.dtype.name for array in arrays], arrays[0].size)
    plain = work.schedule()
    results = [
        lw.build(work, target="cpu", schedule=schedule)(*arrays)
        for schedule in (plain, plain.vectorize("y.i", 16))
    ]
    assert same(results[0], results[1]), "a vectorized kernel differs"
    wrong = lw.Workload.reference(work, *arrays)
    assert same(results[0], wrong), difference(fn, arrays, results[0], wrong)
    return results[0]


def same(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same values of the same dtype, NaN equal to itself, -0.0 to 0.0."""
    return a.dtype == b.dtype and bool(np.all((a == b) | ((a != a) & (b != b))))


def difference(fn: Any, arrays: Sequence[Array], got: Array, want: Array) -> str:
    """Where two results differ first."""
    if got.dtype != want.dtype:
        return f"{got.dtype} instead of {want.dtype}"
    at = int(np.argmin((got == want) | ((got != got) & (want != want))))
    return f"of {[array[at] for array in arrays]}: {got[at]} instead of {want[at]}"


def pairs(values: Array) -> tuple[Array, Array]:
    """All pairs of some values."""
    a, b = np.meshgrid(values, values)
    return np.ascontiguousarray(a.reshape(-1)), np.ascontiguousarray(b.reshape(-1))

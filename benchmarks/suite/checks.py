"""Whether a result is the row's: nobody is timed who computes something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.table import Row
from loopwright.sched.dtypes import stored
from loopwright.sched.reference.numbers import plain

# How far a result may be off, of the greatest element: sums in any order, or numbers rounded to bfloat16.
NEAR = {"float32": 2.0**-16, "bfloat16": 2.0**-6}

Array = np.ndarray[Any, Any]


def dtype_of(row: Row) -> str:
    """The dtype of the row's operands."""
    return str(row.work().inputs[0].dtype)


def write_data(row: Row, folder: Path) -> Array:
    """Put the row's inputs into a folder for every process, bfloat16 as its bits; returns what is expected of them.

    That is by the operator's NumPy function, or lacking one by the reference evaluator.
    """
    arrays, work = row.arrays(), row.work()
    for number, array in enumerate(arrays):
        np.save(folder / f"input-{number}.npy", array.view(stored(array.dtype.name)))
    return plain(np.asarray(work.numpy(*arrays) if work.numpy is not None else work.reference(*arrays)))


def wrong(got: Array, want: Array, dtype: str, slack: float) -> str | None:
    """None if a result is what is expected; otherwise what is wrong with it.

    Args:
        got: the result; integers may be of another width.
        want: what is expected.
        dtype: of the row's operands.
        slack: how far an element may be off beside rounding.

    >>> wrong(np.ones(2), np.ones(3), "float32", 0.0)
    'shape (2,) instead of (3,)'
    """
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    near = 0.0
    if np.issubdtype(want.dtype, np.floating):
        near = NEAR[dtype] * float(np.abs(want).max(initial=0.0))
    distance = np.abs(got.astype(np.float64) - want.astype(np.float64))
    off = ~(distance <= near + slack)
    if not off.any():
        return None
    return f"{int(off.sum())} of {off.size} elements are off, by up to {distance.max():.3g}"

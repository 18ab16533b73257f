"""A stage that a C function computes whole, between two that are loops; for schedules only, there is no such function."""

from __future__ import annotations

import numpy as np

import loopwright as lw


def sorted_between() -> lw.Workload:
    """``t`` is read whole by ``y``, and ``z`` reads that."""
    x = lw.input("x", (7, 37), "int32")
    t = lw.compute("t", (7, 37), lambda i, j: x[i, j] * 2)
    y = lw.extern_stage("y", (7, 37), "sort_rows", [t], numpy=np.sort)
    return lw.Workload("between", {}, [x], [lw.compute("z", (7, 37), lambda i, j: y[i, j] + t[i, j])])

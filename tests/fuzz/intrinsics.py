"""Intrinsics for random schedules: Loopwright's own for pairs of short integers, and some of the tests'."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import loopwright as lw
from tests.sched.test_tensorize import GEMV, rows_times_row

AXPY_DTYPES = ("float32", "float64", "int32", "int64")
PAIRS = {"int16": "avx2.dot8x2.i16", "int8": "avx2.dot8x2.i8", "uint8": "avx2.dot8x2.u8i8"}
LANES = 8
ROWS = "fuzz.gemv8x4"


@cache
def register() -> None:
    """Make those of the tests known."""
    from tvm import tirx

    for dtype in AXPY_DTYPES:
        one = tirx.const(1, dtype)
        lw.intrinsic(axpy(dtype), _axpy(dtype), lambda y, a, x: y + tirx.Broadcast(a, LANES) * x)
        lw.intrinsic(
            scale(dtype),
            _scale(dtype),
            lambda x, w, one=one: x * tirx.Broadcast(w, LANES) + tirx.Broadcast(one, LANES),
        )
    lw.intrinsic(ROWS, rows_times_row, lw.LlvmFunction("gemv_update", GEMV, strides=True))


def axpy(dtype: str) -> str:
    """The name of the intrinsic that adds a multiple of eight numbers to eight others."""
    return f"fuzz.axpy8.{dtype}"


def scale(dtype: str) -> str:
    """The name of the one that multiplies eight numbers by another, and adds 1."""
    return f"fuzz.scale8.{dtype}"


def _axpy(dtype: str) -> Callable[[], Any]:
    def definition() -> Any:
        a, x = lw.input("a", (), dtype), lw.input("x", (LANES,), dtype)
        r = lw.reduce_axis("r", 1)
        return lw.compute("y", (LANES,), lambda i: lw.sum(a[()] * x[i], over=r))

    return definition


def _scale(dtype: str) -> Callable[[], Any]:
    def definition() -> Any:
        x, w = lw.input("x", (LANES,), dtype), lw.input("w", (), dtype)
        return lw.compute("y", (LANES,), lambda i: x[i] * w[()] + 1)

    return definition

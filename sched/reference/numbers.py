"""What the operations of the language do with arrays of numbers, in NumPy's words; and how finely each dtype rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loopwright.sched import dtypes

Array = np.ndarray[Any, Any]


def _floordiv(a: Array, b: Array) -> Array:
    """Floor division; of floats it is the floor of the rounded quotient, of integers by 0 it is 0."""
    return np.floor(a / b) if a.dtype.kind == "f" else np.floor_divide(a, b)


def _truncdiv(a: Array, b: Array) -> Array:
    """Integer division toward zero: the floor of the magnitudes, with the sign put back; 0 by 0."""
    floor, left = np.floor_divide(a, b), np.mod(a, b)
    return floor + ((left != 0) & (floor < 0)).astype(a.dtype)


def _truncmod(a: Array, b: Array) -> Array:
    return np.where(b == 0, np.zeros((), a.dtype), a - _truncdiv(a, b) * b)


def _mod(a: Array, b: Array) -> Array:
    return a - np.floor(a / b) * b if a.dtype.kind == "f" else np.mod(a, b)


BINARIES: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": _floordiv, "mod": _mod,
    "truncdiv": _truncdiv, "truncmod": _truncmod,
    "min": np.minimum, "max": np.maximum, "pow": np.power, "and": np.logical_and, "or": np.logical_or,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip


def plain(array: Array) -> Array:
    """An array that NumPy computes with: narrow floats as float32, in which their arithmetic is done."""
    return array.astype(np.float32) if array.dtype.name in dtypes.NARROW else array


def to_integer(array: Array, dtype: str) -> Array:
    """Floats as integers: without their fraction, NaN as 0, what is too large as the nearest there is."""
    whole = np.nan_to_num(np.trunc(array.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = dtypes.limits(dtype)
    inside = (whole > low) & (whole < high)
    limit = np.where(whole <= low, np.array(low, dtype), np.array(high, dtype))
    return np.where(inside, np.where(inside, whole, 0).astype(dtype), limit)


def _finfo(dtype: str) -> Any:
    if dtype not in dtypes.NARROW:
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtypes.numpy_dtype(dtype))


def unit(dtype: str) -> float:
    """The distance from 1 to the next number: twice a rounding error, once for the kernel and once for the reference."""
    return float(_finfo(dtype).eps)


def floor_of(dtype: str) -> float:
    """Below this, numbers have lost digits or a kernel may flush them to zero."""
    info = _finfo(dtype)
    return float(info.tiny if dtype in ("float32", "float64", "bfloat16") else info.smallest_subnormal)

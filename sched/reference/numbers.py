"""What the operations of the language do with arrays of numbers, in NumPy's words; and how finely each dtype rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from loopwright.sched import dtypes

Array = np.ndarray[Any, Any]

_ERF = np.frompyfunc(math.erf, 1, 1)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c``: of float32 and narrower operands the product is exact in float64, of others in x86's long double nearly."""
    return (a.astype(np.longdouble) * b + c).astype(np.float64)


def _ones(x: Array) -> Array:
    """The bits of integers, the lowest first, along a dimension of their own."""
    bits = 8 * x.itemsize
    return np.stack([(x >> n) & 1 for n in range(bits)])


def _before(bits: Array) -> Array:
    """How many zeros come before the first one."""
    return np.where(bits.any(axis=0), bits.argmax(axis=0), len(bits))


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "sqrt": np.sqrt, "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "erf": lambda x: np.asarray(_ERF(x), np.float64),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign, "fma": _fma,
    "popcount": lambda x: _ones(x).sum(axis=0), "clz": lambda x: _before(_ones(x)[::-1]), "ctz": lambda x: _before(_ones(x)),
}  # fmt: skip
EXACT_FUNCTIONS = ("abs", "floor", "ceil", "round", "trunc", "fmod", "copysign")
# A good approximation of these is near in units of the last place; of the others also in absolute terms around a zero.
RELATIVE_FUNCTIONS = ("exp", "exp2", "sqrt", "rsqrt", "cosh", "sigmoid", "hypot", "fma")
FUNCTION_ULPS = 16


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

"""The mathematical functions with NumPy, in float64, and how far a kernel's may be from them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from loopwright.sched.language.expr import FAST, SEVERAL
from loopwright.sched.reference.numbers import Array

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
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "sqrt": np.sqrt, "abs": np.abs, "pow": np.power,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "erf": lambda x: np.asarray(_ERF(x), np.float64),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign, "fma": _fma,
    "popcount": lambda x: _ones(x).sum(axis=0), "clz": lambda x: _before(_ones(x)[::-1]), "ctz": lambda x: _before(_ones(x)),
}  # fmt: skip
FUNCTIONS |= {f"fast_{name}": FUNCTIONS[name] for name in FAST}
EXACT_FUNCTIONS = ("abs", "floor", "ceil", "round", "trunc", "fmod", "copysign")
# What the C library's may be off, and a C function of the user's.
LIBRARY_ULPS = 16
# What kernels promise, and what NumPy's own may be off: of float16 and float32 nothing, since they are computed in float64.
ULPS = {"float16": 1, "float32": 2, "float64": 8}
FAST_ULPS = {"float16": 1, "float32": 8, "float64": 8}


def ulps(fn: str, dtype: str, result: Array) -> float | Array:
    """How many units in the last place a kernel's result may be off."""
    if fn in SEVERAL:
        return LIBRARY_ULPS
    if not fn.startswith("fast_"):
        return ULPS[dtype]
    if fn == "fast_pow":  # an error of the logarithm counts as often as the result has binary digits
        with np.errstate(divide="ignore"):
            size = np.nan_to_num(np.abs(np.log2(np.abs(result.astype(np.float64)))), posinf=0)
        return FAST_ULPS[dtype] * (1 + size)
    return FAST_ULPS[dtype]

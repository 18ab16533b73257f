"""Mathematical functions as arithmetic that fills vector registers, in place of calls of the C library.

A function of the language is expanded where TensorIR is written (:func:`expand`); the loop around it is vectorized with
everything in it. How accurate each is, over the whole range of its format, and which are left to the C library stands in
``docs/vector_math.md``; the tests hold them to it. float16 and bfloat16 are computed in float32.

The coefficients are derived by ``benchmarks/vector_math_coefficients.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopwright.sched.lowering.vectormath import (
    error,
    exponential,
    fast,
    inverse,
    logarithm,
    power,
    power_double,
    trigonometric,
    trigonometric_double,
)
from loopwright.sched.lowering.vectormath.value import Function, Places, given, write

PRODUCTS = power.PRODUCTS
BOTH: dict[str, Function] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1, "sigmoid": exponential.sigmoid,
    "tanh": exponential.tanh, "sinh": exponential.sinh, "cosh": exponential.cosh, "erf": error.erf,
    "log": logarithm.log, "log2": logarithm.log2, "log10": logarithm.log10, "log1p": logarithm.log1p,
    "asin": inverse.asin, "acos": inverse.acos, "atan": inverse.atan, "rsqrt": power.rsqrt,
}  # fmt: skip
SINGLE: dict[str, Function] = {
    "pow": power.pow,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
}
DOUBLE: dict[str, Function] = {
    "pow": power_double.pow,
    "sin": trigonometric_double.sin, "cos": trigonometric_double.cos, "tan": trigonometric_double.tan,
}  # fmt: skip  # fmt: skip
FAST: dict[str, Function] = {
    f"fast_{f.__name__}": f
    for f in (fast.exp, fast.exp2, fast.log, fast.log2, fast.sigmoid, fast.pow, fast.sin, fast.cos)
}
FUNCTIONS: dict[str, dict[str, Function]] = {"float32": BOTH | SINGLE | FAST, "float64": BOTH | DOUBLE}


def expand(fn: str, args: Sequence[Any], dtype: str, places: Places) -> Any | None:
    """The TensorIR of a function of ``args``, which are TensorIR too; None for one that is the C library's.

    ``places`` is where the statements go that it needs before it.
    """
    function = FUNCTIONS[dtype].get(fn)
    return None if function is None else write(function(*(given(arg, dtype) for arg in args)), places)


def product(x: Any, exponent: float, dtype: str, places: Places) -> Any:
    """``x`` (TensorIR) to one of the exponents in :data:`PRODUCTS`, by multiplication."""
    return write(power.product(given(x, dtype), exponent), places)

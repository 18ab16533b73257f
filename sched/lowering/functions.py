"""Mathematical functions in TensorIR: our own arithmetic where there is any, else an instruction or the C library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import tirx

from loopwright.sched.lowering import vectormath
from loopwright.sched.lowering.vectormath.value import Places

# Functions that round nothing: one instruction each.
EXACT = ("abs", "floor", "ceil", "round", "trunc")
INTRINSICS = {"pow": "power"}


def call(fn: str, args: Sequence[Any], dtype: str, places: Places) -> Any:
    """A function of TensorIR expressions; of float16 it is computed in float32, which has the digits.

    ``places`` is where the statements go that it needs before it.
    """
    if fn == "round":  # TVM's own is computed lane by lane
        return tirx.call_llvm_pure_intrin(dtype, "llvm.roundeven", *args)
    if fn in EXACT:
        return getattr(tirx, fn)(*args)
    if dtype == "float16":
        return tirx.Cast(dtype, call(fn, [tirx.Cast("float32", a) for a in args], "float32", places))
    expanded = vectormath.expand(fn, args, dtype, places)
    if expanded is not None:
        return expanded
    if fn.startswith("fast_"):  # there is no other form
        return call(fn.removeprefix("fast_"), args, dtype, places)
    return getattr(tirx, INTRINSICS.get(fn, fn))(*args)


def power(a: Any, b: Any, dtype: str, places: Places) -> Any:
    """``a ** b``; a small whole exponent makes products."""
    if isinstance(b, tirx.FloatImm) and float(b.value) in vectormath.PRODUCTS:
        return vectormath.product(a, float(b.value), dtype, places)
    return call("pow", (a, b), dtype, places)

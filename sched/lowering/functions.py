"""Mathematical functions in TensorIR: our own arithmetic where there is any, else an instruction or the C library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import tirx

from loopwright.sched.lowering import vectormath

# Functions that round nothing: one instruction each.
EXACT = ("abs", "floor", "ceil", "round", "trunc")
INTRINSICS = {"pow": "power"}

Hold = Callable[[Any], Any]


def call(fn: str, args: Sequence[Any], dtype: str, hold: Hold) -> Any:
    """A function of TensorIR expressions; of float16 it is computed in float32, which has the digits.

    ``hold`` gives a value that is used several times a place of its own.
    """
    if fn == "round":  # TVM's own is computed lane by lane
        return tirx.call_llvm_pure_intrin(dtype, "llvm.roundeven", *args)
    if fn in EXACT:
        return getattr(tirx, fn)(*args)
    if dtype == "float16":
        return tirx.Cast(dtype, call(fn, [tirx.Cast("float32", a) for a in args], "float32", hold))
    expanded = vectormath.expand(fn, args, dtype, hold)
    if expanded is not None:
        return expanded
    if fn.startswith("fast_"):  # there is no other form
        return call(fn.removeprefix("fast_"), args, dtype, hold)
    return getattr(tirx, INTRINSICS.get(fn, fn))(*args)


def power(a: Any, b: Any, dtype: str, hold: Hold) -> Any:
    """``a ** b``; a small whole exponent makes products."""
    if isinstance(b, tirx.FloatImm) and float(b.value) in vectormath.PRODUCTS:
        return vectormath.product(a, float(b.value), dtype, hold)
    return call("pow", (a, b), dtype, hold)

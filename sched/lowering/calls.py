"""Functions that TVM has no form of its own for: of two and three arguments, and those that count bits."""

from __future__ import annotations

from typing import Any

from tvm import tirx

from loopwright.sched import dtypes

# The C library's, computed lane by lane.
LIBRARY = ("atan2", "hypot", "fmod")
# Single instructions, of which LLVM knows the vector forms.
INSTRUCTIONS = ("copysign", "fma")
SEVERAL = (*LIBRARY, *INSTRUCTIONS)
COUNTS = ("popcount", "clz", "ctz")


def counted(fn: str, a: Any, dtype: str) -> Any:
    """``popcount``, ``clz`` or ``ctz`` of an integer, which is used several times: a variable, or cheap."""
    bits = 8 * dtypes.itemsize(dtype)
    wide = "uint64" if bits == 64 else "uint32"
    value = tirx.Cast(wide, tirx.Cast(f"uint{bits}", a))
    zero, one = tirx.const(0, wide), tirx.const(1, wide)
    if fn == "clz":
        empty = tirx.EQ(value, zero)
        held = tirx.Select(empty, one, value)
        found = tirx.Sub(tirx.Cast(wide, tirx.clz(held)), tirx.const(max(32, bits) - bits, wide))
        return tirx.Cast(dtype, tirx.Select(empty, tirx.const(bits, wide), found))
    if fn == "ctz":  # below the last 1 of a number, one less has only ones
        below = tirx.bitwise_and(
            tirx.bitwise_not(value), tirx.Sub(tirx.Select(tirx.EQ(value, zero), one, value), one)
        )
        return tirx.Cast(
            dtype, tirx.Select(tirx.EQ(value, zero), tirx.const(bits, wide), tirx.popcount(below))
        )
    return tirx.Cast(dtype, tirx.popcount(value))


def several(fn: str, args: list[Any], dtype: str) -> Any:
    """A function of several floats; of float16 it is computed in float32."""
    if dtype == "float16":
        return tirx.Cast(dtype, several(fn, [tirx.Cast("float32", a) for a in args], "float32"))
    if fn in LIBRARY:
        return tirx.call_pure_extern(dtype, fn + ("f" if dtype == "float32" else ""), *args)
    return tirx.call_llvm_pure_intrin(dtype, f"llvm.{fn}", *args)

"""Dot products of short integers on x86: many at once, accumulated in int32. All are exact: they wrap, as int32 does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from loopwright.sched.intrinsics.registry import intrinsic
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.stage import Stage


def dot(outputs: int, terms: int, left: str, right: str, into: str = "int32") -> Callable[[], Stage]:
    """``out[i] += a[k] * b[i, k]`` over ``terms`` values of ``k``, in ``into``."""

    def definition() -> Stage:
        a, b = input("a", (terms,), left), input("b", (outputs, terms), right)
        k = reduce_axis("k", terms)
        return compute("out", (outputs,), lambda i: sum(cast(into, a[k]) * cast(into, b[i, k]), over=k))

    return definition


@cache
def register() -> None:
    """Make them known."""
    for name, left, right, into in (
        ("i16", "int16", "int16", "int32"),
        ("i16.u32", "int16", "int16", "uint32"),
        ("i8", "int8", "int8", "int32"),
        ("u8i8", "uint8", "int8", "int32"),
    ):
        eight = _pairs(8, "llvm.x86.avx2.pmadd.wd", into)
        intrinsic(f"avx2.dot8x2.{name}", dot(8, 2, left, right, into), eight, ("avx2",))
        sixteen = _pairs(16, "llvm.x86.avx512.pmaddw.d.512", into)
        intrinsic(f"avx512.dot16x2.{name}", dot(16, 2, left, right, into), sixteen, ("avx512bw",))
    intrinsic("avx512.vnni.dot16x4", dot(16, 4, "uint8", "int8"), _quads(16, "512"), ("avx512vnni",))
    intrinsic("avx.vnni.dot8x4", dot(8, 4, "uint8", "int8"), _quads(8, "256"), ("avxvnni",))


def _pairs(outputs: int, instruction: str, into: str) -> Callable[..., Any]:
    """vpmaddwd: products of 16-bit integers, added in pairs. Shorter ones are widened first, so nothing saturates."""

    def implementation(out: Any, a: Any, b: Any) -> Any:
        from tvm import tirx

        pair = tirx.reinterpret("int32", tirx.Cast("int16x2", a))
        wide = tirx.reinterpret(f"int16x{2 * outputs}", tirx.Broadcast(pair, outputs))
        products = tirx.call_llvm_pure_intrin(
            f"int32x{outputs}", instruction, wide, tirx.Cast(f"int16x{2 * outputs}", b)
        )
        # In 64 bits, where no sum overflows: TVM promises LLVM that those of int32 never do. LLVM makes it one addition.
        wide_sum = tirx.Cast(f"int64x{outputs}", out) + tirx.Cast(f"int64x{outputs}", products)
        return tirx.Cast(f"{into}x{outputs}", wide_sum)

    return implementation


def _quads(outputs: int, width: str) -> Callable[..., Any]:
    """vpdpbusd: four products of an unsigned and a signed byte each, accumulated without saturation."""

    def implementation(out: Any, a: Any, b: Any) -> Any:
        from tvm import tirx

        four = tirx.reinterpret(f"int8x{4 * outputs}", tirx.Broadcast(tirx.reinterpret("int32", a), outputs))
        return tirx.call_llvm_pure_intrin(
            f"int32x{outputs}", f"llvm.x86.avx512.vpdpbusd.{width}", out, four, b
        )

    return implementation

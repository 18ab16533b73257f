"""Dot products of narrow elements on x86: many at once, accumulated in 32 bits. Those of integers are exact: they wrap, as int32
does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from loopwright.sched.intrinsics.registry import Implementation, LlvmFunction
from loopwright.sched.intrinsics.registry import register as registered
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.stage import Stage

# In the name of an intrinsic -> the element types of a and b, and what is accumulated in.
PAIRS = {
    "i16": ("int16", "int16", "int32"),
    "i16.u32": ("int16", "int16", "uint32"),
    "i8": ("int8", "int8", "int32"),
    "u8i8": ("uint8", "int8", "int32"),
}

# Two products each, every sum rounded to the nearest; numbers below the normal ones count as zero. (TVM has no vectors of
# LLVM's bfloat to call the instruction with.)
VDPBF16PS = """
define linkonce_odr void @loopwright_vdpbf16ps(ptr %out, ptr %a, ptr %b) alwaysinline nounwind "target-features"="+avx512bf16" {
  %sums = load <16 x float>, ptr %out, align 4
  %pair = load i32, ptr %a, align 2
  %lane = insertelement <16 x i32> poison, i32 %pair, i64 0
  %lanes = shufflevector <16 x i32> %lane, <16 x i32> poison, <16 x i32> zeroinitializer
  %pairs = bitcast <16 x i32> %lanes to <32 x bfloat>
  %others = load <32 x bfloat>, ptr %b, align 2
  %new = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sums, <32 x bfloat> %pairs, <32 x bfloat> %others)
  store <16 x float> %new, ptr %out, align 4
  ret void
}
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
"""


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
    for name, kinds in PAIRS.items():
        _register(f"avx2.dot8x2.{name}", 8, 2, kinds, _pairs(8, "llvm.x86.avx2.pmadd.wd", kinds[-1]), "avx2")
        wide = _pairs(16, "llvm.x86.avx512.pmaddw.d.512", kinds[-1])
        _register(f"avx512.dot16x2.{name}", 16, 2, kinds, wide, "avx512bw")
    for prefix, outputs, feature in (
        ("avx512.vnni.dot16", 16, "avx512vnni"),
        ("avx.vnni.dot8", 8, "avxvnni"),
    ):
        for into, suffix in (("int32", ""), ("uint32", ".u32")):
            quads = _accumulating("vpdpbusd", outputs, 4, into)
            _register(f"{prefix}x4{suffix}", outputs, 4, ("uint8", "int8", into), quads, feature)
            turned = _accumulating("vpdpbusd", outputs, 4, into, turned=True)
            _register(f"{prefix}x4.i8u8{suffix}", outputs, 4, ("int8", "uint8", into), turned, feature)
        for name in ("i16", "i16.u32"):
            pairs = _accumulating("vpdpwssd", outputs, 2, PAIRS[name][-1])
            _register(f"{prefix}x2.{name}", outputs, 2, PAIRS[name], pairs, feature)
    narrow = LlvmFunction("loopwright_vdpbf16ps", VDPBF16PS)
    _register("avx512.bf16.dot16x2", 16, 2, ("bfloat16", "bfloat16", "float32"), narrow, "avx512bf16")


def _register(
    name: str,
    outputs: int,
    terms: int,
    kinds: tuple[str, str, str],
    implementation: Implementation,
    feature: str,
) -> None:
    registered(name, dot(outputs, terms, *kinds), implementation, (feature,), own=True)


def _repeated(group: Any, outputs: int) -> Any:
    """A group of elements, 32 bits of them, for each result: int32 lanes."""
    from tvm import tirx

    return tirx.Broadcast(tirx.reinterpret("int32", group), outputs)


def _pairs(outputs: int, instruction: str, into: str) -> Callable[..., Any]:
    """vpmaddwd: products of 16-bit integers, added in pairs. Shorter ones are widened first, so nothing saturates."""

    def implementation(out: Any, a: Any, b: Any) -> Any:
        from tvm import tirx

        kind = f"int16x{2 * outputs}"
        pairs = tirx.reinterpret(kind, _repeated(tirx.Cast("int16x2", a), outputs))
        products = tirx.call_llvm_pure_intrin(f"int32x{outputs}", instruction, pairs, tirx.Cast(kind, b))
        # In 64 bits, where no sum overflows: TVM promises LLVM that those of int32 never do. LLVM makes it one addition.
        wide_sum = tirx.Cast(f"int64x{outputs}", out) + tirx.Cast(f"int64x{outputs}", products)
        return tirx.Cast(f"{into}x{outputs}", wide_sum)

    return implementation


def _accumulating(
    instruction: str, outputs: int, terms: int, into: str, turned: bool = False
) -> Callable[..., Any]:
    """vpdpbusd: four products of an unsigned byte and a signed one; vpdpwssd: two of 16-bit integers. Neither saturates.

    ``turned``: the unsigned bytes are those of ``b``.
    """
    name = f"llvm.x86.avx512.{instruction}.{32 * outputs}"

    def implementation(out: Any, a: Any, b: Any) -> Any:
        from tvm import tirx

        kind = f"int{32 // terms}x{terms * outputs}"
        operands = [tirx.reinterpret(kind, _repeated(a, outputs)), tirx.reinterpret(kind, b)]
        if turned:
            operands.reverse()
        sums = tirx.call_llvm_pure_intrin(
            f"int32x{outputs}", name, tirx.reinterpret(f"int32x{outputs}", out), *operands
        )
        return tirx.reinterpret(f"{into}x{outputs}", sums)

    return implementation

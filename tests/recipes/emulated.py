"""Instructions that this machine may lack, as plain arithmetic of the same result: schedules for other CPUs run everywhere.

Only the instruction itself is replaced. What an intrinsic hands it (which operand is which, how groups lie in a register), and
the schedule around, are those of the other CPU. Written after Intel's description of each instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from loopwright.sched.intrinsics import registry
from loopwright.sched.intrinsics.registry import LlvmFunction

# vdpbf16ps: subnormal numbers count as zero (here only those of the operands and the result, as in the instruction); the upper
# elements of each pair are multiplied and added first.
BFLOAT16 = """
define void @loopwright_vdpbf16ps(ptr %out, ptr %a, ptr %b) alwaysinline nounwind {
  %sums = load <16 x float>, ptr %out, align 4
  %pair = load i32, ptr %a, align 2
  %lane = insertelement <16 x i32> poison, i32 %pair, i64 0
  %x = shufflevector <16 x i32> %lane, <16 x i32> poison, <16 x i32> zeroinitializer
  %y = load <16 x i32>, ptr %b, align 2
  %xu = and <16 x i32> %x, splat (i32 -65536)
  %yu = and <16 x i32> %y, splat (i32 -65536)
  %xl = shl <16 x i32> %x, splat (i32 16)
  %yl = shl <16 x i32> %y, splat (i32 16)
  %p = call <16 x float> @loopwright_step(<16 x float> %sums, <16 x i32> %xu, <16 x i32> %yu)
  %q = call <16 x float> @loopwright_step(<16 x float> %p, <16 x i32> %xl, <16 x i32> %yl)
  store <16 x float> %q, ptr %out, align 4
  ret void
}
define linkonce_odr <16 x float> @loopwright_step(<16 x float> %s, <16 x i32> %x, <16 x i32> %y) alwaysinline nounwind {
  %xf = call <16 x float> @loopwright_flushed(<16 x i32> %x)
  %yf = call <16 x float> @loopwright_flushed(<16 x i32> %y)
  %r = call <16 x float> @llvm.fma.v16f32(<16 x float> %xf, <16 x float> %yf, <16 x float> %s)
  %bits = bitcast <16 x float> %r to <16 x i32>
  %f = call <16 x float> @loopwright_flushed(<16 x i32> %bits)
  ret <16 x float> %f
}
define linkonce_odr <16 x float> @loopwright_flushed(<16 x i32> %x) alwaysinline nounwind {
  %exponent = and <16 x i32> %x, splat (i32 2139095040)
  %low = icmp eq <16 x i32> %exponent, zeroinitializer
  %sign = and <16 x i32> %x, splat (i32 -2147483648)
  %kept = select <16 x i1> %low, <16 x i32> %sign, <16 x i32> %x
  %value = bitcast <16 x i32> %kept to <16 x float>
  ret <16 x float> %value
}
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
"""


@contextmanager
def emulated(monkeypatch: Any) -> Iterator[None]:
    """Inside, the intrinsics of x86 CPUs need nothing, and their instructions are arithmetic. Schedules are made outside."""
    from tvm import tirx

    real = tirx.call_llvm_pure_intrin

    def call(dtype: str, name: str, *operands: Any) -> Any:
        instruction = next(
            (found for found in (_vpdpbusd, _vpdpwssd, _vpmaddwd) if found.__name__[1:] in _plain(name)), None
        )
        return real(dtype, name, *operands) if instruction is None else instruction(dtype, *operands)

    with monkeypatch.context() as patch:
        patch.setattr(tirx, "call_llvm_pure_intrin", call)
        for name in [name for name in registry.intrinsics() if name.startswith("avx")]:
            intrinsic = registry.find(name, "emulated")
            implementation = intrinsic.implementation
            if isinstance(implementation, LlvmFunction):
                implementation = replace(implementation, source=BFLOAT16)
            own = replace(intrinsic, implementation=implementation, features=())
            patch.setitem(registry._REGISTERED, name, own)
        yield


def _plain(name: str) -> str:
    """An LLVM intrinsic by the name of its instruction: ``vpmaddwd`` for ``llvm.x86.avx512.pmaddw.d.512``."""
    return name.replace("pmaddw.d", "vpmaddwd").replace("pmadd.wd", "vpmaddwd")


def _vpdpbusd(dtype: str, sums: Any, unsigned: Any, signed: Any) -> Any:
    return _accumulated(dtype, sums, unsigned, signed, 8, (False, True))


def _vpdpwssd(dtype: str, sums: Any, a: Any, b: Any) -> Any:
    return _accumulated(dtype, sums, a, b, 16, (True, True))


def _vpmaddwd(dtype: str, a: Any, b: Any) -> Any:
    from tvm import tirx

    zero = tirx.Broadcast(tirx.const(0, "int32"), _lanes(dtype))
    return _accumulated(dtype, zero, a, b, 16, (True, True))


def _accumulated(dtype: str, sums: Any, a: Any, b: Any, bits: int, signs: tuple[bool, bool]) -> Any:
    """``sums`` plus the products of the elements, ``bits`` wide, that make up each 32 bits of ``a`` and ``b``, modulo 2**32."""
    from tvm import tirx

    lanes = _lanes(dtype)
    word, total = f"uint32x{lanes}", tirx.reinterpret(f"uint32x{lanes}", sums)
    for place in range(0, 32, bits):
        parts = [
            tirx.reinterpret(word, _element(tirx.reinterpret(dtype, v), place, bits, signed, lanes))
            for v, signed in zip((a, b), signs, strict=True)
        ]
        total = total + parts[0] * parts[1]
    return tirx.reinterpret(dtype, total)


def _element(words: Any, place: int, bits: int, signed: bool, lanes: int) -> Any:
    """The element at bit ``place`` of each int32, with its sign or without."""
    from tvm import tirx

    def by(count: int) -> Any:
        return tirx.Broadcast(tirx.const(count, "int32"), lanes)

    top = tirx.shift_left(words, by(32 - bits - place))
    if signed:
        return tirx.shift_right(top, by(32 - bits))
    unsigned = tirx.shift_right(words, by(place))
    return tirx.bitwise_and(unsigned, by((1 << bits) - 1))


def _lanes(dtype: str) -> int:
    return int(dtype.split("x")[1])

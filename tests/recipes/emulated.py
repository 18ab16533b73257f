"""Instructions that this machine may lack, as plain arithmetic of the same result: schedules for other CPUs run everywhere.

Only the instruction itself is replaced. What an intrinsic hands it (which operand is which, how groups lie in a register), and
the schedule around, are those of the other CPU. Written after Intel's description of each instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.intrinsics import registry
from loopwright.sched.intrinsics.registry import Intrinsic, LlvmFunction
from loopwright.sched.language.extents import known_shape

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


# A product of tiles, one element of a factor after the other. (Where the instruction rounds is not looked at: sums in another
# order are within the bound that a schedule is judged by.)
TILES = """
define linkonce_odr void @{symbol}({arguments}) nounwind {{
entry:
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %each ]
  %t = urem i64 %n, {terms}
  %gs = udiv i64 %n, {terms}
  %g = urem i64 %gs, {groups}
  %js = udiv i64 %gs, {groups}
  %j = urem i64 %js, {columns}
  %i = udiv i64 %js, {columns}
{result}
  %a.row = mul i64 %i, %a0
  %a.group = mul i64 %g, %a1
  %a.term = mul i64 %t, %a2
  %a.rows = add i64 %a.row, %a.group
  %a.at = add i64 %a.rows, %a.term
  %b.group = mul i64 %g, %b0
  %b.column = mul i64 %j, %b1
  %b.term = mul i64 %t, %b2
  %b.rows = add i64 %b.group, %b.column
  %b.at = add i64 %b.rows, %b.term
  %a.p = getelementptr {element}, ptr %a, i64 %a.at
  %b.p = getelementptr {element}, ptr %b, i64 %b.at
  %a.e = load {element}, ptr %a.p, align {size}
  %b.e = load {element}, ptr %b.p, align {size}
  %old = load {sum}, ptr %o, align 4
{step}
  store {sum} %new, ptr %o, align 4
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, {count}
  br i1 %more, label %each, label %done
done:
  ret void
}}
define linkonce_odr void @{symbol}_new({arguments}) nounwind {{
entry:
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %each ]
  %j = urem i64 %n, {columns}
  %i = udiv i64 %n, {columns}
{result}
  store i32 0, ptr %o, align 4
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, {sums}
  br i1 %more, label %each, label %done
done:
  call void @{symbol}({arguments})
  ret void
}}
"""
TILE_ARGUMENTS = (
    "ptr %out, ptr %a, ptr %b, i64 %o0, i64 %o1, i64 %a0, i64 %a1, i64 %a2, i64 %b0, i64 %b1, i64 %b2"
)
# Where the element in row i and column j of the result lies.
TILE_RESULT = """
  %o.row = mul i64 %i, %o0
  %o.column = mul i64 %j, %o1
  %o.at = add i64 %o.row, %o.column
  %o = getelementptr i32, ptr %out, i64 %o.at"""
TILE_BYTES = """
  %x = {left} i8 %a.e to i32
  %y = {right} i8 %b.e to i32
  %product = mul i32 %x, %y
  %new = add i32 %old, %product"""
TILE_BFLOAT16 = """
  %x.w = zext i16 %a.e to i32
  %y.w = zext i16 %b.e to i32
  %x.s = shl i32 %x.w, 16
  %y.s = shl i32 %y.w, 16
  %x = bitcast i32 %x.s to float
  %y = bitcast i32 %y.s to float
  %product = fmul float %x, %y
  %new = fadd float %old, %product"""


def _tiles(intrinsic: Intrinsic) -> str:
    """A product of tiles in scalar code, on rows that may lie apart like those of the instruction."""
    (rows, columns), (_, groups, terms) = (
        known_shape(intrinsic.stage.shape),
        known_shape(intrinsic.operands[0].shape),
    )
    kinds = [operand.dtype for operand in intrinsic.operands]
    size = dtypes.itemsize(kinds[0])
    left, right = ("zext" if kind == "uint8" else "sext" for kind in kinds)
    assert isinstance(intrinsic.implementation, LlvmFunction)
    return TILES.format(
        symbol=intrinsic.implementation.symbol,
        arguments=TILE_ARGUMENTS,
        result=TILE_RESULT,
        groups=groups,
        terms=terms,
        columns=columns,
        sums=rows * columns,
        count=rows * columns * groups * terms,
        element=f"i{8 * size}",
        size=size,
        sum="i32" if size == 1 else "float",
        step=TILE_BYTES.format(left=left, right=right) if size == 1 else TILE_BFLOAT16,
    )


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
        for name in [name for name in registry.intrinsics() if name.startswith(("avx", "amx"))]:
            intrinsic = registry.find(name, "emulated")
            implementation = intrinsic.implementation
            if isinstance(implementation, LlvmFunction):
                source = _tiles(intrinsic) if implementation.strides else BFLOAT16
                implementation = replace(implementation, source=source)
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

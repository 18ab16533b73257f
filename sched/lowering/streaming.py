"""Stores past the caches: whole vectors, written where nothing is read again soon, without fetching what they overwrite.

The processor does so at addresses that are multiples of 16 bytes, and arrays are aligned to their elements only. So each
store asks for its own address; along a row the answer is always the same, and LLVM asks once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tvm import tirx
from tvm.ir import StringImm
from tvm.tirx import AttrStmt, BufferLoad, Evaluate, SeqStmt

from loopwright.sched import dtypes
from loopwright.sched.lowering.places import step_of
from loopwright.sched.lowering.stmt import Alloc, Buffer, For, Store, seq

if TYPE_CHECKING:
    from loopwright.sched.lowering.emit import Emitter

# Bytes that are written at once, at the least, and what their address is a multiple of.
PIECE = 16
_LLVM = {
    "float32": "float", "float64": "double", "int8": "i8", "uint8": "i8", "int16": "i16", "uint16": "i16",
    "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64",
}  # fmt: skip
_STORE = """\
define linkonce_odr void @{symbol}(ptr %to, <{lanes} x {kind}> %value) alwaysinline nounwind {{
  %address = ptrtoint ptr %to to i64
  %rest = and i64 %address, {mask}
  %whole = icmp eq i64 %rest, 0
  br i1 %whole, label %past, label %through
past:
  store <{lanes} x {kind}> %value, ptr %to, align {piece}, !nontemporal !0
  ret void
through:
  store <{lanes} x {kind}> %value, ptr %to, align {itemsize}
  ret void
}}
!0 = !{{i32 1}}
"""
_FENCE = "define linkonce_odr void @lw_fence() alwaysinline nounwind {\n  fence seq_cst\n  ret void\n}\n"


def streamed(emitter: Emitter, loop: For, store: Store) -> Any:
    """The lanes of a loop, put together first and then stored past the caches."""
    assert isinstance(loop.extent, int)
    emitter.streaming = True
    held = Buffer("held", (loop.extent,), store.buffer.dtype, "local", store.stage)
    lanes = replace(loop, body=replace(store, buffer=held, indices=(loop.var,), role="value"))
    made = emitter.parts(seq(Alloc(held), lanes))
    emitter.fix(loop.var, 0)
    buffer, place = emitter.element(store.buffer, store.indices)
    return SeqStmt([*made, stored_past(buffer, place, emitter.buffers[id(held)], loop.extent)])


def streams(loop: For) -> bool:
    """Whether the lanes of a vectorized loop are written by one store past the caches: whole pieces, side by side."""
    store = loop.body
    if not isinstance(store, Store) or store.role != "streamed" or not isinstance(loop.extent, int):
        return False
    kind = dtypes.stored(store.buffer.dtype)
    size = loop.extent * dtypes.itemsize(kind)
    return (
        kind in _LLVM
        and size >= PIECE
        and size & (size - 1) == 0
        and step_of(store.buffer, store.indices, loop.var) == 1
    )


def stored_past(buffer: Any, place: list[Any], held: Any, lanes: int) -> Any:
    """The statement that stores the elements held, a vector, past the caches."""
    vector = BufferLoad(held, [tirx.Ramp(tirx.const(0, "int32"), 1, lanes)])
    kind = str(buffer.dtype)
    symbol = f"lw_stream_{kind}x{lanes}"
    numbers = {"mask": PIECE - 1, "piece": PIECE, "itemsize": dtypes.itemsize(kind), "lanes": lanes}
    source = _STORE.format(symbol=symbol, kind=_LLVM[kind], **numbers)
    return _called(symbol, source, tirx.address_of(BufferLoad(buffer, place)), vector)


def fence() -> Any:
    """Whoever learns that the kernel has ended sees what it has stored: past the caches that is not so by itself."""
    return _called("lw_fence", _FENCE)


def _called(symbol: str, source: str, *args: Any) -> Any:
    """The call of an LLVM function, which comes with it."""
    call = Evaluate(tirx.call_extern("void", symbol, *args))
    return AttrStmt(tirx.const(0, "int32"), "pragma_import_llvm", StringImm(source), call)

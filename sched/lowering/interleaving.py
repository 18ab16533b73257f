"""Copies in which neighbours come from several rows: ``copy[4*j + g] = rows[g, j]`` for vectors of ``j``, written side by side.

Each ``g`` alone is a vector whose elements go four places apart, which LLVM stores one by one: a megabyte of bytes laid out for a
product took a third of a millisecond on two cores. Put together first, they are one piece of memory, and LLVM makes shuffles of
registers of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tvm import tirx
from tvm.tirx import BufferLoad, BufferStore, SeqStmt

from loopwright.sched.lowering.places import step_of
from loopwright.sched.lowering.stmt import Alloc, Buffer, For, Store, seq

if TYPE_CHECKING:
    from loopwright.sched.lowering.emit import Emitter

# Rows of which neighbours come, at most.
MOST = 8


def interleaves(loop: For) -> bool:
    """Whether a written out loop around a vector fills memory without gaps: it by single steps, the vector by as many."""
    lanes = loop.body
    if not (isinstance(lanes, For) and lanes.kind == "vectorize" and isinstance(lanes.body, Store)):
        return False
    if not (isinstance(loop.extent, int) and isinstance(lanes.extent, int) and 1 < loop.extent <= MOST):
        return False
    store = lanes.body
    apart, beside = (step_of(store.buffer, store.indices, var) for var in (lanes.var, loop.var))
    return store.role == "value" and beside == 1 and apart == loop.extent


def interleaved(emitter: Emitter, loop: For) -> Any:
    """The vectors of a loop, and one store of all of them."""
    lanes = loop.body
    assert isinstance(lanes, For) and isinstance(lanes.body, Store)
    assert isinstance(loop.extent, int) and isinstance(lanes.extent, int)
    store, count, rows = lanes.body, lanes.extent, range(loop.extent)
    made: list[Any] = []
    vectors: list[Any] = []
    for number in rows:
        emitter.fix(loop.var, number)
        held = Buffer("held", (count,), store.buffer.dtype, "local", store.stage)
        one = replace(lanes, body=replace(store, buffer=held, indices=(lanes.var,)))
        made += emitter.parts(seq(Alloc(held), one))
        vectors.append(BufferLoad(*_from(*emitter.first(held), count)))
    emitter.fix(loop.var, 0)
    emitter.fix(lanes.var, 0)
    order = [tirx.const(count * row + lane, "int32") for lane in range(count) for row in rows]
    buffer, place = _from(*emitter.element(store.buffer, store.indices), count * len(rows))
    return SeqStmt([*made, BufferStore(buffer, tirx.Shuffle(vectors, order), place)])


def _from(buffer: Any, place: list[Any], count: int) -> tuple[Any, list[Any]]:
    return buffer, [tirx.Ramp(place[0], tirx.const(1, place[0].ty.dtype), count)]

"""Vectorized loops: in pieces that the target's vectors can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis
from loopwright.sched.lowering.affine import linear, number
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import For, Stmt, seq
from loopwright.sched.scheduling.nest import Loop

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder

# Wider vectors than this are emitted in pieces: LLVM keeps them in one piece and spills.
MOST_LANES = 64
# Pieces of a vectorized loop are unrolled up to this many.
MOST_PIECES = 8


def in_lanes(builder: Builder, frame: Frame, loop: Loop, extent: int, body: Callable[[Frame], Stmt]) -> Stmt:
    """A vector of a power of two lanes as it is; any other length in such pieces, the widest first."""
    if extent & (extent - 1) == 0 and extent <= MOST_LANES:
        return builder.run_loop(frame, loop, extent, "vectorize", number(0), body)
    widest = max(1, builder.vector_bytes // max(1, dtypes.itemsize(frame.nest.stage.dtype)))
    lanes = extent & -extent if widest <= (extent & -extent) <= MOST_LANES else widest
    pieces: list[Stmt] = []
    done = 0
    count = extent // lanes
    if count > 1:
        piece = Axis(f"{loop.name}.p", count)
        start = linear(piece).scaled(lanes).expr()
        inner = builder.run_loop(frame, loop, lanes, "vectorize", start, body)
        kind = "unroll" if count <= MOST_PIECES else "serial"
        pieces.append(For(piece, count, kind, inner, f"{frame.nest.name}.{loop.name}"))
        done = count * lanes
    while done < extent:
        lanes = min(lanes, 1 << ((extent - done).bit_length() - 1))
        pieces.append(builder.run_loop(frame, loop, lanes, "vectorize", number(done), body))
        done += lanes
    return seq(*pieces)

"""Loops whose length only the call knows, where vectors and unrolled code need numbers: they run in pieces of known length."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.sched.language.expr import Axis, Binary, Expr
from loopwright.sched.language.interval import most
from loopwright.sched.lowering.affine import ZERO, number, simplify, times
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import For, If, Stmt, seq
from loopwright.sched.scheduling.nest import Loop, Split

# The longest piece of a vector whose length is not bounded; it is run again and again.
LANES = 16


def in_tail(frame: Frame, split: Split, make: Callable[[Frame], Stmt]) -> Stmt:
    """What ``make`` builds for the tail of a peeled split, if there is a tail.

    A vectorized inner loop is cut into pieces here already, outside the loops that stand around it: each piece has
    accumulators of its own, of a length that registers can hold.
    """
    rest = frame.extent(split.inner)
    if not isinstance(rest, Expr):
        return make(frame)
    loop = next((loop for loop in frame.nest.loops if loop.name == split.inner), None)
    if loop is not None and loop.kind in ("vectorize", "unroll"):
        return in_pieces(frame, loop, rest, make)
    return If(Binary("lt", ZERO, rest, "bool"), make(frame), None)


def in_pieces(frame: Frame, loop: Loop, length: Expr, make: Callable[[Frame], Stmt]) -> Stmt:
    """What ``make`` builds for pieces of a loop: of a vector, each power of two that its length is made of; else one by one."""
    if most(length) == 0:
        return seq()
    if loop.kind == "unroll":
        return _repeated(frame, loop, length, 1, make)
    lanes = LANES
    if most(length) < LANES:
        lanes = 1 << (most(length).bit_length() - 1)
    long = [_repeated(frame, loop, length, lanes, make)] if 2 * lanes <= most(length) else []
    pieces = [*long]
    lanes = lanes // 2 if long else lanes
    while lanes:
        # The bit of the length that says whether there is such a piece, and what the longer ones have done.
        done = simplify(Binary("floordiv", length, number(2 * lanes), "int32"))
        bit = Binary("mod", Binary("floordiv", length, number(lanes), "int32"), number(2), "int32")
        piece = make(frame.piece(loop.name, times(done, 2 * lanes), lanes))
        pieces.append(If(Binary("lt", ZERO, simplify(bit), "bool"), piece, None))
        lanes //= 2
    return seq(*pieces)


def _repeated(frame: Frame, loop: Loop, length: Expr, lanes: int, make: Callable[[Frame], Stmt]) -> Stmt:
    count = simplify(Binary("floordiv", length, number(lanes), "int32"))
    var = Axis(f"{loop.name}.p", count, loop.reduce)
    piece = make(frame.piece(loop.name, times(var, lanes), lanes))
    return For(var, count, "serial", piece, f"{frame.nest.name}.{loop.name}", "tail")

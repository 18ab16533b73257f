"""Loops whose length only the call knows, where vectors and unrolled code need numbers: they run in pieces of known length."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.sched.language.expr import Axis, Binary, Expr
from loopwright.sched.language.interval import most
from loopwright.sched.lowering.affine import ZERO, number, simplify, times
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import For, If, Stmt, seq
from loopwright.sched.scheduling.nest import Loop, Nests, Split

# The longest piece of a vector whose length is not bounded; it is run again and again.
LANES = 16


def in_tail(nests: Nests, frame: Frame, split: Split, make: Callable[[Frame], Stmt]) -> Stmt:
    """What ``make`` builds for the tail of a peeled split, if there is a tail.

    A vectorized inner loop is cut into pieces here already, outside the loops that stand around it: each piece has
    accumulators of its own, of a length that registers can hold. Not so where another stage is computed after it in these
    loops: that reads what all pieces have computed, and runs once.
    """
    rest = frame.extent(split.inner)
    if not isinstance(rest, Expr):
        return make(frame)
    loop = next((loop for loop in frame.nest.loops if loop.name == split.inner), None)
    if loop is not None and loop.kind in ("vectorize", "unroll") and not _followed(nests, frame, split):
        return in_pieces(frame, loop, rest, make)
    return If(Binary("lt", ZERO, rest, "bool"), make(frame), None)


def _followed(nests: Nests, frame: Frame, split: Split) -> bool:
    """Whether a stage is computed after the one of ``frame`` in the loops around the split's inner one that are open last.

    These are its outer loop and those between; where that was fused with others, the loop that decides it.
    """
    names = [loop.name for loop in frame.nest.loops]
    before = names[: names.index(split.inner)]
    last = max((n for n, name in enumerate(before) if frame.opened(name)), default=0)
    between = before[before.index(split.outer) if split.outer in before else last :]
    places = [nest.place for nest in nests.stages.values() if nest.place.kind == "after"]
    return any(place.stage == frame.nest.name and place.loop in between for place in places)


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

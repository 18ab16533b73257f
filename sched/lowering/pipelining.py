"""Loops that compute the stages at their head ahead of time, into buffers that are filled in turn.

With two stages, a loop over ``v`` in ``n`` becomes::

    head(0)
    for v in n - 1:
        head(v + 1)
        rest(v)
    rest(n - 1)

Iteration ``v`` has the buffers ``v % 2``. Both parts are built for a variable that runs over all of ``n``, in whichever
iteration they stand: so bounds inference finds the same boxes for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from loopwright.sched.language.expr import Axis, Binary, Expr, Extent
from loopwright.sched.language.extents import larger, minus, node, smaller, surely
from loopwright.sched.lowering.affine import number, plus
from loopwright.sched.lowering.bounds import Box, Span
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import For, Let, Seq, Stmt, seq
from loopwright.sched.lowering.storage import Storage
from loopwright.sched.scheduling.nest import Loop, StageNest
from loopwright.sched.scheduling.placement import copies_of, in_turn

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder


@dataclass(frozen=True)
class Turns:
    """What of a loop's body is being built, and the buffers of the stages at its head.

    Attributes:
        head: whether stages at the head are computed here, or only read.
        rest: whether the rest of the body is built.
        storage: of each such stage, for the largest box of it.
        turn: which of its buffers this iteration has.
    """

    head: bool
    rest: bool
    storage: dict[str, Storage]
    turn: Axis


def pipelined(
    builder: Builder, frame: Frame, loop: Loop, extent: Extent, body: Callable[[Frame], Stmt]
) -> Stmt:
    """The statements of a loop with stages in turn at its head."""
    host, ahead = frame.nest.name, smaller(loop.stages - 1, extent)
    left = minus(extent, ahead)
    outside = dict(builder.storage)
    heads = in_turn(builder.nests, host, loop)
    made = [_make(builder, frame, loop, extent, nest) for nest in heads]
    storage = {nest.name: builder.storage[nest.name] for nest in heads}
    copies = copies_of(builder.nests, heads[0])

    def part(value: Expr, head: bool, rest: bool) -> Stmt:
        alias, turn = Axis(loop.name, extent, loop.reduce), Axis("turn", copies)
        builder.turns[host, loop.name] = Turns(head, rest, storage, turn)
        statement = builder.bind(frame, loop, alias, body)
        del builder.turns[host, loop.name]
        return Let(alias, value, Let(turn, Binary("mod", alias, number(copies), "int32"), statement))

    def run(count: Extent, name: str, inside: Callable[[Expr], Stmt]) -> Stmt:
        if surely(count, 0):
            return Seq(())
        if surely(count, 1):
            return inside(number(0))
        var = Axis(loop.name, count, loop.reduce)
        return For(var, count, "serial", inside(var), f"{host}.{loop.name}", name)

    def steady(v: Expr) -> Stmt:
        if surely(ahead, 0):
            return part(v, True, True)
        return seq(part(plus(v, node(ahead)), True, False), part(v, False, True))

    steady_part = "tail" if "tail" in frame.parts.values() else ""
    statements = [
        run(ahead, "init", lambda v: part(v, True, False)),
        run(left, steady_part, steady),
        run(ahead, "tail", lambda v: part(plus(v, node(left)), False, True)),
    ]
    builder.storage = outside
    return seq(*made, *statements)


def _make(builder: Builder, frame: Frame, loop: Loop, extent: Extent, nest: StageNest) -> Stmt:
    """The buffers of one stage: large enough for every part that the loop is cut in."""
    boxes: list[Box] = []

    def note(f: Frame) -> Stmt:
        boxes.append(builder.regions.needed(nest.name, frame.nest.name, f.axis_spans()))
        return Seq(())

    builder.partitioned(frame.open(loop.name, Axis(loop.name, extent, loop.reduce)), note)
    largest = tuple(
        Span(spans[0].low, reduce(larger, (span.extent for span in spans)))
        for spans in zip(*boxes, strict=True)
    )
    own = Frame(nest, builder.definitions[nest.name], largest)
    return builder.make_storage(own, largest, copies=copies_of(builder.nests, nest))


def take_turn(builder: Builder, nest: StageNest, box: Box, turns: Turns) -> Stmt | None:
    """Use the buffers that a stage has in this iteration, and fill them if that is to be done here."""
    storage = turns.storage[nest.name]
    layout = None if storage.frame is None else replace(storage.frame, box=box)
    builder.keep(nest.name, replace(storage, box=box, frame=layout, turn=turns.turn))
    return builder.within(nest, box) if turns.head else None

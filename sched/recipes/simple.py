"""Recipes for stages without a register tile: elementwise ones, and plain reductions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs


@dataclass(frozen=True)
class SimplePlan:
    """The choices of these recipes; numbers may be knobs.

    Attributes:
        lanes: elements of the vector loop.
        copies: vectors (or, without a vector axis, rows) that are written out side by side.
        unroll: reduction steps written out.
        parallel: share the outermost loop out over the cores.
        run: vectors that are one iteration of a loop fused over rows. Where only a call knows how long a row is, each iteration
            starts with a division.
        rows: an iteration of the outermost loop is a whole row: no division for each vector, and a row's ends are known.
        stream: write what the stage computes past the caches.
    """

    lanes: Number = 16
    copies: Number = 1
    unroll: Number = 1
    parallel: bool = True
    run: Number = 1
    rows: bool = False
    stream: bool | Knob = False


def elementwise(schedule: Schedule, roles: Roles, plan: SimplePlan) -> Schedule:
    """Schedule a stage without reduction: vectors along the last axis, all else shared out over the cores."""
    if roles.vector is None:
        return schedule
    stage = roles.stage.name
    names = Names(schedule.nests.stages[stage])
    outer = [axis.name for axis in roles.outer]
    s, last = schedule, roles.vector.name
    if _flat(roles):
        # All arrays lie in memory in one order: their rows may be run through without a break.
        while outer:
            fused = names.new("f")
            s, last = s.fuse(f"{stage}.{outer[-1]}", f"{stage}.{last}", fused), fused
            outer.pop()
    vectors, lane = names.pair(last, "o", "v")
    s = s.split(f"{stage}.{last}", (vectors, lane), plan.lanes)
    copies = ""
    if plan.copies != 1:
        (vectors, copies), whole = names.pair(last, "c", "u"), vectors
        s = s.split(f"{stage}.{whole}", (vectors, copies), plan.copies)
    if plan.run != 1 and outer:
        (vectors, within), whole = names.pair(last, "r", "n"), vectors
        s = s.split(f"{stage}.{whole}", (vectors, within), plan.run, "guard")
    s, outermost = fuse_all(s, stage, names, outer if outer and plan.rows else [*outer, vectors])
    s = s.vectorize(f"{stage}.{lane}")
    if copies:
        s = s.unroll(f"{stage}.{copies}")
    s = s.stream(stage, when=plan.stream) if plan.stream is not False else s
    return s.parallel(f"{stage}.{outermost}") if plan.parallel else s


def _flat(roles: Roles) -> bool:
    """Whether every operand has just the shape and the index order of the stage (or is a single element)."""
    axes = roles.stage.axes
    for operand in roles.operands:
        if operand.elements == 1:
            continue
        same = operand.shape == roles.stage.shape and operand.plain
        if not same or any(
            set(dim) != ({axis} if axis.extent > 1 else set()) and set(dim) != {axis}
            for axis, dim in zip(axes, operand.dims, strict=True)
        ):
            return False
    return True


def reduction(schedule: Schedule, roles: Roles, plan: SimplePlan) -> Schedule:
    """Schedule a reduction without reuse: vectors along a spatial axis if one lies along memory, several sums side by side."""
    stage = roles.stage.name
    names = Names(schedule.nests.stages[stage])
    steps = [axis.name for axis in roles.reduce]
    s, inner, unrolled = schedule, [], []
    outer = [axis.name for axis in (*roles.outer, *([roles.rows] if roles.rows is not None else []))]
    if roles.vector is not None:
        vectors, lane = names.pair(roles.vector.name, "o", "v")
        s = s.split(f"{stage}.{roles.vector.name}", (vectors, lane), plan.lanes)
        blocks, copies = names.pair(roles.vector.name, "b", "u")
        s = s.split(f"{stage}.{vectors}", (blocks, copies), plan.copies)
        outer, inner, unrolled = [*outer, blocks], [copies, lane], [copies]
    elif outer:
        blocks, copies = names.pair(outer[-1], "o", "u")
        s = s.split(f"{stage}.{outer[-1]}", (blocks, copies), plan.copies)
        outer, inner, unrolled = [*outer[:-1], blocks], [copies], [copies]
    if steps:
        deep, few = names.pair(steps[-1], "o", "u")
        s = s.split(f"{stage}.{steps[-1]}", (deep, few), plan.unroll)
        steps, unrolled = [*steps[:-1], deep, few], [*unrolled, few]
    ones = [axis.name for axis in roles.stage.all_axes if axis.extent == 1]
    s = s.reorder(stage, " ".join([*ones, *outer, *steps, *inner])) if [*ones, *outer, *steps, *inner] else s
    if outer:
        s, outermost = fuse_all(s, stage, names, outer)
        s = s.parallel(f"{stage}.{outermost}") if plan.parallel else s
    if roles.vector is not None:
        s = s.vectorize(f"{stage}.{inner[-1]}")
    for loop in unrolled:
        s = s.unroll(f"{stage}.{loop}")
    return s


def fuse_all(s: Schedule, stage: str, names: Names, loops: list[str]) -> tuple[Schedule, str]:
    """Fuse adjacent loops into one; its name."""
    outermost, *others = loops
    for loop in others:
        fused = names.new("p")
        s, outermost = s.fuse(f"{stage}.{outermost}", f"{stage}.{loop}", fused), fused
    return s, outermost

"""The recipe for chains of stencils: rows in registers, groups of rows in the cache, windows that slide down strips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.recipes.chains import Chain, Member
from loopwright.sched.recipes.names import Names
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs
# Strips, tiles and groups are counted outside the innermost loops, where asking whether there is one more costs nothing.
WHOLE = "guard"


@dataclass(frozen=True)
class StencilPlan:
    """The choices of the recipe; numbers may be knobs.

    Attributes:
        rows: rows of the last stage that are written out side by side, with what is read by them in registers.
        lanes: elements of a vector.
        group: blocks of rows that are computed after one another; members that are computed for whole rows are for a group.
        strip: groups that one core computes without a break. Without such members it is given one block after another.
        member_rows: rows of such a member that are written out side by side.
        tile: vectors of a row in a tile; None for whole rows.
        slide: keep a member's rows for the groups that follow in the strip, so that each computes only what is new.
        parallel: share the strips out over the cores.
    """

    rows: Number
    lanes: Number
    group: Number = 1
    strip: Number = 1
    member_rows: Number = 1
    tile: Number | None = None
    slide: bool = True
    parallel: bool = True


def stencil(schedule: Schedule, chain: Chain, plan: StencilPlan) -> Schedule:
    """Schedule a chain: its last stage in strips, tiles and groups of rows, its members inside these loops."""
    s, loops = _last(schedule, chain, plan)
    for member in reversed(chain.in_vectors):
        s = _vector_member(s, member, f"{chain.last.name}.{loops.vectors}")
    for member in reversed(chain.in_rows):
        s = s.compute_at(member.name, f"{chain.last.name}.{loops.groups}")
    for member in chain.in_rows:
        s = _row_member(s, member, plan)
    for member in (
        chain.in_rows if plan.slide else ()
    ):  # last, since each directive after it is checked against it
        s = s.store_at(member.name, f"{chain.last.name}.{loops.home}")
    return s


@dataclass(frozen=True)
class _Loops:
    """Names of the last stage's loops: where windows live, where groups of rows are counted, where vectors are."""

    home: str
    groups: str
    vectors: str


def _last(s: Schedule, chain: Chain, plan: StencilPlan) -> tuple[Schedule, _Loops]:
    """The loops of the last stage, outermost first: strips, tiles, groups, blocks of rows, vectors, rows, lanes."""
    stage, row, lane = chain.last.name, chain.row.name, chain.lane.name
    if chain.colours is not None:
        s, lane = _fused(s, stage, lane, chain.colours.name)
    names = Names(s.nests.stages[stage])
    strips, in_strip = names.pair(row, "s", "t")
    groups, in_group = names.pair(row, "g", "b")
    blocks, rows = names.pair(row, "o", "r")
    vectors, lanes = names.pair(lane, "o", "v")
    if chain.in_rows:
        s = s.split(f"{stage}.{row}", (strips, in_strip), plan.strip * plan.group * plan.rows, WHOLE)
        s = s.split(f"{stage}.{in_strip}", (groups, in_group), plan.group * plan.rows, WHOLE)
        s = s.split(f"{stage}.{in_group}", (blocks, rows), plan.rows)
    else:
        s, strips, groups = s.split(f"{stage}.{row}", (blocks, rows), plan.rows), blocks, ""
    s = s.split(f"{stage}.{lane}", (vectors, lanes), plan.lanes)
    tiles = ""
    if plan.tile is not None:
        (tiles, vectors), whole = names.pair(lane, "t", "i"), vectors
        s = s.split(f"{stage}.{whole}", (tiles, vectors), plan.tile, WHOLE)
    across = [axis.name for axis in chain.across]
    outer = [axis.name for axis in chain.last.axes if axis.extent == 1] + [axis.name for axis in chain.outer]
    inside = [tiles, groups, blocks if groups else "", vectors, rows, *across, lanes]
    s = s.reorder(stage, " ".join(filter(None, [*outer, strips, *inside])))
    shared = strips
    for axis in reversed(chain.outer):
        fused = names.new("p")
        s, shared = s.fuse(f"{stage}.{axis.name}", f"{stage}.{shared}", fused), fused
    s = s.vectorize(f"{stage}.{lanes}")
    for loop in (rows, *across):
        s = s.unroll(f"{stage}.{loop}")
    if plan.parallel:
        s = s.parallel(f"{stage}.{shared}")
    return s, _Loops(tiles or shared, groups, vectors)


def _fused(s: Schedule, stage: str, lane: str, colours: str) -> tuple[Schedule, str]:
    """Pixels and their colours as one loop, as they lie in memory; its name."""
    fused = Names(s.nests.stages[stage]).new("f")
    return s.fuse(f"{stage}.{lane}", f"{stage}.{colours}", fused), fused


def _vector_member(s: Schedule, member: Member, at: str) -> Schedule:
    """Compute a member for one vector: its rows stay in registers."""
    s = s.compute_at(member.name, at).set_scope(member.name, "local")
    return s.vectorize(f"{member.name}.{member.lane}").unroll(f"{member.name}.{member.row}")


def _row_member(s: Schedule, member: Member, plan: StencilPlan) -> Schedule:
    """Vectors along the rows of a member, some rows at a time."""
    name = member.name
    lane = member.lane
    if member.colours is not None:
        s, lane = _fused(s, name, lane, member.colours)
    names = Names(s.nests.stages[name])
    vectors, lanes = names.pair(lane, "o", "v")
    s = s.split(f"{name}.{lane}", (vectors, lanes), plan.lanes)
    if plan.member_rows != 1:
        blocks, rows = names.pair(member.row, "o", "r")
        s = s.split(f"{name}.{member.row}", (blocks, rows), plan.member_rows)
        s = s.reorder(name, f"{blocks} {vectors} {rows} {lanes}").unroll(f"{name}.{rows}")
    return s.vectorize(f"{name}.{lanes}")

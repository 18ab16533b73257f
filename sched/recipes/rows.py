"""The recipe for groups of stages that are computed together, a row or a block of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from loopwright.sched.language.extents import known
from loopwright.sched.recipes.groups import Group
from loopwright.sched.recipes.lanes import LanesPlan, lanes
from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.packing import pack
from loopwright.sched.recipes.roles import Roles, packable
from loopwright.sched.recipes.simple import fuse_all
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs
Packing = Literal["root", "outer"]


@dataclass(frozen=True)
class TilePlan:
    """The register tile of a matrix product among the rows: so many rows and columns, and reduction steps written out."""

    rows: Number = 6
    columns: Number = 16
    unroll: Number = 4


@dataclass(frozen=True)
class RowsPlan:
    """The choices of the recipe; numbers may be knobs.

    Attributes:
        block: rows that are computed together; more than one where a matrix product is among the stages.
        width: elements of the vector loops along a row.
        lanes: for each reduction of a row, lanes and the vector they are brought together to.
        tiles: for each matrix product, its register tile.
        packing: where operands of matrix products are packed: before all rows, or inside the axes around the last one of
            the rows, for which they are different.
        parallel: share out the rows over the cores.
    """

    block: Number = 1
    width: Number = 16
    lanes: Mapping[str, LanesPlan] = field(default_factory=dict)
    tiles: Mapping[str, TilePlan] = field(default_factory=dict)
    packing: Packing = "root"
    parallel: bool = True


def rows(schedule: Schedule, group: Group, plan: RowsPlan) -> Schedule:
    """Schedule a group: the host's loops over rows outermost, shared out; inside, one stage after the other.

    For ``Y = exps / row_sum``::

        parallel i in M:
            row_max[i], in lanes
            for j in N: exps[i, j] = ...       # a buffer of one row
            row_sum[i], in lanes
            for j in N: Y[i, j] = ...
    """
    s, host = schedule, group.host
    for stage in group.members:
        s = _inside(s, group.roles[stage], group.axes[stage], plan)
    *outer, last = group.rows
    row = last
    if plan.block != 1:
        last, row = Names(s.nests.stages[host]).pair(row, "b", "i")
        s = s.split(f"{host}.{group.rows[-1]}", (last, row), plan.block)
    s, shared, at = _rows_outside(s, host, outer, last, plan)
    s = _inside(s, group.roles[host], (shared, at, row if plan.block != 1 else at), plan)
    for stage in reversed(group.members):
        s = s.compute_at(stage, f"{host}.{at}")
    if plan.parallel:
        s = s.parallel(f"{host}.{shared}")
    for stage in plan.tiles:
        roles = group.roles[stage]
        where = f"{host}.{shared}" if plan.packing == "outer" and outer else None
        for operand in roles.pack:
            if packable(operand, roles.vector):
                s = pack(s, operand, roles, plan.tiles[stage].columns, where)
    return s


def _rows_outside(
    s: Schedule, host: str, outer: list[str], last: str, plan: RowsPlan
) -> tuple[Schedule, str, str]:
    """Put the host's loops over rows outside: the loop to share out, and the one at which the members are computed."""
    ones = [axis.name for axis in s.nests.stages[host].stage.axes if known(axis.extent) == 1]
    first = [*ones, *outer, last]
    others = [loop.name for loop in s.nests.stages[host].loops if loop.name not in first]
    s, names = s.reorder(host, " ".join([*first, *others])), Names(s.nests.stages[host])
    if plan.packing == "outer" and outer:
        s, shared = fuse_all(s, host, names, outer)
        return s, shared, last
    s, shared = fuse_all(s, host, names, [*outer, last])
    return s, shared, shared


def _inside(s: Schedule, roles: Roles, over: Sequence[str], plan: RowsPlan) -> Schedule:
    """Schedule what one stage does for a row, or for a block of rows; ``over`` are its loops over rows."""
    stage = roles.stage.name
    if stage in plan.tiles:
        return tile(s, roles, over[-1], plan.tiles[stage])
    if stage in plan.lanes:
        return lanes(s, roles, plan.lanes[stage])
    loops = {loop.name for loop in s.nests.stages[stage].loops} - set(over)
    inner = [axis.name for axis in roles.stage.axes if axis.name in loops and known(axis.extent) > 1]
    if not inner:
        return s
    vectors, lane = Names(s.nests.stages[stage]).pair(inner[-1], "o", "v")
    s = s.split(f"{stage}.{inner[-1]}", (vectors, lane), plan.width)
    if roles.reduce:
        steps = [axis.name for axis in roles.reduce]
        s = s.reorder(stage, " ".join([vectors, *steps, lane]))
    return s.vectorize(f"{stage}.{lane}")


def tile(s: Schedule, roles: Roles, row: str, plan: TilePlan) -> Schedule:
    """A register tile of a matrix product of which few rows are computed: nothing is shared out, nothing blocked."""
    assert roles.vector is not None
    stage, names = roles.stage.name, Names(s.nests.stages[roles.stage.name])
    row_tile, row_in = names.pair(row, "t", "r")
    column_tile, lane = names.pair(roles.vector.name, "t", "v")
    steps = [axis.name for axis in roles.reduce]
    deep, few = names.pair(steps[-1], "o", "u")
    s = s.split(f"{stage}.{row}", (row_tile, row_in), plan.rows)
    s = s.split(f"{stage}.{roles.vector.name}", (column_tile, lane), plan.columns)
    s = s.split(f"{stage}.{steps[-1]}", (deep, few), plan.unroll)
    s = s.reorder(stage, " ".join([column_tile, row_tile, *steps[:-1], deep, few, row_in, lane]))
    return s.vectorize(f"{stage}.{lane}").unroll(f"{stage}.{row_in}").unroll(f"{stage}.{few}")

"""The recipe for stages that read an operand crosswise: transposes, and other permutations of axes.

Along the axis in which such a stage is stored, the operand is read with a step. So small tiles of it are read along its own
rows into a local copy, and written along the stage's: the turning happens in registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import WORTH_SHARING, points
from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.roles import Operand, Roles
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs
# Elements of a tile on either side, at most: all of it is written out.
MOST = 16
# Elements of a block on either side: its lines and pages are used whole before they are given up.
BLOCK = 128


@dataclass(frozen=True)
class TurnPlan:
    """The choices of the recipe; numbers may be knobs.

    Attributes:
        rows: of a tile, along the axis in which the operand lies in memory.
        lanes: of a tile, along the axis in which the stage is stored.
        row_tiles, column_tiles: tiles in a block.
        parallel: share blocks of rows out over the cores.
    """

    rows: Number
    lanes: Number
    row_tiles: Number = 1
    column_tiles: Number = 1
    parallel: bool = True


def crossed(roles: Roles) -> tuple[Axis, tuple[Operand, ...]] | None:
    """The axis in which operands lie that are read crosswise, and these operands; None if there are none."""
    if roles.vector is None or roles.reduce:
        return None
    # A copy serves all reads of a tensor: of one that is read in two orders it would hold too much.
    names = [operand.name for operand in roles.operands]
    once = [operand for operand in roles.operands if names.count(operand.name) == 1]
    for axis in reversed(roles.outer):
        found = tuple(o for o in once if _crosswise(o, axis, roles.vector))
        if found and known(axis.extent) > 1:
            return axis, found
    return None


def _crosswise(operand: Operand, axis: Axis, vector: Axis) -> bool:
    """Whether an operand is a permutation of axes that has ``axis`` last, and ``vector`` somewhere before."""
    lone = all(len(dim) <= 1 for dim in operand.dims)
    along = sum(vector in dim for dim in operand.dims) == 1
    return lone and along and operand.plain and operand.contiguous(axis)


def turn_plan(roles: Roles, target: Target) -> TurnPlan:
    """Tiles of a register on either side, in blocks whose rows stay in the caches until they are complete."""
    found = crossed(roles)
    assert found is not None
    side = min(MOST, max(1, target.vector_bytes // dtypes.itemsize(roles.stage.dtype)))
    tiles = max(1, BLOCK // side)
    rows, others = known(found[0].extent), [a for a in roles.outer if a is not found[0]]
    row_tiles, many = tiles, prod(known(axis.extent) for axis in others)
    while row_tiles > 1 and many * ceil(rows / (side * row_tiles)) < 2 * target.cores:
        row_tiles //= 2
    return TurnPlan(side, side, row_tiles, tiles, parallel=points(roles) >= WORTH_SHARING)


def turn(schedule: Schedule, roles: Roles, plan: TurnPlan) -> Schedule:
    """Schedule a stage that reads operands crosswise."""
    found = crossed(roles)
    assert found is not None and roles.vector is not None
    axis, operands = found
    stage, lane = roles.stage.name, roles.vector.name
    names = Names(schedule.nests.stages[stage])
    row_tiles, rows = names.pair(axis.name, "t", "r")
    row_blocks, row_in = names.pair(axis.name, "o", "b")
    column_tiles, lanes = names.pair(lane, "t", "v")
    column_blocks, column_in = names.pair(lane, "o", "b")
    s = schedule.split(f"{stage}.{axis.name}", (row_tiles, rows), plan.rows)
    s = s.split(f"{stage}.{row_tiles}", (row_blocks, row_in), plan.row_tiles, "guard")
    s = s.split(f"{stage}.{lane}", (column_tiles, lanes), plan.lanes)
    s = s.split(f"{stage}.{column_tiles}", (column_blocks, column_in), plan.column_tiles, "guard")
    ones = [a.name for a in roles.stage.axes if a.extent == 1]
    outer = [a.name for a in roles.outer if a is not axis]
    s = s.reorder(stage, " ".join([*ones, *outer, row_blocks, column_blocks, row_in, column_in, rows, lanes]))
    shared = row_blocks
    for loop in reversed(outer):
        fused = names.new("p")
        s, shared = s.fuse(f"{stage}.{loop}", f"{stage}.{shared}", fused), fused
    s = s.vectorize(f"{stage}.{lanes}").unroll(f"{stage}.{rows}")
    s = s.parallel(f"{stage}.{shared}") if plan.parallel else s
    for operand in operands:
        s = _copied(s, operand, roles, axis, f"{stage}.{column_in}")
    return s


def _copied(s: Schedule, operand: Operand, roles: Roles, axis: Axis, at: str) -> Schedule:
    """Read a tile of an operand along its rows, into registers."""
    name = free_name(s.nests, f"{operand.name}_turned")
    s = s.cache_read(operand.name, "local", at=at, name=name, consumers=[roles.stage.name])
    loops = [loop.name for loop in s.nests.stages[name].loops]
    along = {key: loop for dim, loop in zip(operand.dims, loops, strict=True) for key in dim}
    last = [along[roles.vector], along[axis]] if roles.vector is not None else [along[axis]]
    s = s.reorder(name, " ".join([*(loop for loop in loops if loop not in last), *last]))
    return s.unroll(f"{name}.{last[0]}").vectorize(f"{name}.{last[-1]}")

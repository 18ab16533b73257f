"""The recipe for products of narrow matrices on the tensor cores of a GPU: tiles that warps compute together.

The numbers of the plan may be knobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.intrinsics.nvidia import SIDE
from loopwright.sched.language.expr import Result
from loopwright.sched.lowering.device.warps import LANES
from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import fuse_all
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs


@dataclass(frozen=True)
class WarpsPlan:
    """The choices of :func:`warps`.

    Attributes:
        across, down: warps of a block along the columns and the rows.
        columns, rows: of the tiles of 16 by 16 that a warp computes.
        depth: steps of the reduction for which a block copies what it reads, in sixteens.
    """

    across: Number = 2
    down: Number = 2
    columns: Number = 2
    rows: Number = 2
    depth: Number = 2


def warps(schedule: Schedule, roles: Roles, plan: WarpsPlan, intrinsic: str) -> Schedule:
    """A tile of an output for each block, copies of what it reads in shared memory, and of the tile some for each warp::

        block y, x: warp y, z: ko: copies of A and B; ku: rows: columns: a tile of the warp
                    threads: what the block has computed, stored

    Rows and columns are as many as a block's, or more: the last block is moved inside. Steps are padded. The result goes through
    shared memory: fragments can be stored nowhere else that begins where they want it.

    Raises:
        ScheduleError: the stage is no output, computes more than the product, or is another one than the intrinsic's.
    """
    assert roles.rows is not None and roles.vector is not None
    stage, steps = roles.stage.name, [axis.name for axis in roles.steps]
    if stage not in schedule.nests.outputs.values() or not isinstance(roles.stage.body, Result):
        raise ScheduleError(f"{stage} is not stored as its sum comes out")
    row, column = roles.rows.name, roles.vector.name
    tiles = {row: (plan.down, plan.rows), column: (plan.across, plan.columns), steps[-1]: (1, plan.depth)}
    deep = SIDE * plan.depth
    s, at = _stored_by_blocks(schedule, roles, plan)
    names, loops = Names(s.nests.stages[stage]), list[tuple[str, ...]]()
    for axis, (many, each) in tiles.items():
        grid, rest = names.pair(axis, "b", "i")
        warp, own = names.pair(axis, "w", "r")
        tile, inside = names.pair(axis, "u", "t")
        s = s.split(f"{stage}.{axis}", (grid, rest), SIDE * many * each)
        s = s.split(f"{stage}.{rest}", (warp, own), SIDE * each).split(f"{stage}.{own}", (tile, inside), SIDE)
        loops.append((grid, warp, tile, inside))
    parts, block, own_tiles, insides = zip(*loops, strict=True)
    done = {row, column, steps[-1]}
    before = [axis.name for axis in roles.stage.all_axes if not axis.reduce and axis.name not in done]
    others = [axis.name for axis in roles.stage.all_axes if axis.reduce and axis.name not in done]
    order = [
        *before,
        *parts[:2],
        *block[:2],
        *others,
        parts[2],
        block[2],
        own_tiles[2],
        *own_tiles[:2],
        *insides,
    ]
    s = s.reorder(stage, " ".join(order)).unroll(f"{stage}.{own_tiles[0]}").unroll(f"{stage}.{own_tiles[1]}")
    s = s.bind(f"{stage}.{block[0]}", "threadIdx.y").bind(f"{stage}.{block[1]}", "threadIdx.z")
    s = s.compute_at(stage, at)
    for name in dict.fromkeys(operand.name for operand in roles.operands):
        s = _copied(s, roles, name, f"{stage}.{parts[2]}", deep)
    s = s.pad(stage, steps[-1], deep)  # after the copies: products of their zeros are zeros
    return s.tensorize(f"{stage}.{insides[0]}", intrinsic)


def _stored_by_blocks(s: Schedule, roles: Roles, plan: WarpsPlan) -> tuple[Schedule, str]:
    """The stage in shared memory, and a copy of it, the output, divided among blocks and all of their threads; and the loop
    over blocks."""
    assert roles.rows is not None and roles.vector is not None
    stage, out = roles.stage.name, free_name(s.nests, f"{roles.stage.name}_shared")
    s = s.cache_write(stage, "shared", name=out).compute_root(out)
    names, sides = Names(s.nests.stages[out]), (roles.rows.name, roles.vector.name)
    grid, inside = zip(*(names.pair(axis, "b", "i") for axis in sides), strict=True)
    lengths = (SIDE * plan.down * plan.rows, SIDE * plan.across * plan.columns)
    for axis, block, rest, length in zip(sides, grid, inside, lengths, strict=True):
        s = s.split(f"{out}.{axis}", (block, rest), length)
    ones = [axis.name for axis in roles.spatial if axis.extent == 1]
    outer = [axis.name for axis in roles.outer]
    s = s.reorder(out, " ".join([*ones, *outer, *grid, *inside]))
    if outer:
        s, batch = fuse_all(s, out, names, outer)
        s = s.bind(f"{out}.{batch}", "blockIdx.z")
    s = s.bind(f"{out}.{grid[0]}", "blockIdx.y").bind(f"{out}.{grid[1]}", "blockIdx.x")
    s, turn = fuse_all(s, out, names, list(inside))
    for axis, threads in (("x", LANES), ("y", plan.down), ("z", plan.across)):
        turn_, thread = names.pair(turn, "o", axis)
        s = s.split(f"{out}.{turn}", (turn_, thread), threads).bind(f"{out}.{thread}", f"threadIdx.{axis}")
        turn = turn_
    return s, f"{out}.{grid[1]}"


def _copied(s: Schedule, roles: Roles, name: str, at: str, deep: Number) -> Schedule:
    """A copy of what is read, in shared memory: padded to whole steps, and its rows in different banks."""
    copy = free_name(s.nests, f"{name}_shared")
    s = s.cache_read(name, "shared", at=at, name=copy)
    axes = s.nests.stages[copy].stage.axes
    for operand in roles.operands:
        if operand.name != name:
            continue
        if operand.merged or any(set(dim.values()) - {1} or len(dim) > 1 for dim in operand.dims):
            raise ScheduleError(f"{roles.stage.name} reads {name} by more than its axes")
        for axis, dim in zip(axes, operand.dims, strict=True):
            if roles.steps[-1] in dim:
                s = s.pad(copy, axis.name, deep)
    return s.storage_align(copy, axes[-2].name, SIDE, SIDE // 2)

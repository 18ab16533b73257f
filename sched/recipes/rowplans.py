"""Groups of stages as the default schedule computes them: numbers by a model of the target."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import WORTH_SHARING, native_lanes, points
from loopwright.sched.recipes.groups import Group, groups
from loopwright.sched.recipes.lanes import LanesPlan
from loopwright.sched.recipes.reductions import in_lanes, lanes_plan
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.rows import RowsPlan, TilePlan, rows
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.schedule import Schedule

# Rows of a block: enough that a matrix product among them uses what it loads several times; and the most.
BLOCK_ROWS, MOST_ROWS = 24, 64


def schedule_groups(schedule: Schedule, target: Target, finished: set[str]) -> Schedule:
    """Schedule every group of which no stage is in ``finished``, and add its stages to that."""
    if all(name in finished or nest.place.kind != "root" for name, nest in schedule.nests.stages.items()):
        return schedule
    for group in groups(schedule.nests, target):
        stages = {group.host, *group.members}
        if stages & finished:
            continue
        try:
            schedule = rows(schedule, group, rows_plan(schedule.nests, group, target))
        except ScheduleError:
            continue
        finished |= stages
    return schedule


def rows_plan(nests: Nests, group: Group, target: Target) -> RowsPlan:
    """Reductions in lanes, matrix products in register tiles, vectors of two registers."""
    found = group.roles
    tiles = {stage: tile_plan(roles, target) for stage, roles in found.items() if tiled(roles, group)}
    outer = prod(lengths(nests, group)[:-1])
    packs = any(found[stage].pack for stage in tiles)
    return RowsPlan(
        block=block_of(nests, group, list(tiles.values()), target),
        width=2 * min(native_lanes(roles, target) for roles in found.values()),
        lanes={s: row_lanes(r, target) for s, r in found.items() if s not in tiles and in_lanes(r, target)},
        tiles=tiles,
        packing="outer" if packs and len(group.rows) > 1 and outer >= target.cores else "root",
        parallel=sum(points(roles) for roles in found.values()) >= WORTH_SHARING,
    )


def lengths(nests: Nests, group: Group) -> list[int]:
    """How many rows there are along each axis over rows."""
    extents = {axis.name: known(axis.extent) for axis in nests.stages[group.host].stage.axes}
    return [extents[name] for name in group.rows]


def tiled(roles: Roles, group: Group) -> bool:
    """Whether a stage of a group is a matrix product of its rows."""
    own = group.axes[roles.stage.name]
    return roles.gemm_like and roles.rows is not None and roles.rows.name == own[-1]


def row_lanes(roles: Roles, target: Target) -> LanesPlan:
    """The lanes of one reduction among the stages for a row."""
    return replace(lanes_plan(roles, target), piece=None, parallel=False)


def tile_plan(roles: Roles, target: Target) -> TilePlan:
    """Two vectors wide, and as high as leaves four registers for what is loaded."""
    assert roles.vector is not None and roles.rows is not None
    columns = 2 * native_lanes(roles, target)
    while columns > 1 and columns // 2 >= known(roles.vector.extent):
        columns //= 2
    vectors = max(1, columns // native_lanes(roles, target))
    high = max(1, (target.registers - 4) // vectors)
    return TilePlan(min(high, known(roles.rows.extent)), columns, 4)


def block_of(nests: Nests, group: Group, tiles: list[TilePlan], target: Target) -> int:
    """Rows in a block: of those that leave fewest tiles part empty, whose stages fit the second cache, as near as can be to 24.

    A rest is a second copy of all the code, so it must be worth it.
    """
    if not tiles:
        return 1
    *outer, last = lengths(nests, group)
    high = max(tile.rows for tile in tiles)
    shared = ceil(last / ceil(target.cores / max(1, prod(outer))))
    most = min(MOST_ROWS, shared, max(high, target.l2 // 4 // row_bytes(nests, group)))

    def cost(block: int) -> tuple[float, int]:
        full, rest = divmod(last, block)
        tiles = full * ceil(block / high) + ceil(rest / high)
        return tiles * (1.05 if rest else 1), abs(block - BLOCK_ROWS)

    return min(range(min(high, most), most + 1), key=cost)


def row_bytes(nests: Nests, group: Group) -> int:
    """What the stages of a group keep of one row."""
    total = 0
    for name in group.members:
        stage = nests.stages[name].stage
        inner = prod(known(a.extent) for a in stage.axes if a.name not in group.axes[name])
        total += inner * sum(map(dtypes.itemsize, stage.dtypes))
    return max(1, total)

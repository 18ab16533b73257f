"""The schedule of a workload that was never tuned: good by construction, never a guarded scalar inner loop."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.facts import WORTH_SHARING, native_lanes, points
from loopwright.sched.recipes.gemm import GemmPlan, Packing, Sharing, gemm
from loopwright.sched.recipes.graph import finish_inside, followers, inline_all
from loopwright.sched.recipes.reductions import reduce_stage
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.recipes.rowplans import schedule_groups
from loopwright.sched.recipes.simple import SimplePlan, elementwise
from loopwright.sched.recipes.stencil_plan import stencils
from loopwright.sched.recipes.typical import as_for, typical
from loopwright.sched.recipes.update import update
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

# A reduction of so many steps is done in blocks, that what is packed for it stays in the cache.
LONG, BLOCK = 1024, 256
# Vectors of a row that are done together where the length of rows is symbolic.
RUN = 32


def default_schedule(work: Workload, target: Target, run: int = 1) -> Schedule:
    """A schedule for ``work``, from its structure and the target's registers and caches.

    >>> from loopwright import ops
    >>> target = Target("cpu", "znver3", 2, ("avx2", "fma"), (32768, 524288, 33554432))
    >>> schedule = default_schedule(ops.matmul(M=512, N=512, K=512), target)
    >>> schedule.knobs
    {}
    """
    if work.sizes:
        return as_for(work, typical(work), lambda numbered: default_schedule(numbered, target, RUN))
    if any(known(axis.extent) == 0 for stage in work.stages for axis in stage.all_axes):
        return work.schedule()
    schedule, finished = stencils(work.schedule(), target)
    schedule = inline_all(schedule, finished)
    schedule = schedule_groups(schedule, target, finished)
    for stage in work.stages:
        nest = schedule.nests.stages[stage.name]
        if nest.place.kind == "inline" or stage.name in finished:
            continue
        schedule = schedule_stage(schedule, stage.name, target, run)
        for follower in followers(schedule.nests, stage.name):
            inside = finish_inside(schedule, follower, stage.name)
            if inside is not schedule:
                schedule = inside
                finished.add(follower)
    return schedule


def schedule_stage(schedule: Schedule, name: str, target: Target, run: int = 1) -> Schedule:
    """Schedule one stage by the recipe its structure asks for; as it is, if the recipe's directives are refused."""
    nest = schedule.nests.stages[name]
    if nest.stage.updating is not None:
        lanes = 2 * max(1, target.vector_bytes // dtypes.itemsize(nest.stage.dtype))
        return update(
            schedule, name, lanes, prod(known(a.extent) for a in nest.stage.all_axes) >= WORTH_SHARING
        )
    roles = roles_of(schedule.nests, name)
    try:
        if roles.gemm_like:
            return gemm(schedule, roles, gemm_plan(roles, target))
        if roles.reduce:
            return reduce_stage(schedule, roles, target)
        return elementwise(schedule, roles, replace(elementwise_plan(roles, target), run=run))
    except ScheduleError:
        return schedule


def elementwise_plan(roles: Roles, target: Target) -> SimplePlan:
    """Two registers at a time, or what there is."""
    lanes = 2 * native_lanes(roles, target)
    extent = known(roles.vector.extent) if roles.vector is not None else 1
    while lanes > 1 and lanes > extent and not roles.outer:
        lanes //= 2
    return SimplePlan(lanes=lanes, parallel=points(roles) >= WORTH_SHARING)


def gemm_plan(roles: Roles, target: Target) -> GemmPlan:
    """A register tile that fills the registers, blocks that fit the second cache, even shares for the cores."""
    assert roles.rows is not None and roles.vector is not None
    rows, columns = register_tile(roles, target)
    row_tiles = ceil(known(roles.rows.extent) / rows)
    column_tiles = ceil(known(roles.vector.extent) / columns)
    batches = 1
    for axis in roles.outer:
        batches *= known(axis.extent)
    blocked = bool(roles.reduce) and known(roles.reduce[-1].extent) >= LONG
    depth = BLOCK if blocked else 1
    for axis in roles.reduce[:-1] if blocked else roles.reduce:
        depth *= known(axis.extent)
    itemsize = dtypes.itemsize(roles.stage.dtype)
    # A block of columns stays in the second cache while all rows pass by.
    wide = max(1, min(column_tiles, target.l2 // 2 // max(1, depth * columns * itemsize)))
    sharing: Sharing = "columns"
    if batches >= 2 * target.cores:
        row_block, column_block = row_tiles, wide
    elif column_tiles >= target.cores:
        row_block, column_block = row_tiles, even_share(column_tiles, wide, target.cores)
    else:
        sharing = "rows"
        row_block, column_block = (
            even_share(row_tiles, ceil(row_tiles / target.cores), target.cores),
            column_tiles,
        )
    needs = bool(roles.pack)
    packing: Packing = (
        "block" if needs or (known(roles.rows.extent) >= 4 * rows and column_tiles > 1) else "none"
    )
    return GemmPlan(
        rows=rows,
        columns=columns,
        row_tiles=row_block,
        column_tiles=column_block,
        unroll=4,
        depth=BLOCK if blocked and packing == "block" else None,
        packing=packing,
        sharing=sharing,
        order="rows",
    )


def register_tile(roles: Roles, target: Target) -> tuple[int, int]:
    """Rows and columns of the register tile: two vectors wide, accumulators in all registers but four.

    The components of a reduction over tuples share them.
    """
    assert roles.rows is not None and roles.vector is not None
    lanes = native_lanes(roles, target)
    columns = 2 * lanes
    while columns > 1 and columns // 2 >= known(roles.vector.extent):
        columns //= 2
    reduce = roles.stage.reduce
    components = len(reduce.values) if reduce is not None else 1
    most = max(1, (target.registers - 4) // (components * max(1, ceil(columns / lanes))))
    extent = known(roles.rows.extent)
    if extent <= most:
        return extent, columns
    # Of the tall tiles take the one that leaves few rows over; a lower one makes less of what it loads.
    return min(
        range(max(1, most - 2), most + 1), key=lambda rows: -(-extent // rows) * rows * (1 + 1 / rows)
    ), columns


def even_share(tiles: int, wide: int, cores: int) -> int:
    """Tiles in a block, at most ``wide``, so that the blocks are shared evenly by the cores if that can be.

    >>> even_share(48, 10, 2), even_share(3, 2, 2)
    (8, 2)
    """
    wide = max(1, min(wide, ceil(tiles / cores)))

    def cost(block: int) -> tuple[float, int]:
        blocks = ceil(tiles / block)
        # The slowest core's tiles, and a little for every further block.
        return ceil(blocks / cores) * block * (1 + 0.02 * (wide - block) / wide), -block

    return min(range(1, wide + 1), key=cost)

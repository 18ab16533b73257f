"""The schedule of a workload that was never tuned: good by construction, never a guarded scalar inner loop."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import prod

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.blocks import in_blocks
from loopwright.sched.recipes.crosswise import crossed, turn, turn_plan
from loopwright.sched.recipes.device import device_schedule, runs_on
from loopwright.sched.recipes.facts import WORTH_SHARING, native_lanes, overflows, points
from loopwright.sched.recipes.gemm import gemm
from loopwright.sched.recipes.gemm_plan import gemm_plan, tile_roles
from loopwright.sched.recipes.graph import finish_inside, followers, inline_all, tiles_first
from loopwright.sched.recipes.packing import pack_ahead
from loopwright.sched.recipes.products import products_of
from loopwright.sched.recipes.reductions import in_two_passes, reduce_stage
from loopwright.sched.recipes.refine import refined
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.recipes.rowplans import schedule_groups
from loopwright.sched.recipes.simple import SimplePlan, elementwise
from loopwright.sched.recipes.stencil_plan import stencils
from loopwright.sched.recipes.turned import turned
from loopwright.sched.recipes.typical import as_for, typical
from loopwright.sched.recipes.update import update, update_plan
from loopwright.sched.recipes.window import window, window_plan
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

# Rows for each core from which on these are divided among the cores, and not vectors.
ROWS = 8
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
    if isinstance(target, DeviceTarget):
        return on_device(work, target)
    if work.sizes:
        plain = replace(target, intrinsics=False)
        return as_for(
            work,
            typical(work),
            lambda numbered: default_schedule(numbered, target, RUN),
            lambda numbered: default_schedule(numbered, plain, RUN),
        )
    if any(known(axis.extent) == 0 for stage in work.stages for axis in stage.all_axes):
        return work.schedule()
    schedule, finished = stencils(work.schedule(), target)
    schedule = in_two_passes(inline_all(schedule, finished), target)
    schedule = schedule_groups(schedule, target, finished)
    for stage in tiles_first(schedule):
        nest = schedule.nests.stages[stage.name]
        if nest.place.kind in ("inline", "at") or nest.relations or stage.name in finished:
            continue
        schedule = schedule_stage(schedule, stage.name, target, run)
        for follower in followers(schedule.nests, stage.name):
            inside = finish_inside(schedule, follower, stage.name)
            if inside is not schedule:
                schedule = inside
                finished.add(follower)
    return pack_ahead(schedule)


def on_device(work: Workload, target: DeviceTarget) -> Schedule:
    """For a device: that of the CPU which it is, in blocks, if these can be; else that for GPUs."""
    if target.processor is not None and not work.sizes:
        on_cpu = default_schedule(work, target.processor)
        for copies_at_root in (False, True):
            try:
                schedule = in_blocks(on_cpu, copies_at_root)
            except ScheduleError:
                continue
            if runs_on(schedule, target):
                return schedule
    return device_schedule(work, target)


def schedule_stage(schedule: Schedule, name: str, target: Target, run: int = 1) -> Schedule:
    """Schedule one stage by the recipe its structure asks for; as it is, if the recipe's directives are refused."""
    nest = schedule.nests.stages[name]
    if nest.stage.updating is not None:
        return update(schedule, name, update_plan(schedule, name, target))
    try:
        tiled = tile_stage(schedule, name, target)
        if tiled is not None:
            return tiled
        roles = roles_of(schedule.nests, name)
        if roles.window:
            return window_stage(schedule, roles, target)
        if roles.reduce:
            return reduce_stage(schedule, roles, target)
        if crossed(roles):
            return turn(schedule, roles, turn_plan(roles, target))
        plan = elementwise_plan(roles, target)
        # Where only a call knows how many rows there are, there may be one that all cores must share.
        plan = replace(
            plan, run=run, rows=plan.rows and run == 1, stream=overflows(schedule.nests, roles, target)
        )
        return elementwise(schedule, roles, plan)
    except ScheduleError:
        return schedule


def window_stage(schedule: Schedule, roles: Roles, target: Target) -> Schedule:
    """A sum over a window; without its padding in it, if that cannot be."""
    plan = window_plan(roles, target)
    for place, pad in ((plan.place, plan.pad), (plan.place, False), ("root", False)):
        with suppress(ScheduleError):
            return window(schedule, roles, replace(plan, place=place, pad=pad))
    return reduce_stage(schedule, roles, target)


def tile_stage(schedule: Schedule, name: str, target: Target) -> Schedule | None:
    """The stage with a register tile; None if none pays, or if the directives of none are legal."""
    s, roles = refined(schedule, name)
    tiles = [tile for tile in (tile_roles(roles, target), roles) if tile is not None and tile.gemm_like]
    narrow = [products_of(s.nests, tile, target) for tile in (*tiles, turned(roles)) if tile is not None]
    plain = [(tile, None) for tile in tiles]
    for tile, products in [*(found for found in narrow if found[1] is not None), *plain]:
        try:
            return gemm(s, tile, gemm_plan(tile, target, products))
        except ScheduleError:
            continue
    return None


def elementwise_plan(roles: Roles, target: Target) -> SimplePlan:
    """Two registers at a time, or what there is."""
    lanes = 2 * native_lanes(roles, target)
    extent = known(roles.vector.extent) if roles.vector is not None else 1
    while lanes > 1 and lanes > extent and not roles.outer:
        lanes //= 2
    rows = prod(known(axis.extent) for axis in roles.outer)
    return SimplePlan(lanes=lanes, parallel=points(roles) >= WORTH_SHARING, rows=rows >= ROWS * target.cores)

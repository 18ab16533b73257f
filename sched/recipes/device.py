"""The default schedule for a device: of a GPU, grids, tiles and rows of threads; of a CPU behind OpenCL, blocks of one thread."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.device.builder import build
from loopwright.sched.recipes.facts import native_lanes
from loopwright.sched.recipes.graph import followers, inline_all
from loopwright.sched.recipes.grid import PointsPlan, across, points, rows_of_blocks
from loopwright.sched.recipes.groups import groups
from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.recipes.tiles import TilesPlan, tiles
from loopwright.sched.runtime.device.limits import check_limits
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.schedule import Schedule

# Threads of a block: several times what runs in step, and few enough for many blocks.
THREADS = 128
# Elements that keep a GPU busy by themselves; and a reduction that is worth the threads of a block.
MANY, LONG = 4096, 64


def device_schedule(work: Workload, target: DeviceTarget) -> Schedule:
    """The first of these that the target can run: by structure, or each stage a kernel and each element a thread's."""
    if any(known(axis.extent) == 0 for stage in work.stages for axis in stage.all_axes):
        return one_by_one(work, target)
    try:
        schedule = planned(inline_all(work.schedule()), target)
    except ScheduleError:
        return one_by_one(work, target)
    return schedule if runs_on(schedule, target) else one_by_one(work, target)


def runs_on(schedule: Schedule, target: DeviceTarget) -> bool:
    """Whether a filled schedule can be lowered for the target, and is within its limits."""
    try:
        check_limits(build(schedule.nests), target)
    except ScheduleError:
        return False
    return True


def planned(schedule: Schedule, target: DeviceTarget, done: Collection[str] = ()) -> Schedule:
    """Schedule all stages but those that are ``done``: groups of rows first, then stage by stage, with what follows each.

    Raises:
        ScheduleError: a recipe's directives are refused.
    """
    s, finished = schedule, set(done)
    for group in groups(s.nests, target):
        if finished.isdisjoint((group.host, *group.members)):
            try:
                s = rows_of_blocks(s, group, threads_for(group.roles[group.host], target))
            except ScheduleError:
                continue
            finished |= {group.host, *group.members}
    for stage in schedule.work.stages:
        if stage.name not in finished and s.nests.stages[stage.name].place.kind == "root":
            s = on_grid(s, stage.name, target)
        for follower in followers(s.nests, stage.name):
            if follower not in finished:
                s, inside = finished_inside(s, follower, stage.name)
                finished |= {follower} if inside else set()
    return s


def on_grid(schedule: Schedule, name: str, target: DeviceTarget) -> Schedule:
    """One stage by the recipe that its structure asks for."""
    if schedule.nests.stages[name].stage.updating is not None or schedule.nests.updates(name):
        return _plainly(schedule, name, target)
    roles = roles_of(schedule.nests, name)
    recipes: list[Callable[[], Schedule]] = [lambda: points(schedule, roles, points_plan(roles, target))]
    if roles.gemm_like:
        recipes.insert(0, lambda: tiles(schedule, roles, tiles_plan(roles, target)))
    elif worth_parts(roles):
        recipes.insert(0, lambda: across(schedule, roles, parts_for(roles, target)))
    for recipe in recipes:
        try:
            made = recipe()
        except ScheduleError:
            continue
        if made is not schedule:
            return made
    return _plainly(schedule, name, target)


def finished_inside(schedule: Schedule, follower: str, stage: str) -> tuple[Schedule, bool]:
    """What follows a stage, computed by the threads that have its elements, each from its own; and whether that is legal."""
    threads = [loop.name for loop in schedule.nests.stages[stage].loops if loop.kind == "threadIdx.x"]
    sample = schedule.fill(schedule.witness) if schedule.knobs else schedule
    for loop in threads:
        try:
            sample.reverse_compute_at(follower, f"{stage}.{loop}")
            inside = schedule.reverse_compute_at(follower, f"{stage}.{loop}")
            return inside.set_scope(stage, "local"), True
        except ScheduleError:
            continue
    return schedule, False


def threads_for(roles: Roles, target: DeviceTarget) -> int:
    """The threads of a block that share a row: no more than it has elements."""
    along = max((known(axis.extent) for axis in roles.spatial[-1:]), default=1)
    return _power(min(THREADS, target.threads, target.block[0], along))


def parts_for(roles: Roles, target: DeviceTarget) -> int:
    """The threads of a block that share a reduction."""
    return _power(min(THREADS, target.threads, target.block[0], known(roles.reduce[-1].extent)))


def worth_parts(roles: Roles) -> bool:
    """Whether there are too few elements to keep a GPU busy, and enough to do for each."""
    elements = prod(known(axis.extent) for axis in roles.spatial)
    return bool(roles.reduce) and elements < MANY and known(roles.reduce[-1].extent) >= LONG


def points_plan(roles: Roles, target: DeviceTarget) -> PointsPlan:
    """A vector for each thread where memory is all there is to wait for, and elements enough."""
    elements = prod(known(axis.extent) for axis in roles.spatial)
    lanes = native_lanes(roles, target) if not roles.reduce and elements >= 16 * MANY else 1
    if roles.vector is None or known(roles.vector.extent) % lanes:
        lanes = 1
    return PointsPlan(threads=min(THREADS, target.threads, target.block[0]), lanes=lanes)


def tiles_plan(roles: Roles, target: DeviceTarget) -> TilesPlan:
    """16 by 8 threads with 4 by 4 elements each; less of either where there are too few rows or columns."""
    assert roles.rows is not None and roles.vector is not None
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    wide = 4 if columns >= 64 else 1
    high = 4 if rows >= 32 else 1
    across_, down = min(16, _power(columns)), min(8, _power(rows))
    return TilesPlan(across_, down, wide, high, depth=min(8, known(roles.steps[-1].extent)))


def one_by_one(work: Workload, target: DeviceTarget) -> Schedule:
    """What costs next to nothing is inlined; of what is left, the elements are counted through, and divided among threads."""
    schedule = inline_all(work.schedule())
    for name, nest in schedule.nests.stages.items():
        if nest.place.kind != "inline":
            schedule = _plainly(schedule, name, target)
    return schedule


def _plainly(schedule: Schedule, name: str, target: DeviceTarget) -> Schedule:
    try:
        return _shared_out(schedule, name, min(THREADS, target.threads))
    except (
        ScheduleError
    ):  # the loops of an update may have to stay in their order: its own are bound as they are
        return _bound(schedule, name)


def _shared_out(schedule: Schedule, name: str, threads: int) -> Schedule:
    """All spatial loops of a stage as one, whose iterations are threads of blocks."""
    nest = schedule.nests.stages[name]
    names = Names(nest)
    own = [loop.name for loop in nest.loops if not loop.reduce]
    if not own:
        return schedule
    s = schedule.reorder(name, [*own, *(loop.name for loop in nest.loops if loop.reduce)])
    whole = own[0]
    for inner in own[1:]:
        fused = names.new("f")
        s, whole = s.fuse(f"{name}.{whole}", f"{name}.{inner}", fused), fused
    block, thread = names.pair(whole, "b", "t")
    s = s.split(f"{name}.{whole}", (block, thread), threads)
    return s.bind(f"{name}.{block}", "blockIdx.x").bind(f"{name}.{thread}", "threadIdx.x")


def _bound(schedule: Schedule, name: str) -> Schedule:
    """The outermost loop that can be, given to blocks."""
    for loop in schedule.nests.stages[name].loops:
        try:
            return schedule.bind(f"{name}.{loop.name}", "blockIdx.x")
        except ScheduleError:
            continue
    return schedule


def _power(most: int) -> int:
    """The greatest power of two that is no more."""
    return 1 << (max(1, most).bit_length() - 1)

"""Which recipe a reduction without reuse gets, and its numbers."""

from __future__ import annotations

from math import ceil, prod

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import INDEXERS, walk
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.prepare import definitions
from loopwright.sched.recipes.facts import WORTH_SHARING, native_lanes, points
from loopwright.sched.recipes.lanes import LanesPlan, lanes, run_length
from loopwright.sched.recipes.names import free_name
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.recipes.simple import SimplePlan, reduction
from loopwright.sched.recipes.stream import StreamPlan, stream, streams
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

# A value of so few nodes, indices among them, is computed twice rather than carried along with its index.
CHEAP = 12
# Cycles until the result of an addition can be added to: so many vectors are kept in flight.
LATENCY = 4
# Cycles that the last steps of a reduction take which do not fill the lanes.
TAIL = 6
# Fewer rows than this are summed in registers.
FEW_ROWS = 16
# The most lanes: more code takes long to compile, and runs no faster.
MOST_VECTORS = 8


def reduce_stage(schedule: Schedule, roles: Roles, target: Target) -> Schedule:
    """Schedule a reduction without reuse by the recipe that fits how it lies in memory."""
    if in_lanes(roles, target):
        try:
            return lanes(schedule, roles, lanes_plan(roles, target))
        except ScheduleError:  # a reduction that must be done in the order written
            return reduction(schedule, roles, reduction_plan(roles, target))
    if streams(roles) and depth(roles) >= FEW_ROWS:
        return stream(schedule, roles, stream_plan(roles, target))
    return reduction(schedule, roles, reduction_plan(roles, target))


def depth(roles: Roles) -> int:
    """Steps of the reduction of one element."""
    return prod(known(axis.extent) for axis in roles.reduce)


def in_lanes(roles: Roles, target: Target) -> bool:
    """Whether a reduction axis lies along memory, fills registers, and no spatial axis would do so more cheaply."""
    vector = roles.vector
    if run_length(roles) < 2 * native_lanes(roles, target) or roles.gemm_like:
        return False
    return vector is None or any(o.uses(vector) and not o.contiguous(vector) for o in roles.operands)


def lanes_plan(roles: Roles, target: Target) -> LanesPlan:
    """Lanes that take least time by a count of cycles; pieces where there are fewer elements than cores."""
    extent, native = run_length(roles), native_lanes(roles, target)
    components = len(roles.stage.reduce.values) if roles.stage.reduce is not None else 1
    most = max(1, min(MOST_VECTORS, target.registers // (2 * components), extent // native))

    def cycles(vectors: int) -> tuple[int, int]:
        full, rest = divmod(extent, vectors * native)
        tail = TAIL + ceil(rest / native) if rest else 0
        return full * max(LATENCY, vectors) + tail + vectors, vectors

    vectors = min(range(1, most + 1), key=cycles)
    shared = points(roles) >= WORTH_SHARING
    return LanesPlan(vectors * native, native, piece_of(roles, target) if shared else None, shared)


def piece_of(roles: Roles, target: Target) -> int | None:
    """Steps of the outermost reduction axis that one core does; None where the elements are enough for all cores."""
    elements = prod(known(axis.extent) for axis in roles.stage.axes)
    steps = known(roles.reduce[0].extent)
    if elements >= target.cores or steps < 2 * target.cores or points(roles) < WORTH_SHARING * target.cores:
        return None
    return ceil(steps / target.cores)


def stream_plan(roles: Roles, target: Target) -> StreamPlan:
    """Rows as wide as half the first cache holds, divided among the cores where there is nothing else to divide."""
    assert roles.vector is not None
    native, extent = native_lanes(roles, target), known(roles.vector.extent)
    wide = 4 if extent >= 4 * native * target.cores else 2 if extent >= 2 * native else 1
    vectors = ceil(extent / (wide * native))
    most = max(1, target.l1 // 2 // (wide * native * roles.itemsize))
    shared = points(roles) >= WORTH_SHARING
    batches = prod(known(axis.extent) for axis in roles.outer)
    shares = target.cores if shared and batches < target.cores else 1
    return StreamPlan(wide * native, 4, max(1, min(most, ceil(vectors / shares))), None, shared)


def reduction_plan(roles: Roles, target: Target) -> SimplePlan:
    """Enough sums side by side to hide the latency of an addition."""
    lanes = native_lanes(roles, target)
    shared = points(roles) >= WORTH_SHARING
    if roles.vector is None:
        return SimplePlan(lanes=1, copies=min(8, _last_outer(roles)), unroll=4, parallel=shared)
    vectors = ceil(known(roles.vector.extent) / lanes)
    copies = 4
    while copies > 1 and vectors < copies * (target.cores if shared and not roles.outer else 1):
        copies //= 2
    return SimplePlan(lanes=lanes, copies=copies, unroll=4 if copies < 4 else 2, parallel=shared)


def _last_outer(roles: Roles) -> int:
    return known(roles.outer[-1].extent) if roles.outer else 1


def in_two_passes(schedule: Schedule, target: Target) -> Schedule:
    """Every argmax (or argmin) along memory by its value first, where that is read and not computed a second time.

    The second pass finds the row in the first cache: 1024 rows of 1000 floats took 222 us with pairs in lanes, 140 us in two
    passes (one Zen 3 core).
    """
    for stage in schedule.work.stages:
        nest = schedule.nests.stages[stage.name]
        if nest.place.kind == "inline" or stage.reduce is None or stage.reduce.op not in INDEXERS:
            continue
        roles = roles_of(schedule.nests, stage.name)
        value = definitions(schedule.nests)[stage.name].values[0]
        if in_lanes(roles, target) and sum(1 for _ in walk(value)) <= CHEAP:
            schedule = schedule.two_pass(stage.name, free_name(schedule.nests, f"{stage.name}_best"))
    return schedule

"""The recipe for updates: what is independent runs side by side, the rest as written."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known
from loopwright.sched.language.interval import most
from loopwright.sched.language.stage import Stage
from loopwright.sched.recipes.facts import WORTH_SHARING
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

# Elements along memory that take each step of the domain together: whole lines of it, many of them in a row.
SPAN = 256
# Rows of a scan that run side by side: each waits for its last product or sum and for the store before its next load.
ROWS = 8
# How many steps of its domain a histogram has at least for each of its elements and each core, for each core to count in a
# slice of its own: zeroing the slices and adding them up is then little work beside.
STEPS = 4


@dataclass(frozen=True)
class UpdatePlan:
    """The numbers of an update's schedule; knobs stand for those that are tuned.

    Attributes:
        lanes: along the axis that lies in memory, if its iterations are independent; 1 for none.
        span: elements of that axis that take each step of the domain together, if it is one of the update's own.
        rows: iterations of an axis of its own that run side by side, inside the domain, where there are no lanes; 1 for none.
        slices: steps of the domain's longest axis that are accumulated in one slice, apart from the others; None for no slices.
        parallel: whether all cores take part.
    """

    lanes: int | Knob = 1
    span: int | Knob = SPAN
    rows: int | Knob = 1
    slices: int | Knob | None = None
    parallel: bool = True


def update_plan(schedule: Schedule, name: str, target: Target) -> UpdatePlan:
    """The plan of an update that was never tuned."""
    stage = schedule.nests.stages[name].stage
    parallel = steps(stage) >= WORTH_SHARING
    axis = independent(schedule, name)
    if axis is not None:
        lanes = 2 * max(1, target.vector_bytes // dtypes.itemsize(stage.dtype))
        span = min(SPAN, ceil(known(axis.extent) / target.cores)) if parallel else SPAN
        return UpdatePlan(lanes=lanes, span=max(lanes, span // lanes * lanes), parallel=parallel)
    if beside(stage) is not None:
        return UpdatePlan(rows=ROWS, parallel=parallel)
    if parallel and target.cores > 1 and sliceable(stage, target.cores):
        return UpdatePlan(slices=ceil(known(longest(stage).extent) / target.cores))
    return UpdatePlan(parallel=parallel)


def update(schedule: Schedule, name: str, plan: UpdatePlan) -> Schedule:
    """Schedule an update by a plan; of its directives those that the checks refuse are left out."""
    stage = schedule.nests.stages[name].stage
    along, row = independent(schedule, name), beside(stage)
    wide = [axis.name for axis in stage.all_axes if most(axis.extent) > 1]
    if along is not None and plan.lanes != 1:
        whole = row is None or along.reduce
        moved = schedule if whole else _inside(schedule, name, along, plan.span)
        inner = f"{along}_r" if moved is not schedule else along.name
        schedule = _tried(moved, "vectorize", f"{name}.{inner}", plan.lanes)
    elif row is not None and plan.rows != 1:
        moved = _inside(schedule, name, row, plan.rows)
        schedule = _tried(moved, "unroll", f"{name}.{row}_r") if moved is not schedule else schedule
    elif plan.slices is not None:
        return _in_slices(schedule, name, plan.slices)
    names = {loop.name for loop in schedule.nests.stages[name].loops}
    wide = [axis if axis in names else f"{axis}_o" for axis in wide]
    for axis in wide[:1] if plan.parallel else []:
        schedule = _tried(schedule, "parallel", f"{name}.{axis}")
    return schedule


def independent(schedule: Schedule, name: str) -> Axis | None:
    """The axis of an update that lies in memory, if its iterations know nothing of each other: one of its own, or of its
    domain if the checks let it run in vectors."""
    stage = schedule.nests.stages[name].stage
    last = stage.updating.at[-1] if stage.updating is not None and stage.updating.at else None
    axis = next((axis for axis in stage.all_axes if axis is last and most(axis.extent) > 1), None)
    if axis is None or not axis.reduce:
        return axis
    return axis if _tried(schedule, "vectorize", f"{name}.{axis}", 2) is not schedule else None


def beside(stage: Stage) -> Axis | None:
    """The innermost axis of the update's own, whose iterations know nothing of each other, if there is a domain to run beside."""
    own = [axis for axis in stage.axes if most(axis.extent) > 1]
    domain = [axis for axis in stage.reduce_axes if most(axis.extent) > 1]
    return own[-1] if own and domain else None


def sliceable(stage: Stage, cores: int) -> bool:
    """Whether the domain is so long that each core may have a part of it, accumulated into elements of its own."""
    elements = prod(known(extent) for extent in stage.shape)
    return beside(stage) is None and steps(stage) >= STEPS * cores * elements


def longest(stage: Stage) -> Axis:
    """The axis of the domain with the most steps; the outermost of equals."""
    return max(stage.reduce_axes, key=lambda axis: known(axis.extent))


def steps(stage: Stage) -> int:
    """How often the update runs."""
    return prod(known(axis.extent) for axis in stage.all_axes)


def _inside(schedule: Schedule, name: str, axis: Axis, size: int | Knob) -> Schedule:
    """The schedule in which so many iterations of an axis of the update's own run inside its domain; as it is if refused."""
    stage = schedule.nests.stages[name].stage
    outer, inner = f"{axis}_o", f"{axis}_r"
    own = [outer if other is axis else other.name for other in stage.axes]
    domain = [other.name for other in stage.reduce_axes]
    try:
        split = schedule.split(f"{name}.{axis}", (outer, inner), size)
        return split.reorder(name, " ".join((*own, *domain, inner)))
    except ScheduleError:
        return schedule


def _in_slices(schedule: Schedule, name: str, size: int | Knob) -> Schedule:
    """The schedule in which parts of the domain are accumulated apart, on all cores; as it is if its order matters."""
    stage = schedule.nests.stages[name].stage
    axis = longest(stage)
    outer, slices = f"{axis}_o", f"{name.split('.')[0]}_slices"
    try:
        return (
            schedule.split(f"{name}.{axis}", (outer, f"{axis}_i"), size)
            .rfactor(f"{name}.{outer}", slices)
            .parallel(f"{slices}.u0.{outer}")
        )
    except ScheduleError:
        return schedule


def _tried(schedule: Schedule, kind: str, *args: object) -> Schedule:
    """The schedule with one directive more, if it is legal."""
    try:
        changed: Schedule = getattr(schedule, kind)(*args)
    except ScheduleError:
        return schedule
    return changed

"""The recipe for updates: what is independent runs side by side, the rest as written."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.interval import most
from loopwright.sched.scheduling.schedule import Schedule


def update(schedule: Schedule, name: str, lanes: int, parallel: bool) -> Schedule:
    """Schedule an update: vectors along the axis that lies in memory, an outer axis shared out over the cores.

    An axis of the update's own is always independent; one of its domain is tried, and left as it is if the checks
    refuse it.
    """
    stage = schedule.nests.stages[name].stage
    last = stage.updating.at[-1] if stage.updating is not None and stage.updating.at else None
    along = [axis.name for axis in stage.all_axes if axis is last and most(axis.extent) > 1]
    for axis in along:
        schedule = _tried(schedule, "vectorize", f"{name}.{axis}", lanes)
    wide = [axis.name for axis in stage.all_axes if most(axis.extent) > 1]
    for axis in wide[:1] if parallel else []:
        schedule = _tried(schedule, "parallel", f"{name}.{axis}")
    return schedule


def _tried(schedule: Schedule, kind: str, *args: object) -> Schedule:
    """The schedule with one directive more, if it is legal."""
    try:
        changed: Schedule = getattr(schedule, kind)(*args)
    except ScheduleError:
        return schedule
    return changed

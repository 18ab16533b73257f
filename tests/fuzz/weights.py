"""Random workloads with weights, and random schedules that prepack what they may."""

from __future__ import annotations

from random import Random

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule

WEIGHTS = 0.7  # the share of inputs that are weights
PREPACKED = 0.8  # the share of the stages that can be


def weighed(work: Workload, number: int) -> Workload:
    """The same workload with some of its inputs declared weights, if their sizes are known."""
    rng = Random(number)
    known = [t.name for t in work.inputs if all(isinstance(size, int) for size in t.shape)]
    return work.with_weights(*(name for name in known if rng.random() < WEIGHTS))


def prepacking(schedule: Schedule, number: int) -> Schedule:
    """The schedule with stages prepacked, some before the last of its directives; those that this makes illegal are left out."""
    rng = Random(number)
    cut = rng.randint(0, len(schedule.directives))
    found = _prepacked(Schedule(schedule.work, schedule.directives[:cut]), rng)
    for directive in schedule.directives[cut:]:
        try:
            found = found.add(directive)
        except lw.ScheduleError:
            continue
    return _prepacked(found, rng)


def _prepacked(schedule: Schedule, rng: Random) -> Schedule:
    for name in schedule.nests.stages:
        if rng.random() < PREPACKED:
            try:
                schedule = schedule.prepack(name)
            except lw.ScheduleError:
                continue
    return schedule

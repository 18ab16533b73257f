"""The default schedule for a GPU: each stage a kernel, each element a thread's."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.graph import inline_all
from loopwright.sched.recipes.names import Names
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.schedule import Schedule

# Threads of a block: several times what runs in step, and few enough for many blocks.
THREADS = 128


def device_schedule(work: Workload, target: DeviceTarget) -> Schedule:
    """What costs next to nothing is inlined; of what is left, the elements are counted through, and divided among threads."""
    schedule = inline_all(work.schedule())
    for name, nest in schedule.nests.stages.items():
        if nest.place.kind != "inline":
            try:
                schedule = _shared_out(schedule, name, min(THREADS, target.threads))
            except (
                ScheduleError
            ):  # the loops of an update may have to stay in their order: its own are bound as they are
                schedule = _bound(schedule, name)
    return schedule


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

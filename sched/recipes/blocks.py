"""From a schedule for a CPU to one for a CPU that runs kernels as a device does: its parallel loops are blocks of one thread.

There is nothing to share between threads there: vectors, registers and caches are what counts, as on a CPU of its own.
"""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.checks import sizes
from loopwright.sched.scheduling.schedule import Schedule
from loopwright.sched.scheduling.threads import bound_axes

BLOCK = "blockIdx.x"
# What makes a program faster or smaller, and not another one: a device has no such thing.
LEFT_OUT = ("stream", "prefetch", "prepack")


def in_blocks(schedule: Schedule, copies_at_root: bool = False) -> Schedule:
    """The same loops, with those in parallel bound to blocks, and what is computed inside them in the thread's own memory.

    A stage at root with no parallel loop gets one: the outermost that can be. Copies of inputs that are more than a thread may
    have stand at root with ``copies_at_root``, and all blocks read them.

    Raises:
        ScheduleError: something in it has no form for a device.

    Example:
        >>> from loopwright import ops
        >>> schedule = ops.relu(X=(64, 64)).schedule().parallel("Y.i0")
        >>> in_blocks(schedule).to_python().splitlines()[-2].strip()
        '.bind("Y.i0", "blockIdx.x")'
    """
    made = schedule.work.schedule()
    for directive in schedule.directives:
        if directive.kind == "parallel":
            made = made.bind(directive.get("loop"), BLOCK)
        elif directive.kind == "cache_read" and copies_at_root:
            made = made.add(replace(directive, args=tuple(arg for arg in directive.args if arg[0] != "at")))
        elif directive.kind not in LEFT_OUT:
            made = made.add(directive)
    for name, nest in made.nests.stages.items():
        kind = made.nests.place_of(name).kind
        if kind == "root" and not bound_axes(nest):
            made = _bound(made, name)
        elif kind == "at" and nest.scope == "global" and made.nests.head(name) == name:
            made = made.set_scope(name, "local")
    return made


def _bound(schedule: Schedule, name: str) -> Schedule:
    """The outermost loop of a stage that is more than one iteration, and can be, bound to blocks."""
    nest = schedule.nests.stages[name]
    length = sizes(nest)
    for loop in nest.loops:
        if loop.kind == "serial" and length[loop.name] != 1:
            try:
                return schedule.bind(f"{name}.{loop.name}", BLOCK)
            except ScheduleError:
                continue
    return schedule

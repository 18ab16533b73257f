"""What makes the binding of loops to the axes of a GPU legal, whatever the target: asked again whenever a loop moves.

What depends on the target (how many threads a block can have) and on where buffers come to lie (who writes what, and who
reads it) is checked when a kernel is built, in :mod:`loopwright.sched.lowering.device`.
"""

from __future__ import annotations

from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import Nests, StageNest
from loopwright.sched.scheduling.threads import BOUND, VTHREAD, bound_axes


def check_axis_name(where: str, axis: Any) -> None:
    """A loop is bound to one of the known axes."""
    if axis not in BOUND:
        raise ScheduleError(f"{where}: there is no axis {axis!r}; it is one of {', '.join(map(repr, BOUND))}")


def check_threads(where: str, nests: Nests) -> None:
    """The rules of this file that hold for all stages."""
    for nest in nests.stages.values():
        if bound_axes(nest):
            check_axis_once(where, nest)
            check_outside_reductions(where, nest)
            check_no_cores(where, nest)
            check_nothing_at_vthread(where, nests, nest)


def check_axis_once(where: str, nest: StageNest) -> None:
    """Of two nested loops on one axis only the iterations where both are equal would run: a diagonal."""
    seen: dict[str, str] = {}
    for loop in nest.loops:
        if loop.kind in seen:
            raise ScheduleError(
                f"{where}: {nest.name}.{seen[loop.kind]} is bound to {loop.kind} already, and of two nested loops on one "
                f"axis only equal iterations would run;\nchoose another axis, or fuse the two loops and bind that one"
            )
        if loop.kind in BOUND and loop.kind != VTHREAD:
            seen[loop.kind] = shown(loop.name)


def check_outside_reductions(where: str, nest: StageNest) -> None:
    """A thread has its accumulators from the start of a reduction to its end."""
    around = None
    for loop in nest.loops:
        if loop.kind in BOUND and around is not None:
            sort = "reduction" if nest.stage.updating is None else "domain's"
            raise ScheduleError(
                f"{where}: {nest.name}.{shown(loop.name)} is bound to {loop.kind} and would stand inside the {sort} loop "
                f"{nest.name}.{around};\nreorder, so that it is outside"
            )
        if loop.reduce and loop.kind not in BOUND:
            around = shown(loop.name)


def check_no_cores(where: str, nest: StageNest) -> None:
    """A stage runs on the cores of a CPU or on the threads of a GPU."""
    for loop in nest.loops:
        if loop.kind == "parallel":
            other = next(iter(bound_axes(nest).items()))
            raise ScheduleError(
                f"{where}: {nest.name}.{shown(loop.name)} is parallel, on the cores of a CPU, and {nest.name}.{shown(other[1])} "
                f"is bound to {other[0]} of a GPU; keep one of the two"
            )


def check_nothing_at_vthread(where: str, nests: Nests, nest: StageNest) -> None:
    """What virtual threads have in common is computed outside their loop."""
    for other in nests.stages.values():
        if other.place.kind in ("at", "after") and other.place.stage == nest.name:
            loop = nest.loop(other.place.loop)
            if loop.kind == VTHREAD:
                raise ScheduleError(
                    f"{where}: {other.name} would be computed at {nest.name}.{shown(loop.name)}, whose iterations are virtual "
                    f"threads and run together; place {other.name} at another loop"
                )

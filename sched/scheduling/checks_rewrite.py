"""What makes directives legal that rewrite stages, or how they are stored: one named check for each rule."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import Loop, StageNest


def check_of_reduction(where: str, nest: StageNest, loop: Loop) -> None:
    """Only a loop that a reduction runs over can be taken out of it."""
    if loop.reduce:
        return
    reducing = [f"{nest.name}.{shown(other.name)}" for other in nest.loops if other.reduce]
    instead = f"choose one of {', '.join(reducing)}" if reducing else f"{nest.name} has no reduction"
    raise ScheduleError(
        f"{where}: {nest.name}.{shown(loop.name)} is no loop of a reduction, so there is nothing to take apart; {instead}"
    )

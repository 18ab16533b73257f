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


def check_no_vector(where: str, nest: StageNest) -> None:
    """A vectorized loop runs inside all others; with an intrinsic there, no room is left for it."""
    for loop in nest.loops:
        if loop.kind == "vectorize":
            raise ScheduleError(
                f"{where}: {nest.name}.{shown(loop.name)} is vectorized, and so runs innermost, where the intrinsic is to "
                "stand; leave it as it is, or unroll it"
            )


def check_tensor_innermost(where: str, nest: StageNest) -> None:
    """An intrinsic stands for the innermost loops, all of them together."""
    assert nest.tensor is not None
    kinds = [loop.kind == "tensorize" for loop in nest.loops]
    if kinds != sorted(kinds) or nest.loops[kinds.index(True)].name != nest.tensor[0]:
        loops = " ".join(shown(loop.name) for loop in nest.loops if loop.kind == "tensorize")
        raise ScheduleError(
            f"{where}: the loops {loops} of {nest.name} are tensorized, and stay innermost, in this order; "
            "do this before tensorize"
        )

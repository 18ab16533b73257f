"""The recipe for reductions along memory: partial results in the lanes of vectors, which are brought together last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.pieces import in_pieces
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import fuse_all
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs


@dataclass(frozen=True)
class LanesPlan:
    """The choices of the recipe; numbers may be knobs.

    Attributes:
        lanes: partial results that are kept side by side: several registers, to hide the latency of an operation.
        vector: to so many the lanes are brought together first, one register on another.
        piece: steps of the outermost reduction axis that one core does, where no spatial axis gives the cores enough to do;
            None where one does.
        parallel: share out the spatial axes, or the pieces, over the cores.
    """

    lanes: Number = 32
    vector: Number = 8
    piece: Number | None = None
    parallel: bool = True


def along(roles: Roles) -> Axis | None:
    """The reduction axis whose steps go to the next element of most operands that it moves; None if there is none."""

    def moved(axis: Axis) -> tuple[int, int]:
        using = [o for o in roles.operands if o.uses(axis)]
        return sum(o.contiguous(axis) for o in using), len(using)

    best = max(reversed(roles.reduce), key=lambda axis: moved(axis)[0], default=None)
    if best is None:
        return None
    contiguous, using = moved(best)
    return best if 2 * contiguous > using else None


def lanes(schedule: Schedule, roles: Roles, plan: LanesPlan) -> Schedule:
    """Schedule a reduction of which one axis lies along memory, each element of the stage by itself.

    ``s[i] = sum of x[i, k]`` gets a stage ``s_lanes``, partial results of which each takes every 32nd ``k``, and a stage
    ``s_vector``, those brought together to one register, both computed where ``s[i]`` is.
    """
    axis = along(roles)
    assert axis is not None
    s, stage, step = schedule, roles.stage.name, axis.name
    outer = [a.name for a in roles.stage.axes if known(a.extent) > 1]
    if plan.piece is not None:
        s, stage, steps, pieces = in_pieces(s, roles, plan.piece)
        outer = [pieces]
        step = steps[0] if axis is roles.reduce[0] else step
    s = _in_lanes(s, stage, step, plan)
    if outer and plan.parallel:
        s, shared = fuse_all(s, stage, Names(s.nests.stages[stage]), outer)
        s = s.parallel(f"{stage}.{shared}")
    return s


def _in_lanes(s: Schedule, stage: str, step: str, plan: LanesPlan) -> Schedule:
    """Reduce to lanes, the lanes to a register, and that to one element."""
    s, many = _factored(s, stage, step, plan.lanes, "lanes")
    s = s.vectorize(f"{many}.{_last(s, many)}")
    step = _last(s, stage)
    if plan.lanes is not plan.vector:
        s, few = _factored(s, stage, step, plan.vector, "vector")
        s = s.vectorize(f"{few}.{_last(s, few)}").unroll(f"{few}.{step}_o")
        step = _last(s, stage)
    return s.unroll(f"{stage}.{step}")


def _factored(s: Schedule, stage: str, step: str, lanes: Number, what: str) -> tuple[Schedule, str]:
    """Keep ``lanes`` partial results in a stage computed at the innermost spatial loop; its name."""
    name = free_name(s.nests, f"{stage}_{what}")
    outer, lane = Names(s.nests.stages[stage]).pair(step, "o", "v")
    s = s.split(f"{stage}.{step}", (outer, lane), lanes).rfactor(f"{stage}.{lane}", name=name)
    spatial = [loop.name for loop in s.nests.stages[stage].loops if not loop.reduce]
    return (s.compute_at(name, f"{stage}.{spatial[-1]}") if spatial else s), name


def _last(s: Schedule, stage: str) -> str:
    return s.nests.stages[stage].loops[-1].name

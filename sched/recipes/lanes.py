"""The recipe for reductions along memory: partial results in the lanes of vectors, which are brought together last."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.pieces import in_pieces
from loopwright.sched.recipes.refine import as_one, joined
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import fuse_all
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

# A row of so many elements fills the lanes by itself. Fused with the next it would gain little; and the loop would be divided
# where rows end, which is much code.
LONG_ROW = 96
Number = Any  # an int, a knob, or arithmetic on knobs
# One element after the other, the sum of a register of 8 waits for 8 additions: so it is first added to itself, four lanes on
# four and two on two. A layer norm of 768 takes a tenth less time for that, a softmax of 128 a fifth.
HALVES = {4: "quad", 2: "pair"}


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


def run_along(roles: Roles) -> tuple[Axis, ...]:
    """The reduction axes that every operand runs through as through one, outermost first; the last is :func:`along`.

    Only short rows: the mean of each 28 x 28 channel took 68 us, and in one run of 784 elements 34 us.
    """
    last = along(roles)
    if last is None:
        return ()
    operands, run = roles.operands, [last]
    at = next(n for n, axis in enumerate(roles.reduce) if axis is last)
    for axis in reversed(roles.reduce[:at]):
        if known(last.extent) >= LONG_ROW or not all(as_one(operand, axis, last) for operand in operands):
            break
        one = Axis(last.name, known(axis.extent) * known(last.extent), True)
        operands, run, last = tuple(joined(o, axis, last, one) for o in operands), [axis, *run], one
    return tuple(run)


def run_length(roles: Roles) -> int:
    """Steps along memory; 0 if no reduction axis lies there."""
    run = run_along(roles)
    return prod(known(axis.extent) for axis in run) if run else 0


def lanes(schedule: Schedule, roles: Roles, plan: LanesPlan) -> Schedule:
    """Schedule a reduction of which one axis lies along memory, each element of the stage by itself.

    ``s[i] = sum of x[i, k]`` gets a stage ``s_lanes``, partial results of which each takes every 32nd ``k``, and a stage
    ``s_vector``, those brought together to one register, ``s_quad`` and ``s_pair``, that one brought together to four and to
    two, all computed where ``s[i]`` is.
    """
    s, stage, run = schedule, roles.stage.name, [axis.name for axis in run_along(roles)]
    outer = [a.name for a in roles.stage.axes if known(a.extent) > 1]
    ones = [a.name for a in roles.stage.all_axes if known(a.extent) == 1]
    if ones:
        s = s.reorder(
            stage, " ".join([*ones, *(outer if plan.parallel else []), *(a.name for a in roles.reduce)])
        )
    if plan.piece is not None:
        s, stage, steps, pieces = in_pieces(s, roles, plan.piece)
        outer = [pieces]
        run = [steps[0] if run[-1] == roles.reduce[0].name else run[-1]]
    names = Names(s.nests.stages[stage])
    s, step = fuse_all(s, stage, names, run)
    shared = ""
    if outer and plan.parallel:
        s, shared = fuse_all(s, stage, names, outer)
    s = _in_lanes(s, stage, step, plan)
    return s.parallel(f"{stage}.{shared}") if shared else s


def _in_lanes(s: Schedule, stage: str, step: str, plan: LanesPlan) -> Schedule:
    """Reduce to lanes, the lanes to a register, that to its halves, and these to one element."""
    s, many = _factored(s, stage, step, plan.lanes, "lanes")
    s = s.vectorize(f"{many}.{_last(s, many)}")
    fewer = [] if plan.lanes is plan.vector else [(plan.vector, "vector")]
    fewer += [(n, name) for n, name in HALVES.items() if _halved(plan.vector, n)]
    for number, name in fewer:
        step = _last(s, stage)
        s, few = _factored(s, stage, step, number, name)
        s = s.vectorize(f"{few}.{_last(s, few)}").unroll(f"{few}.{step}_o")
    return s.unroll(f"{stage}.{_last(s, stage)}")


def _halved(lanes: Number, to: int) -> bool:
    """Whether there are at least, and can be more than, so many lanes."""
    values = lanes.values if isinstance(lanes, Knob) else (lanes,)
    counts = [n for n in values if isinstance(n, int)]
    return len(counts) == len(values) and min(counts) >= to and max(counts) > to


def _factored(s: Schedule, stage: str, step: str, lanes: Number, what: str) -> tuple[Schedule, str]:
    """Keep ``lanes`` partial results in a stage computed at the innermost spatial loop; its name."""
    name = free_name(s.nests, f"{stage}_{what}")
    outer, lane = Names(s.nests.stages[stage]).pair(step, "o", "v")
    s = s.split(f"{stage}.{step}", (outer, lane), lanes).rfactor(f"{stage}.{lane}", name=name)
    spatial = [loop.name for loop in s.nests.stages[stage].loops if not loop.reduce]
    return (s.compute_at(name, f"{stage}.{spatial[-1]}") if spatial else s), name


def _last(s: Schedule, stage: str) -> str:
    return s.nests.stages[stage].loops[-1].name

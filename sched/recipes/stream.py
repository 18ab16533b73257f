"""The recipe for reductions across memory: sums of columns, a vector times a matrix. Whole rows stream past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.language.extents import known
from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.pieces import in_pieces
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.recipes.simple import SimplePlan, fuse_all, reduction
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs


@dataclass(frozen=True)
class StreamPlan:
    """The choices of the recipe; numbers may be knobs.

    Attributes:
        lanes: elements of the vector loop.
        unroll: rows that are added together before the sums are stored again.
        block: vectors of a row that one core has, and whose sums stay in the first cache.
        piece: steps of the outermost reduction axis that one core does; None if it does all of them.
        parallel: share out the blocks over the cores.
    """

    lanes: Number = 16
    unroll: Number = 4
    block: Number = 1
    piece: Number | None = None
    parallel: bool = True


def streams(roles: Roles) -> bool:
    """Whether the recipe is for this stage: all that its vector axis moves lies along it, and nothing is read twice."""
    vector = roles.vector
    if vector is None or not roles.reduce or roles.rows is not None:
        return False
    using = [o for o in roles.operands if o.uses(vector)]
    return bool(using) and all(o.plain and o.contiguous(vector) for o in using)


def stream(schedule: Schedule, roles: Roles, plan: StreamPlan) -> Schedule:
    """Schedule a reduction that :func:`streams`: the loop over a row stands inside that over rows, as memory has it.

    A sum is loaded and stored once for ``unroll`` rows. Held in registers, the sums of a few columns would jump from row to
    row instead: a column sum of 1024 x 1000 floats took 73 us at best, this 64 us (one Zen 3 core).
    """
    assert roles.vector is not None
    s, stage = schedule, roles.stage.name
    outer, steps = [axis.name for axis in roles.outer], [axis.name for axis in roles.reduce]
    if plan.piece is not None:
        s, stage, steps, pieces = in_pieces(s, roles, plan.piece)
        outer = [pieces, *outer]
        s = reduction(s, roles_of(s.nests, roles.stage.name), SimplePlan(plan.lanes, parallel=False))
    names = Names(s.nests.stages[stage])
    vectors, lane = names.pair(roles.vector.name, "o", "v")
    s = s.split(f"{stage}.{roles.vector.name}", (vectors, lane), plan.lanes)
    blocks, within = names.pair(roles.vector.name, "b", "w")
    s = s.split(f"{stage}.{vectors}", (blocks, within), plan.block, "guard")
    rows, few = names.pair(steps[-1], "o", "u")
    s = s.split(f"{stage}.{steps[-1]}", (rows, few), plan.unroll)
    ones = [axis.name for axis in s.nests.stages[stage].stage.all_axes if known(axis.extent) == 1]
    s = s.reorder(stage, " ".join([*ones, *outer, blocks, *steps[:-1], rows, within, few, lane]))
    s, shared = fuse_all(s, stage, names, [*outer, blocks])
    s = s.vectorize(f"{stage}.{lane}").unroll(f"{stage}.{few}")
    return s.parallel(f"{stage}.{shared}") if plan.parallel else s

"""What plans are made from: how much a stage computes, how many elements a register holds."""

from __future__ import annotations

from math import prod

from loopwright.sched import dtypes
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.nest import Nests

# Below this many innermost iterations, waking the other cores takes longer than they save.
WORTH_SHARING = 20_000


def points(roles: Roles) -> int:
    """Innermost iterations of a stage."""
    return prod(known(axis.extent) for axis in roles.stage.all_axes)


def native_lanes(roles: Roles, target: Target) -> int:
    """Elements in a vector register."""
    return max(1, target.vector_bytes // roles.itemsize)


def overflows(nests: Nests, roles: Roles, target: Target) -> bool:
    """Whether a stage writes an output that nobody reads again here, and moves more bytes than the last cache holds."""
    stage = roles.stage
    if stage.name not in nests.outputs.values() or nests.consumers(stage.name) or nests.updates(stage.name):
        return False
    read = [nests.tensor(name) for name in dict.fromkeys(operand.name for operand in roles.operands)]
    moved = [(t.shape, t.dtype) for t in read if t is not None] + [(stage.shape, d) for d in stage.dtypes]
    return sum(prod(known_shape(shape)) * dtypes.itemsize(dtype) for shape, dtype in moved) > target.l3

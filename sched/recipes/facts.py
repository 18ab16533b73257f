"""What plans are made from: how much a stage computes, how many elements a register holds."""

from __future__ import annotations

from math import prod

from loopwright.sched.language.extents import known
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.runtime.target import Target

# Below this many innermost iterations, waking the other cores takes longer than they save.
WORTH_SHARING = 20_000


def points(roles: Roles) -> int:
    """Innermost iterations of a stage."""
    return prod(known(axis.extent) for axis in roles.stage.all_axes)


def native_lanes(roles: Roles, target: Target) -> int:
    """Elements in a vector register."""
    return max(1, target.vector_bytes // roles.itemsize)

"""Stages whose output lies along an axis that makes poor vectors, computed along another and written across memory.

A convolution with channels first reads rows of a picture. Where rows are short, or every second pixel is read, its vectors
are channels instead: weights are packed, pixels are laid out channels last, and the sums are written where they belong.
"""

from __future__ import annotations

from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.roles import Operand, Roles, packable, read_once, roles_from


def tiled(roles: Roles) -> bool:
    """Whether a register tile pays, with vectors along the output or across it."""
    return roles.gemm_like or turned(roles) is not None


def turned(roles: Roles) -> Roles | None:
    """The roles with vectors along another axis than the output's last; None where there is nothing to gain by it.

    That is an axis which moves only what can be packed, while what the last axis moves are neighbours.
    """
    if not roles.reduce or len(roles.spatial) < 2 or len(roles.operands) < 2:
        return None
    last = roles.spatial[-1]
    if not any(o.windowed and o.uses(last) for o in roles.operands):
        return None
    best = max((_worth(axis, last, roles.operands) for axis in roles.spatial[:-1]), default=(0, 0))
    if not best[0]:
        return None
    axis = next(a for a in roles.spatial if _worth(a, last, roles.operands) == best)
    other = roles_from(roles.stage, roles.spatial, roles.operands, axis)
    return other if other.gemm_like else None


def _worth(axis: Axis, last: Axis, operands: tuple[Operand, ...]) -> tuple[int, int]:
    """How good an axis is for vectors: what it moves stands still along the last one, or at least is read once only; length."""
    moved = [o for o in operands if o.uses(axis)]
    if not moved or len(moved) == len(operands) or not all(packable(o, axis) for o in moved):
        return 0, 0
    if not any(o.uses(last) for o in moved):
        return 2, known(axis.extent)
    return int(all(read_once(dim) for o in moved for dim in o.dims)), known(axis.extent)

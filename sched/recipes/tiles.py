"""The recipe for stages like a matrix product on GPUs: a tile for each block, with shared copies of what it reads.

The numbers of the plan may be knobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.roles import Operand, Roles
from loopwright.sched.recipes.simple import fuse_all
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs


@dataclass(frozen=True)
class TilesPlan:
    """The choices of :func:`tiles`.

    Attributes:
        across, down: threads of a block along the columns and the rows.
        columns, rows: of the tile that a thread computes.
        virtual_across, virtual_down: so many of these tiles a thread computes; between two of its own lie those of all other
            threads. Where tiles are narrow, neighbouring threads read neighbouring elements, which lie in different banks.
        depth: steps of the reduction for which a block copies what it reads.
        shared: whether it copies that, or every thread reads it for itself.
        parity: of a copy that threads read crosswise, rows lie one after the other (1), or an odd number of elements apart (2),
            so that a column of elements of 4 bytes lies in different banks.
    """

    across: Number = 16
    down: Number = 8
    columns: Number = 4
    rows: Number = 4
    virtual_across: Number = 1
    virtual_down: Number = 1
    depth: Number = 8
    shared: bool = True
    parity: Number = 1


def tiles(schedule: Schedule, roles: Roles, plan: TilesPlan) -> Schedule:
    """A tile of a stage like a matrix product for each block, and of that tiles in registers for each thread::

        block y, x: virtual y, x: thread y, x: ko: copies of A and B in shared memory; ki: rows: columns

    Raises:
        ScheduleError: what it reads cannot be copied so.
    """
    assert roles.rows is not None and roles.vector is not None
    stage, names = roles.stage.name, Names(schedule.nests.stages[roles.stage.name])
    s, down = _divided(schedule, stage, names, roles.rows.name, plan.virtual_down, plan.down, plan.rows)
    s, across = _divided(s, stage, names, roles.vector.name, plan.virtual_across, plan.across, plan.columns)
    *steps, last = [axis.name for axis in roles.steps]
    deep, few = names.pair(last, "o", "i")
    s = s.split(f"{stage}.{last}", (deep, few), plan.depth)
    ones = [axis.name for axis in roles.stage.all_axes if axis.extent == 1]
    outer = [axis.name for axis in roles.outer]
    grid, virtual, block, own = (
        [side[kind] for side in (down, across) if kind in side]
        for kind in ("blockIdx", "vthread", "threadIdx", "own")
    )
    s = s.reorder(stage, " ".join([*ones, *outer, *grid, *virtual, *block, *steps, deep, few, *own]))
    if outer:
        s, batch = fuse_all(s, stage, names, outer)
        s = s.bind(f"{stage}.{batch}", "blockIdx.z")
    for side, axis in ((down, "y"), (across, "x")):
        s = s.bind(f"{stage}.{side['blockIdx']}", f"blockIdx.{axis}")
        s = s.bind(f"{stage}.{side['threadIdx']}", f"threadIdx.{axis}")
    for loop in virtual:
        s = s.bind(f"{stage}.{loop}", "vthread")
    s = s.unroll(f"{stage}.{down['own']}").vectorize(f"{stage}.{across['own']}")
    for name in dict.fromkeys(operand.name for operand in roles.operands) if plan.shared else ():
        copy = free_name(s.nests, f"{name}_shared")
        s = s.cache_read(name, "shared", at=f"{stage}.{deep}", name=copy)
        if plan.parity != 1 and any(crosswise(o, roles) for o in roles.operands if o.name == name):
            s = s.storage_align(copy, s.nests.stages[copy].stage.axes[-2].name, plan.parity, plan.parity - 1)
    return s


def crosswise(operand: Operand, roles: Roles) -> bool:
    """Whether neighbouring threads read different rows of an operand, and not neighbours in a row."""
    sides = [axis for axis in (roles.rows, roles.vector) if axis is not None]
    return len(operand.shape) > 1 and not any(operand.contiguous(axis) for axis in sides)


def _divided(
    s: Schedule, stage: str, names: Names, axis: str, virtual: Number, threads: Number, size: Number
) -> tuple[Schedule, dict[str, str]]:
    """An axis divided among blocks, virtual threads (if there are more than one) and threads, and into what each computes;
    the loops by what they are bound to."""
    found: dict[str, str] = {}
    rest = axis
    parts = [("blockIdx", "b", "i", threads * size), ("threadIdx", "t", "u", size)]
    if virtual != 1:
        parts = [
            ("blockIdx", "b", "i", virtual * threads * size),
            ("vthread", "v", "s", threads * size),
            parts[1],
        ]
    for kind, outer, inner, length in parts:
        found[kind], left = names.pair(axis, outer, inner)
        s, rest = s.split(f"{stage}.{rest}", (found[kind], left), length), left
    return s, {**found, "own": rest}

"""Stages that a C function computes whole: one call, with the arrays it reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopwright.sched.language.expr import Axis, Extent, Load, children
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.stmt import Buffer, CallStage
from loopwright.sched.scheduling.nest import Nests

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder


def called(builder: Builder, stage: Stage) -> CallStage:
    """The call that computes a stage; the checks have seen to it that all its arrays lie as the function expects."""
    routine = stage.routine
    assert routine is not None
    reads: list[Buffer] = []
    extents: list[Extent] = []
    for load in children(stage.body):
        assert isinstance(load, Load)
        reads.append(_array(builder, load.tensor.name, load.part))
        extents += [axis.extent for axis in load.indices if isinstance(axis, Axis)]
    writes = tuple(_array(builder, stage.name, part) for part in range(len(stage.bodies)))
    return CallStage(stage.name, routine.symbol, tuple(reads), writes, (*extents, *stage.shape))


def _array(builder: Builder, name: str, part: int) -> Buffer:
    buffer = builder.storage[name].buffers[part]
    assert buffer is not None
    return buffer


def handed_over(nests: Nests) -> frozenset[str]:
    """The stages whose arrays C functions are given whole, to read or to write: these have no room to spare."""
    found: set[str] = set()
    for nest in nests.stages.values():
        if nest.stage.routine is not None:
            found.add(nest.name)
            found |= {load.tensor.label for load in children(nest.stage.body) if isinstance(load, Load)}
    return frozenset(found)

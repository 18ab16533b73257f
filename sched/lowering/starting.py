"""Where a reduction starts from what a stage of its own has stored (decompose_reduction).

In general that stage has a buffer, and the reduction's result is combined with it. Where the stage fills just the elements
that the reduction then goes on with, it fills the reduction's own buffer, and nothing is combined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopwright.sched.language.extents import same_shape
from loopwright.sched.lowering.bounds import Box, full
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import Stmt, seq
from loopwright.sched.scheduling.address import loop_index
from loopwright.sched.scheduling.nest import Split, StageNest
from loopwright.sched.scheduling.placement import copies_of, produces_boxes, read_outside, readers

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder


def started_by(builder: Builder, name: str) -> StageNest | None:
    """The reduction whose own buffer the stage ``name`` can fill, if there is one."""
    nests = builder.nests
    nest = next((n for n in nests.stages.values() if n.start == name), None)
    if nest is None or readers(nests, name) != [nest.name]:
        return None
    own = nests.stages[name]
    plain = own.with_(layout=None, align=(), scope="global", stored=None) == own and nest.stored is None
    whole = all(same_shape(builder.definitions[n].run, nest.stage.shape) for n in (name, nest.name))
    known = all(isinstance(axis.extent, int) for axis in nest.stage.axes)
    # A tile that is moved inward computes elements once more, and would go on from what they have come to.
    once = all(r.tail != "shift_inward" for r in nest.relations if isinstance(r, Split))
    one = copies_of(nests, own) == copies_of(nests, nest) == 1
    if not (plain and whole and known and once and one) or nest.place.kind != "root":
        return None
    if own.place.kind == "root":
        followed = any(n.place.kind == "after" and n.place.stage == nest.name for n in nests.stages.values())
        here = nest.name in builder.storage or not followed or read_outside(nests, nest.name, nest.name)
    else:
        inside = own.place.stage == nest.name and nest.name in builder.storage
        here = inside and produces_boxes(nest, loop_index(nest, own.place.loop)) and _apart(nest)
    return nest if here else None


def _apart(nest: StageNest) -> bool:
    """Whether no iteration's elements reach into those of another: only the ends of axes are uneven."""
    length = {axis.name: axis.extent for axis in nest.stage.axes}
    axes = set(length)
    for relation in nest.relations:
        if not isinstance(relation, Split):
            length[relation.fused] = length.get(relation.outer, 0) * length.get(relation.inner, 0)
        elif relation.parent in length:
            whole = length[relation.parent]
            factor = max(1, min(relation.factor, whole))
            if whole % factor and relation.parent not in axes:
                return False
            length |= {relation.outer: -(-whole // factor), relation.inner: factor}
    return True


def start_in(builder: Builder, nest: StageNest, name: str, box: Box) -> Stmt:
    """Let the stage ``name`` fill ``box`` of the buffer of the reduction ``nest``; returns what makes it, if it is new."""
    made: Stmt = seq()
    if nest.name not in builder.storage:
        definition = builder.definitions[nest.name]
        whole = full(definition.sizes)
        made = builder.make_storage(Frame(nest, definition, whole), whole)
    builder.storage[name] = builder.storage[nest.name]
    builder.started.setdefault(nest.name, tuple(span.extent for span in box))
    return made

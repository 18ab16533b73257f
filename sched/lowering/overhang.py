"""Boxes of a stage that may hang over its domain: only what is inside is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopwright.sched.language.expr import Axis, Binary, Extent
from loopwright.sched.language.extents import minus, node
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.bounds import Box, Span, overhangs
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import If, Stmt, seq
from loopwright.sched.scheduling.nest import StageNest

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder


def inside_domain(builder: Builder, nest: StageNest, box: Box, made: bool = False) -> Stmt:
    """Compute a box of a stage; where it may hang over the domain, only what is inside. ``made``: it has storage already.

    The last of a row of tiles hangs over. It has loops of its own, so that neither they nor the others ask at every
    point, and the box need not be moved: readers find it in place.
    """
    definition = builder.definitions[nest.name]
    beyond = [dim for dim, size in enumerate(definition.sizes) if overhangs(box[dim], size)]
    if made:
        return _within(builder, nest, box, beyond, [])
    if not beyond:
        return builder.stage(nest, box)
    storage = builder.make_storage(Frame(nest, definition, box), box)
    return seq(storage, _within(builder, nest, box, beyond, []))


def _within(
    builder: Builder, nest: StageNest, box: Box, beyond: list[int], limits: list[tuple[Axis, Extent]]
) -> Stmt:
    """The part of a box that is inside the domain, which it may leave in the dimensions ``beyond``."""
    if not beyond:
        return builder.stage(nest, box, limits)
    definition, (dim, *others) = builder.definitions[nest.name], beyond
    span, size, axis = box[dim], definition.sizes[dim], definition.axes[dim]
    rest = span.rest(size)
    if definition.values:
        # A box of a reduction is moved inside; it overhangs only where it is longer than the whole dimension.
        rest, span = size, Span(number(0), span.extent)
    if rest is None:
        partly = _within(builder, nest, box, others, [*limits, (axis, size)])
    else:
        inner = (*box[:dim], Span(span.low, rest), *box[dim + 1 :])
        partly = _within(builder, nest, inner, others, limits)
    fits = Binary("le", box[dim].low, node(minus(size, span.extent)), "bool")
    return If(fits, _within(builder, nest, box, others, limits), partly)

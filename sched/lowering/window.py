"""Stages that are stored outside loops they are computed in: each iteration adds what is new to a window that slides.

Take ``bx`` stored at root and computed in the loop over ``y`` of ``by``, which reads rows ``y .. y+2``::

    if y > 0: compute row y+2
    else:     compute rows 0 .. 2

Why that is right. Let the axes that slide be independent: each moves one dimension, never back. Take an element that an
iteration needs and that is not new there. In each dimension where it is old, go back along that dimension's axis to the
iteration in which its index was new. That iteration came before in the order of the loops, and the element was computed
in it. "New" is whatever lies above an index that the iteration before surely needed, so it may be too much, never too
little.

The buffer folds along a dimension (rows modulo 4) if nothing but its axis moves in the outermost of the loops between:
then what lies behind the window is never read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopwright.sched.language import extents
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Extent, Load, substitute, walk
from loopwright.sched.language.extents import larger, node
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.lowering.affine import extreme, minus, number, plus, simplify
from loopwright.sched.lowering.bounds import Box, Span
from loopwright.sched.lowering.distance import most
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.regions import Regions, Spans
from loopwright.sched.lowering.stmt import If, Sliding, Stmt
from loopwright.sched.lowering.storage import MOST_ROOM
from loopwright.sched.scheduling.nest import StageNest
from loopwright.sched.scheduling.windows import Slides, axis_of, between, slides

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder


@dataclass(frozen=True)
class Window:
    """A stage's buffer during its life: what moves, and where the axes of the host stood at first."""

    slides: Slides
    start: Spans


def open_window(builder: Builder, nest: StageNest, frame: Frame) -> Stmt:
    """Make the buffer of a stage where it is stored; ``frame`` is its host's there."""
    moves = slides(builder.nests, nest)
    builder.windows[nest.name] = Window(moves, frame.axis_spans())
    box, folds = _extent(builder, nest, frame, moves)
    return builder.make_storage(Frame(nest, builder.definitions[nest.name], box), box, folds)


def _extent(builder: Builder, nest: StageNest, frame: Frame, moves: Slides) -> tuple[Box, Mapping[int, int]]:
    """The box that is stored, and the dimensions in which it is folded."""
    regions, host = builder.regions, frame.nest
    sizes = builder.definitions[nest.name].sizes
    loops = between(builder.nests, nest)
    whole = regions.needed(nest.name, host.name, frame.axis_spans())
    inner, opened = frame, [frame]
    for loop in loops:
        inner = inner.open(loop.name, Axis(loop.name, larger(frame.extent(loop.name), 1)))
        opened.append(inner)
    part = regions.needed(nest.name, host.name, inner.axis_spans())
    box = tuple(_held(a, b, size) for a, b, size in zip(whole, part, sizes, strict=True))
    folds = {}
    for axis, dim in moves.along.items():
        steps = 0
        while steps < len(loops) and axis_of(host, loops[steps].name) is axis:
            steps += 1
        low = regions.needed(nest.name, host.name, opened[steps].axis_spans())[dim].low
        above = most(part[dim].high, low)
        if steps == 0 or above is None or not _folds(builder, nest, axis, dim) or _divided(part[dim].low):
            continue
        window = 1 << above.bit_length()  # a power of two, so that the modulo is a mask
        extent = box[dim].extent
        # Of an open size what is kept may be all of it: then it has the size that a call says, and is not folded.
        if window < (MOST_ROOM if isinstance(extent, Expr) else extent):
            folds[dim] = window
    return box, folds


def _held(whole: Span, part: Span, size: Extent) -> Span:
    """One dimension of a buffer that holds ``part`` in every iteration: ``whole``, if that surely does."""
    if isinstance(size, Expr) or isinstance(whole.extent, Expr):
        return Span(number(0), size)
    below, above = most(whole.low, part.low), most(part.high, whole.low)
    if below is None or above is None or below > 0 or above >= size or _divided(part.low):
        return Span(number(0), size)
    return Span(whole.low, max(whole.extent, above + 1))


def _divided(low: Expr) -> bool:
    """Whether bounds round here: such a box may be smaller where more is known."""
    return any(isinstance(e, Binary) and e.op in ("floordiv", "mod") for e in walk(low))


def _folds(builder: Builder, nest: StageNest, axis: Axis, dim: int) -> bool:
    """Whether a buffer may be folded: it was asked for, and rows stay whole, as vectors and intrinsics want them."""
    if nest.stored is None or not nest.stored.fold or nest.layout is not None:
        return False
    if dim == len(nest.stage.axes) - 1 > 0:
        return False
    along = {nest.name: {builder.definitions[nest.name].axes[dim]}}
    for reader in builder.regions.readers(nest.name):
        indices = [load.indices[dim] for load in builder.regions.reads(reader, nest.name)]
        along[reader] = {e for index in indices for e in walk(index) if isinstance(e, Axis)}
    for name, axes in along.items():
        other = builder.nests.stages[name]
        if other.tensor is not None:
            return False
        vector = next((loop.name for loop in other.loops if loop.kind == "vectorize"), None)
        if vector is not None and ((found := axis_of(other, vector)) is None or found in axes):
            return False
    return True


def add_to_window(builder: Builder, nest: StageNest, frame: Frame) -> Stmt | None:
    """Compute what this iteration adds to a stage that is stored farther out."""
    window, host, spans = builder.windows[nest.name], frame.nest.name, frame.axis_spans()
    box = builder.regions.needed(nest.name, host, spans)
    added: list[tuple[Expr, int, int]] = []
    for axis, dim in window.slides.along.items():
        before = {**spans, axis: Span(plus(spans[axis].low, number(-1)), 1)}
        reached = _reached(builder.regions, nest.name, host, before, dim, axis)
        more = None if reached is None else most(box[dim].high, reached)
        extent = box[dim].extent
        if more is not None and not isinstance(extent, Expr) and more < extent:
            added.append((_advance(window, spans, axis), dim, max(0, more)))
    new: dict[int, Extent] = {dim: extent for _, dim, extent in added}
    whole = tuple(span.extent for span in box)
    steady = tuple(new.get(dim, size) for dim, size in enumerate(whole))
    builder.sliding.setdefault(nest.name, Sliding(steady, whole, builder.storage[nest.name].folds))
    statement = _added(builder, nest, box, added)
    for axis in window.slides.still:
        statement = _choose(_advance(window, spans, axis), None, statement)
    return statement


def _advance(window: Window, spans: Spans, axis: Axis) -> Expr:
    """How far an axis has come since the buffer was made: 0 in its first iteration."""
    return simplify(minus(spans[axis].low, window.start[axis].low))


def _added(builder: Builder, nest: StageNest, box: Box, added: list[tuple[Expr, int, int]]) -> Stmt | None:
    """In each dimension that slides: after the first iteration what is new, in the first all."""
    if not added:
        return builder.within(nest, box)
    (advance, dim, new), *others = added
    top = Span(plus(box[dim].high, number(1 - new)), new)
    later = _added(builder, nest, (*box[:dim], top, *box[dim + 1 :]), others) if new else None
    return _choose(advance, later, _added(builder, nest, box, others))


def _choose(advance: Expr, later: Stmt | None, first: Stmt | None) -> Stmt | None:
    """``first`` in the first iteration, ``later`` after it."""
    if isinstance(advance, Const):
        return later if advance.value else first
    if later is None:
        return None if first is None else If(Binary("le", advance, number(0), "bool"), first, None)
    return If(Binary("gt", advance, number(0), "bool"), later, first)


def _reached(regions: Regions, name: str, host: str, spans: Spans, dim: int, axis: Axis) -> Expr | None:
    """An index of dimension ``dim`` that is surely needed while the axes of ``host`` run over ``spans``."""
    found: Expr | None = None
    for reader in regions.readers(name):
        point = _point(regions, reader, host, spans, axis)
        for load in regions.reads(reader, name):
            index = simplify(substitute(load.indices[dim], point))
            if not any(isinstance(e, Load) for e in walk(index)):
                found = index if found is None else extreme("max", found, index)
    return found


def _point(regions: Regions, reader: str, host: str, spans: Spans, axis: Axis) -> dict[Axis, Expr]:
    """A point that ``reader`` surely computes: the last one, where that is known to be inside its domain."""
    definition, nest = regions.definitions[reader], regions.nests.stages[reader]
    point: dict[Axis, Expr] = {}
    if reader != host and nest.place.kind != "after":
        read = regions.nests.last(regions.nests.head(reader))
        for dim, own in enumerate(definition.stage.dims):
            index = None if own is None else _reached(regions, read, host, spans, dim, axis)
            if own is not None:
                point[own] = number(0) if index is None else index
        return point | {
            own: node(larger(extents.minus(own.extent, 1), 0)) for own in definition.stage.reduce_axes
        }
    for own, span in regions.spans_at(reader, host, spans).items():
        last = extents.minus(own.extent, 1)
        if isinstance(last, Expr):
            inside = at_most(span.high, last)
        else:
            beyond = most(span.high, number(last))
            inside = beyond is not None and beyond <= 0
        point[own] = span.high if inside else span.low
    return point

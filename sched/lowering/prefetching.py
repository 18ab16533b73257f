"""Prefetch instructions for what a later iteration of a loop reads: one for each cache line of the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Expr, Extent, substitute
from loopwright.sched.language.extents import floor_divided, minus, node, surely
from loopwright.sched.language.extents import plus as add
from loopwright.sched.lowering.affine import extreme, number, plus, simplify, times
from loopwright.sched.lowering.bounds import Box, Span, inside, read_box
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import Fetch, For, Stmt, seq
from loopwright.sched.scheduling.address import loop_index
from loopwright.sched.scheduling.nest import Prefetch, Split
from loopwright.sched.scheduling.placement import path
from loopwright.sched.scheduling.windows import axis_of

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder

LINE = 64  # bytes


def prefetched(builder: Builder, frame: Frame, ahead: Prefetch) -> Stmt | None:
    """The prefetches of one iteration; None where the loop has a single one."""
    value = frame.values[ahead.loop]
    if not isinstance(value, Axis):
        return None
    box = _read(builder, frame, ahead)
    if box is None:
        return None
    last = node(minus(value.extent, 1))
    later: dict[Axis, Expr] = {value: Binary("min", plus(value, number(ahead.distance)), last, "int32")}
    moved = tuple(Span(simplify(substitute(span.low, later)), span.extent) for span in box)
    return _lines(builder, ahead.tensor, inside(moved, _sizes(builder, ahead.tensor)))


def _sizes(builder: Builder, tensor: str) -> tuple[Extent, ...]:
    if tensor in builder.definitions:
        return builder.definitions[tensor].sizes
    return next(t.shape for t in builder.nests.inputs if t.name == tensor)


def _read(builder: Builder, frame: Frame, ahead: Prefetch) -> Box | None:
    """The box that this iteration reads."""
    nests, host, box = builder.nests, frame.nest, None
    index = loop_index(host, ahead.loop)
    for reader in dict.fromkeys(builder.regions.readers(builder.nests.last(ahead.tensor))):
        steps = path(nests, reader)
        if reader == host.name or any(s.stage == host.name and s.index >= index for s in steps):
            spans = builder.regions.spans_at(reader, host.name, frame.axis_spans())
            reads = builder.regions.reads(reader, builder.nests.last(ahead.tensor))
            box = read_box(reads, _sizes(builder, ahead.tensor), spans, box)
    return box


def _lines(builder: Builder, tensor: str, box: Box) -> Stmt | None:
    """Loops over the rows of a box and the cache lines of a row."""
    if any(surely(span.extent, 0) for span in box):
        return None
    storage = builder.storage[tensor]
    dim, step = _contiguous(builder, tensor, len(box))
    point: list[Expr] = []
    loops: list[tuple[Axis, Extent]] = []
    for n, span in enumerate(box):
        # A row that does not begin at a line touches one more; the last index is the row's last element.
        count = span.extent
        if n == dim:
            count = add(floor_divided(add(span.extent, step - 2), step), 1)
        var: Expr = number(0)
        if not surely(count, 1):
            var = Axis("line" if n == dim else f"row{n}", count)
            loops.append((var, count))
        offset = extreme("min", times(var, step), node(minus(span.extent, 1))) if n == dim else var
        point.append(plus(span.low, offset))
    parts = [part for part, buffer in enumerate(storage.buffers) if buffer is not None]
    statement = seq(*(Fetch(storage.element(tuple(point), part)) for part in parts))
    for var, count in reversed(loops):
        statement = For(var, count, "serial", statement, f"{tensor}.{var.name}")
    return statement


def _contiguous(builder: Builder, tensor: str, ndim: int) -> tuple[int, int]:
    """The dimension whose elements lie side by side, and how many of them share a line."""
    nest = builder.nests.stages.get(tensor)
    sizes = [
        dtypes.itemsize(buffer.dtype) for buffer in builder.storage[tensor].buffers if buffer is not None
    ]
    line = max(1, LINE // max(sizes))
    if nest is None or nest.layout is None:
        return ndim - 1, line
    axis = axis_of(nest, nest.layout[-1])
    split = next((r for r in nest.relations if isinstance(r, Split) and r.inner == nest.layout[-1]), None)
    if axis is None or (split is None and axis.name != nest.layout[-1]):
        return ndim - 1, 1
    dim = next(n for n, own in enumerate(nest.stage.axes) if own is axis)
    return dim, line if split is None else min(line, split.factor)

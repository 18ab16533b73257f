"""Where the values of a stage are kept: a buffer, the box of the domain it holds, and the order of its dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loopwright.sched.language import extents
from loopwright.sched.language.expr import Binary, Expr, Extent, Load
from loopwright.sched.language.extents import capacity
from loopwright.sched.lowering.affine import minus, number, simplify, times
from loopwright.sched.lowering.bounds import Box
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.rejoin import rejoined
from loopwright.sched.lowering.stmt import Alloc, Buffer, Stmt, seq
from loopwright.sched.scheduling.nest import Split, StageNest

# What may be up to so long in a dimension gets a buffer for that, whatever the sizes are.
MOST_ROOM = 256


@dataclass(frozen=True)
class Storage:
    """The buffers that hold ``box`` of a tensor: one for each part of its elements, None where nobody reads the part.

    ``frame`` is given where the buffers' dimensions follow loops instead of axes (transform_layout). ``folds``: dimensions
    of which only a window is kept, with the length it has: an element is where its index modulo that is.
    ``turn``: which of the buffers, the first dimension, the box is in, where there are several.
    """

    buffers: tuple[Buffer | None, ...]
    box: Box
    frame: Frame | None = None
    folds: Mapping[int, int] = field(default_factory=dict)
    turn: Expr | None = None

    def element(self, point: tuple[Expr, ...], part: int = 0) -> Load:
        """The element that holds part ``part`` of the tensor's ``point``."""
        buffer = self.buffers[part]
        assert buffer is not None
        inside = tuple(
            simplify(minus(simplify(index), span.low))
            if dim not in self.folds
            else simplify(Binary("mod", simplify(index), number(self.folds[dim]), "int32"))
            for dim, (index, span) in enumerate(zip(point, self.box, strict=True))
        )
        if self.frame is not None:
            inside = laid_out(self.frame, inside)
        return Load(buffer, inside if self.turn is None else (self.turn, *inside), buffer.dtype)

    def allocated(self) -> Stmt:
        """The statements that make the buffers."""
        return seq(*(Alloc(buffer) for buffer in self.buffers if buffer is not None))


def stored_in(
    frame: Frame, box: Box, kept: Sequence[bool], folds: Mapping[int, int], copies: int = 1
) -> Storage:
    """New storage for ``box`` of the frame's stage, in the scope and layout its nest asks for.

    ``kept`` says of each part of the elements whether it is stored at all, ``copies`` how many buffers there are.
    """
    nest, stage = frame.nest, frame.nest.stage
    closed = None if nest.layout is None else Frame(nest, frame.definition, box)
    lengths = [folds.get(dim, span.extent) for dim, span in enumerate(box)]
    if nest.layout is not None and closed is not None:
        lengths = [closed.extent(loop) for loop in nest.layout]
    room = 0 if frame.definition.handed_over else MOST_ROOM
    dims = tuple(capacity(extent, room) for extent in lengths)
    strides = _aligned(nest, dims)
    if copies > 1:
        strides = strides and (strides[0] * dims[0], *strides)
        dims = (copies, *dims)
    buffers = tuple(
        Buffer(stage.part_name(part), dims, dtype, nest.scope, nest.name, strides) if stored else None
        for part, (dtype, stored) in enumerate(zip(stage.dtypes, kept, strict=True))
    )
    return Storage(buffers, box, closed, folds)


def _aligned(nest: StageNest, dims: tuple[Extent, ...]) -> tuple[Extent, ...] | None:
    """How far apart the elements of each dimension lie, where storage_align says so."""
    if not nest.align:
        return None
    names = nest.layout or tuple(axis.name for axis in nest.stage.axes)
    asked = {align.dimension: align for align in nest.align}
    strides: list[Extent] = []
    step: Extent = 1
    for name, size in zip(reversed(names), reversed(dims), strict=True):
        if name in asked:
            gap = extents.remainder(extents.minus(asked[name].offset, step), asked[name].factor)
            step = extents.plus(step, gap)
        strides.append(step)
        step = extents.times(step, extents.larger(size, 1))
    return tuple(reversed(strides))


def laid_out(frame: Frame, point: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """A point of the axes as a point of the loops that the layout names."""
    values: dict[str, Expr] = {
        axis.name: index for axis, index in zip(frame.definition.axes, point, strict=True)
    }
    pending = True
    while pending:
        pending = False
        for relation in frame.nest.relations:
            if isinstance(relation, Split):
                if relation.parent in values and relation.outer not in values:
                    factor = number(frame.factor(relation))
                    values[relation.outer] = simplify(
                        Binary("floordiv", values[relation.parent], factor, "int32")
                    )
                    values[relation.inner] = simplify(Binary("mod", values[relation.parent], factor, "int32"))
                    pending = True
            elif relation.outer in values and relation.inner in values and relation.fused not in values:
                scaled = times(values[relation.outer], frame.extent(relation.inner))
                whole = Binary("add", scaled, values[relation.inner], "int32")
                values[relation.fused] = simplify(rejoined(whole, {}))
                pending = True
    assert frame.nest.layout is not None
    return tuple(values[loop] for loop in frame.nest.layout)

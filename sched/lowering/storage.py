"""Where the values of a stage are kept: a buffer, the box of the domain it holds, and the order of its dimensions."""

from __future__ import annotations

from dataclasses import dataclass

from loopwright.sched.language.expr import Binary, Expr, Load
from loopwright.sched.lowering.affine import minus, number, simplify, times
from loopwright.sched.lowering.bounds import Box
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import Buffer
from loopwright.sched.scheduling.nest import Split


@dataclass(frozen=True)
class Storage:
    """A buffer that holds ``box`` of a tensor.

    ``frame`` is given where the buffer's dimensions follow loops instead of axes (transform_layout).
    """

    buffer: Buffer
    box: Box
    frame: Frame | None = None

    def element(self, point: tuple[Expr, ...]) -> Load:
        """The element of the buffer that holds the tensor's ``point``."""
        inside = tuple(
            simplify(minus(simplify(index), span.low)) for index, span in zip(point, self.box, strict=True)
        )
        if self.frame is not None:
            inside = laid_out(self.frame, inside)
        return Load(self.buffer, inside, self.buffer.dtype)


def stored_in(frame: Frame, box: Box) -> Storage:
    """New storage for ``box`` of the frame's stage, in the scope and layout its nest asks for."""
    nest = frame.nest
    dims = tuple(span.extent for span in box)
    if nest.layout is None:
        return Storage(Buffer(nest.name, dims, nest.stage.dtype, nest.scope, nest.name), box)
    closed = Frame(nest, frame.definition, box)
    dims = tuple(closed.extent(loop) for loop in nest.layout)
    return Storage(Buffer(nest.name, dims, nest.stage.dtype, nest.scope, nest.name), box, closed)


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
                values[relation.fused] = simplify(Binary("add", scaled, values[relation.inner], "int32"))
                pending = True
    assert frame.nest.layout is not None
    return tuple(values[loop] for loop in frame.nest.layout)

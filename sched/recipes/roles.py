"""What the axes of a stage are good for: which one to vectorize, which ones reuse what the vector axis loads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Expr, Load, loads, walk
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.affine import linear
from loopwright.sched.lowering.prepare import definitions
from loopwright.sched.scheduling.nest import Nests


@dataclass(frozen=True)
class Operand:
    """A tensor that a stage reads: its name, and for each dimension the axes in the index with their steps."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[dict[Axis, int], ...]
    plain: bool  # every index is one axis, or a constant

    def uses(self, axis: Axis) -> bool:
        """Whether the axis moves the operand."""
        return any(axis in dim for dim in self.dims)

    def contiguous(self, axis: Axis) -> bool:
        """Whether a step along the axis goes to the next element in memory."""
        last = max((n for n, size in enumerate(self.shape) if size > 1), default=-1)
        return (
            last >= 0
            and self.dims[last].get(axis) == 1
            and not any(axis in dim for n, dim in enumerate(self.dims) if n != last)
        )

    @property
    def elements(self) -> int:
        """The size of the tensor."""
        total = 1
        for size in self.shape:
            total *= size
        return total


@dataclass(frozen=True)
class Roles:
    """The axes of a stage by what they are good for; axes of extent 1 have no role.

    Attributes:
        stage: the stage.
        operands: what its innermost expression reads.
        vector: the spatial axis for vector lanes; None if only scalar code makes sense.
        rows: an axis whose iterations share what the vector axis loads: the register tile's other side.
        outer: the other spatial axes, outermost first.
        reduce: the reduction axes, outermost first.
        pack: operands that the vector axis moves, but not to the next element: they must be packed.
        streams: operands that the vector axis moves and ``rows`` does not.
    """

    stage: Stage
    operands: tuple[Operand, ...]
    vector: Axis | None
    rows: Axis | None
    outer: tuple[Axis, ...]
    reduce: tuple[Axis, ...]
    pack: tuple[Operand, ...]
    streams: tuple[Operand, ...]

    @property
    def gemm_like(self) -> bool:
        """Whether a register tile pays: both sides of it are reused along the other."""
        return self.vector is not None and self.rows is not None

    @property
    def itemsize(self) -> int:
        """Bytes of the widest element the innermost code computes with."""
        kinds = self.stage.dtypes + (self.stage.reduce.dtypes if self.stage.reduce is not None else ())
        return max(dtypes.itemsize(kind) for kind in kinds)


def roles_of(nests: Nests, name: str) -> Roles:
    """Find the roles of a stage's axes, after inlining."""
    definition = definitions(nests)[name]
    stage = definition.stage
    operands = operands_of(definition.innermost)
    spatial = [axis for axis in definition.axes if known(axis.extent) > 1]
    reduce = tuple(axis for axis in stage.reduce_axes if known(axis.extent) > 1)
    vector = _vector_axis(spatial, operands, bool(reduce))
    rows = _rows_axis(spatial, operands, vector) if reduce else None
    moved = () if vector is None else tuple(o for o in operands if o.uses(vector))
    streams = moved if rows is None else tuple(o for o in moved if not o.uses(rows))
    pack = () if vector is None or rows is None else tuple(o for o in streams if not o.contiguous(vector))
    outer = tuple(axis for axis in spatial if axis is not vector and axis is not rows)
    return Roles(stage, operands, vector, rows, outer, reduce, pack, streams)


def operands_of(exprs: Iterable[Expr]) -> tuple[Operand, ...]:
    """The distinct reads of some expressions."""
    found: dict[tuple[object, ...], Operand] = {}
    for expr in exprs:
        for load in loads(expr):
            operand = _operand(load)
            key = (operand.name, *(tuple(sorted((id(a), s) for a, s in dim.items())) for dim in operand.dims))
            found.setdefault(key, operand)
    return tuple(found.values())


def _operand(load: Load) -> Operand:
    dims: list[dict[Axis, int]] = []
    plain = True
    for index in load.indices:
        form = linear(index)
        dim: dict[Axis, int] = {}
        for term, step in form.terms.values():
            if isinstance(term, Axis):
                dim[term] = step
            else:
                plain = False
                dim.update({axis: 2 for axis in walk(term) if isinstance(axis, Axis)})
        plain = plain and (not dim or (len(dim) == 1 and form.const == 0 and list(dim.values()) == [1]))
        dims.append(dim)
    return Operand(load.tensor.name, known_shape(load.tensor.shape), tuple(dims), plain)


def _vector_axis(spatial: list[Axis], operands: tuple[Operand, ...], reduces: bool) -> Axis | None:
    """The axis along which the output lies in memory, if reading along it is cheap or can be made so."""
    if not spatial:
        return None
    last = spatial[-1]
    using = [o for o in operands if o.uses(last)]
    if not reduces or not using or any(o.contiguous(last) for o in using):
        return last
    # Nothing lies along it: packing pays only where what is packed is used again, by another axis.
    shared = any(not o.uses(axis) for axis in spatial[:-1] for o in using)
    return last if shared and len(operands) > 1 and all(o.plain for o in using) else None


def _rows_axis(spatial: list[Axis], operands: tuple[Operand, ...], vector: Axis | None) -> Axis | None:
    """The innermost axis along which the vector operand stays the same while another operand changes."""
    if vector is None:
        return None
    for axis in reversed([a for a in spatial if a is not vector]):
        kept = any(o.uses(vector) and not o.uses(axis) for o in operands)
        if kept and any(o.uses(axis) for o in operands):
            return axis
    return None

"""What the axes of a stage are good for: which one to vectorize, which ones reuse what the vector axis loads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Expr, Load, loads, walk
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.language.stage import Input, Stage, Tensor
from loopwright.sched.language.workload import producers
from loopwright.sched.lowering.affine import linear
from loopwright.sched.lowering.prepare import Definition, definitions
from loopwright.sched.scheduling.nest import Nests

# How often each element must be read for a copy in another order to be little work beside.
OFTEN = 128


@dataclass(frozen=True)
class Operand:
    """A tensor that a stage reads: its name, and for each dimension the axes in the index with their steps."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[dict[Axis, int], ...]  # a step of 0 stands for one that changes on the way
    whole: tuple[
        bool, ...
    ]  # for each dimension, whether its index is an axis, the two halves of one, or a constant
    spans: tuple[int, ...] = ()  # how many dimensions of the tensor are one here, for each
    weight: bool = False  # whether it depends on weights alone, and so may be packed before any call

    @property
    def plain(self) -> bool:
        """Whether every index is an axis, the two halves of one, or a constant."""
        return all(self.whole)

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

    def along(self, axis: Axis) -> int:
        """The size of the dimension that the axis moves."""
        return next((size for dim, size in zip(self.dims, self.shape, strict=True) if axis in dim), 1)

    @property
    def steps(self) -> set[Axis]:
        """The reduction axes that are steps to a neighbour, as ``r`` in ``x[i + r]``."""
        mixed = [dim for dim in self.dims if {axis.reduce for axis in dim} == {False, True}]
        return {axis for dim in mixed for axis in dim if axis.reduce}

    @property
    def windowed(self) -> bool:
        """Whether an index adds a step of a reduction to a place: neighbours share what they read."""
        return bool(self.steps)

    @property
    def merged(self) -> bool:
        """Whether several dimensions of the tensor are one here."""
        return len(self.spans) < sum(self.spans)

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
        spatial: all of the spatial axes, in the order in which the output lies in memory.
        last: the reduction axis that is to be innermost, if one has been chosen.
    """

    stage: Stage
    operands: tuple[Operand, ...]
    vector: Axis | None
    rows: Axis | None
    outer: tuple[Axis, ...]
    reduce: tuple[Axis, ...]
    pack: tuple[Operand, ...]
    streams: tuple[Operand, ...]
    spatial: tuple[Axis, ...] = ()
    last: Axis | None = None

    @property
    def slides(self) -> bool:
        """Whether a window moves along the vector axis itself, so that vectors lie across each other."""
        return any(
            self.vector in dim and any(axis in o.steps for axis in dim)
            for o in self.operands
            for dim in o.dims
        )

    @property
    def turned(self) -> bool:
        """Whether the output does not lie along the vector axis: what is complete is written across memory."""
        return self.vector is not None and self.vector is not self.spatial[-1]

    @property
    def steps(self) -> tuple[Axis, ...]:
        """The reduction axes in the order that suits a register tile.

        Last comes the one along which lies what the rows read; of a turned stage which reads that often, so that laying it out
        anew is little work, those that are no step to a neighbour.
        """
        if self.last is not None:
            return (*(axis for axis in self.reduce if axis is not self.last), self.last)
        kept = [o for o in self.operands if self.vector is None or not o.uses(self.vector)]
        points = prod(known(axis.extent) for axis in self.stage.all_axes)
        if self.turned and all(points >= OFTEN * o.elements for o in kept):
            near = {
                a for o in self.operands for dim in o.dims if not read_once(dim) for a in dim if a in o.steps
            }
            return tuple(sorted(self.reduce, key=lambda axis: axis not in near))
        return tuple(sorted(self.reduce, key=lambda axis: any(o.contiguous(axis) for o in kept)))

    @property
    def shared(self) -> Axis | None:
        """The innermost axis outside the tile if what the vector axis moves stays the same along it: rows of a picture."""
        last = self.outer[-1] if self.outer else None
        return None if last is None or any(o.uses(last) for o in self.streams) else last

    @property
    def gemm_like(self) -> bool:
        """Whether a register tile pays: both sides of it are reused along the other."""
        return self.vector is not None and self.rows is not None and not self.window

    @property
    def window(self) -> bool:
        """Whether each element is a sum over a window that moves along the vector axis, and over nothing else: pooling, or
        a convolution of each channel by itself. What is loaded is used again by neighbours only."""
        if self.vector is None or not self.reduce or self.pack:
            return False
        near = [o for o in self.operands if o.uses(self.vector)]
        return all(any(axis in o.steps for o in near) for axis in self.reduce)

    @property
    def itemsize(self) -> int:
        """Bytes of the widest element the innermost code computes with."""
        kinds = self.stage.dtypes + (self.stage.reduce.dtypes if self.stage.reduce is not None else ())
        return max(dtypes.itemsize(kind) for kind in kinds)


def roles_of(nests: Nests, name: str) -> Roles:
    """Find the roles of a stage's axes, after inlining."""
    return roles_in(definitions(nests)[name])


def roles_in(definition: Definition) -> Roles:
    """As :func:`roles_of`, where the stage's definition is at hand."""
    return roles_from(definition.stage, definition.axes, operands_of(definition.innermost))


def roles_from(
    stage: Stage, axes: Iterable[Axis], operands: tuple[Operand, ...], vector: Axis | None = None
) -> Roles:
    """The roles of some axes of a stage, by what it reads; ``vector`` is the vector axis if it is already chosen."""
    spatial = [axis for axis in axes if known(axis.extent) > 1]
    reduce = tuple(axis for axis in stage.reduce_axes if known(axis.extent) > 1)
    vector = _vector_axis(spatial, operands, bool(reduce)) if vector is None else vector
    rows = _rows_axis(spatial, operands, vector) if reduce else None
    moved = () if vector is None else tuple(o for o in operands if o.uses(vector))
    streams = moved if rows is None else tuple(o for o in moved if not o.uses(rows))
    pack = () if vector is None or rows is None else tuple(o for o in streams if not o.contiguous(vector))
    outer = tuple(axis for axis in spatial if axis is not vector and axis is not rows)
    return Roles(stage, operands, vector, rows, outer, reduce, pack, streams, tuple(spatial))


def operands_of(exprs: Iterable[Expr]) -> tuple[Operand, ...]:
    """The distinct reads of some expressions."""
    found: dict[tuple[object, ...], Operand] = {}
    for expr in exprs:
        for load in loads(expr):
            operand = _operand(load)
            key = (operand.name, *(tuple(sorted((id(a), s) for a, s in dim.items())) for dim in operand.dims))
            found.setdefault(key, operand)
    return tuple(found.values())


def read_once(dim: dict[Axis, int]) -> bool:
    """Whether no two iterations come to the same index of a dimension: each step is longer than all smaller ones reach."""
    unknown = [axis for axis, step in dim.items() if step == 0]
    if len(unknown) > 1:
        return False
    reach = sum(known(axis.extent) - 1 for axis in unknown)
    for axis, step in sorted(dim.items(), key=lambda item: abs(item[1])):
        if step and abs(step) <= reach:
            return False
        reach += abs(step) * (known(axis.extent) - 1)
    return True


def packable(operand: Operand, vector: Axis | None) -> bool:
    """Whether an operand can be copied so that it lies along the vector axis: the axis is one of its dimensions, all of
    which is read, and no other dimension stands still."""
    whole = [ok for dim, ok in zip(operand.dims, operand.whole, strict=True) if vector in dim]
    return whole == [True] and all(
        dim for dim, size in zip(operand.dims, operand.shape, strict=True) if size > 1
    )


def packed_ahead(roles: Roles) -> bool:
    """Whether all that would be packed is weights: packing them costs calls nothing."""
    streams = [o for o in roles.streams if packable(o, roles.vector)]
    return bool(streams) and all(o.weight for o in streams)


def _operand(load: Load) -> Operand:
    """What a read moves along which axis."""
    dims: list[dict[Axis, int]] = []
    whole: list[bool] = []
    for index in load.indices:
        form = linear(index)
        dim: dict[Axis, int] = {}
        affine = True
        for term, step in form.terms.values():
            if not isinstance(term, Axis):
                affine = False
                dim.update({axis: 0 for axis in walk(term) if isinstance(axis, Axis)})
            elif known(term.extent) > 1:
                dim[term] = step
        whole.append(affine and (not dim or (form.const == 0 and _one_axis(dim))))
        dims.append(dim)
    shape, weight = known_shape(load.tensor.shape), of_weights(load.tensor)
    return Operand(load.tensor.name, shape, tuple(dims), tuple(whole), weight=weight)


@lru_cache(maxsize=4096)
def of_weights(tensor: Tensor) -> bool:
    """Whether a tensor depends on weights, and on no other input."""
    if isinstance(tensor, Stage):
        read = producers(tensor)
        return bool(read) and all(map(of_weights, read))
    return isinstance(tensor, Input) and tensor.weight


def _one_axis(dim: dict[Axis, int]) -> bool:
    """Whether an index is an axis, or put together from its two halves."""
    (inner, step), *outer = sorted(dim.items(), key=lambda item: item[1])
    return step == 1 and (not outer or [n for _, n in outer] == [known(inner.extent)])


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
    return last if shared and len(operands) > 1 and all(packable(o, last) for o in using) else None


def _rows_axis(spatial: list[Axis], operands: tuple[Operand, ...], vector: Axis | None) -> Axis | None:
    """The innermost axis along which the vector operand stays the same while another operand changes."""
    if vector is None:
        return None
    for axis in reversed([a for a in spatial if a is not vector]):
        kept = any(o.uses(vector) and not o.uses(axis) for o in operands)
        if kept and any(o.uses(axis) for o in operands):
            return axis
    return None

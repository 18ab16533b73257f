"""Before loops are built: inlining, padded domains, and clamped indices.

After this pass every index of every load is known to stay inside its tensor for all points of the reader's domain, so
the loop builder never has to think about memory safety again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from loopwright.sched import dtypes
from loopwright.sched.language import extents
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Cast,
    Expr,
    Extent,
    Load,
    Size,
    cast,
    loads,
    rewrite,
    substitute,
    walk,
    wrap,
)
from loopwright.sched.language.extents import node, surely
from loopwright.sched.language.interval import index_range, most
from loopwright.sched.language.polynomial import Proof, at_most, floors
from loopwright.sched.language.stage import Stage, Tensor
from loopwright.sched.language.workload import stage_exprs
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.calling import handed_over
from loopwright.sched.scheduling.nest import Fuse, Nests, Split, StageNest


@dataclass(frozen=True)
class Definition:
    """A stage as the loop builder sees it.

    Attributes:
        axes: the stage's axes.
        sizes: the extent of each axis that has storage; larger than the axis where a reader pads.
        run: the extent of each axis that is computed; larger than ``sizes`` where the stage itself pads.
        values: what the reduction accumulates, component by component; empty without one.
        bodies: what is stored, part by part.
        handed_over: whether a C function is given its array.
        at, where: of an update, where it is stored and at which points.
    """

    stage: Stage
    axes: tuple[Axis, ...]
    sizes: tuple[Extent, ...]
    run: tuple[Extent, ...]
    values: tuple[Expr, ...]
    bodies: tuple[Expr, ...]
    at: tuple[Expr, ...] = ()
    where: Expr | None = None
    handed_over: bool = False

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The expressions of the stage."""
        where = () if self.where is None else (self.where,)
        return (*self.values, *self.at, *where, *self.bodies)

    @property
    def innermost(self) -> tuple[Expr, ...]:
        """The expressions evaluated most often: those of the reduction, if there is one."""
        return self.values or self.bodies


def definitions(nests: Nests) -> dict[str, Definition]:
    """The definitions of all stages that are not inlined, producers first."""
    inlined: dict[str, Stage] = {}
    found: dict[str, Definition] = {}
    whole = handed_over(nests)
    for nest in nests.stages.values():
        exprs = tuple(_inline(e, inlined, nest.stage.axes) for e in stage_exprs(nest.stage))
        if nest.place.kind == "inline":
            inlined[nest.name] = replace(nest.stage, bodies=exprs)
            continue
        first, bodies = exprs[: -len(nest.stage.bodies)], exprs[-len(nest.stage.bodies) :]
        extents, run = tuple(axis.extent for axis in nest.stage.axes), _padded_run(nest)
        definition = Definition(nest.stage, nest.stage.axes, extents, run, first, bodies)
        if nest.stage.updating is not None:
            at, where = first[: nest.stage.ndim], first[nest.stage.ndim :]
            definition = replace(definition, values=(), at=at, where=where[0] if where else None)
        if nest.name in whole:
            definition = replace(definition, handed_over=True)
        found[nest.name] = definition
    _pad_producers(nests, found)
    return {name: _clamped(definition, found) for name, definition in found.items()}


def _inline(expr: Expr, inlined: dict[str, Stage], axes: Iterable[Axis]) -> Expr:
    """Put the definition of inlined stages where they are read, inside loops over ``axes``."""
    proof = Proof(floors=floors([axis.extent for axis in axes]))

    def change(e: Expr) -> Expr | None:
        if not isinstance(e, Load) or e.tensor.name not in inlined:
            return None
        stage = inlined[e.tensor.name]
        indices = [rewrite(index, change) for index in e.indices]
        indices = [_clamp(index, size, proof) for index, size in zip(indices, stage.shape, strict=True)]
        return substitute(stage.bodies[e.part], dict(zip(stage.axes, indices, strict=True)))

    return rewrite(expr, change)


def _padded_run(nest: StageNest) -> tuple[Extent, ...]:
    """The extents a stage computes: rounded up on axes that are split with ``tail="pad"``.

    Only a reduction's accumulators are padded; a stage without one has nothing to gain, its pad is a peel.
    """
    factors = {
        r.parent: r.factor
        for r in nest.relations
        if isinstance(r, Split) and r.tail == "pad" and not _fused_later(nest, {r.outer, r.inner})
    }
    if nest.stage.reduce is None or nest.place.kind != "root":
        return tuple(axis.extent for axis in nest.stage.axes)
    return tuple(
        extents.times(extents.ceil_divided(axis.extent, factors.get(axis.name, 1)), factors.get(axis.name, 1))
        for axis in nest.stage.axes
    )


def _fused_later(nest: StageNest, loops: set[str]) -> bool:
    """Whether one of ``loops``, or of what they are split into, is fused: accumulators are counted by fused loops, which
    must then be as long where they are stored as where they are computed."""
    for relation in nest.relations:
        if isinstance(relation, Fuse):
            if {relation.outer, relation.inner} & loops:
                return True
        elif relation.parent in loops:
            loops = loops | {relation.outer, relation.inner}
    return False


def _pad_producers(nests: Nests, found: dict[str, Definition]) -> None:
    """A copy that a padded stage reads grows with it, so that the padded part is read without a clamp.

    The copy's own reads are clamped instead: padding lanes compute on repeated edge elements and are never stored.
    """
    fixed = set(nests.outputs.values())
    fixed |= {n for n, d in found.items() if d.stage.updating is not None or d.handed_over}
    for name in reversed(list(found)):
        reader = found[name]
        shape = tuple(axis.extent for axis in reader.axes)
        if extents.same_shape(reader.run, shape) and extents.same_shape(reader.sizes, shape):
            continue
        for load in (load for e in reader.exprs for load in loads(e)):
            producer = found.get(load.tensor.name)
            if (
                producer is None
                or nests.stages[producer.stage.name].place.kind == "after"
                or producer.values
                or producer.stage.name in fixed
            ):
                continue
            sizes = tuple(
                _grown(size, index, reader) for size, index in zip(producer.sizes, load.indices, strict=True)
            )
            found[producer.stage.name] = replace(producer, sizes=sizes, run=sizes)


def _grown(size: Extent, index: Expr, reader: Definition) -> Extent:
    """The size of a copy's dimension that also holds what a padded reader asks for (of a symbolic one: axis by axis)."""
    if isinstance(size, Expr) or any(isinstance(run, Expr) for run in reader.run):
        lone = [run for axis, run in zip(reader.axes, reader.run, strict=True) if axis is index]
        return extents.larger(size, lone[0]) if lone else size
    reach = index_range(index, partial(_range_of, definition=reader))
    return max(size, reach[1] + 1) if reach else size


def _run_of(axis: Axis, definition: Definition) -> Extent:
    """How far an axis is computed."""
    for mine, extent in zip(definition.axes, definition.run, strict=True):
        if mine is axis:
            return extent
    return axis.extent


def _range_of(axis: Axis, definition: Definition) -> tuple[int, int]:
    return (0, most(_run_of(axis, definition)) - 1)


def _clamped(definition: Definition, found: dict[str, Definition]) -> Definition:
    """Clamp every index that is not known to stay inside its tensor: it depends on data, or a select guards it."""

    def sizes_of(tensor: Tensor) -> tuple[Extent, ...]:
        known = found.get(tensor.name)
        return tensor.shape if known is None or known.stage.updating is not None else known.sizes

    def clamped(expr: Expr, axes: tuple[Axis, ...]) -> Expr:
        proof = _proof(definition, axes)

        def change(e: Expr) -> Expr | None:
            if not isinstance(e, Load):
                return None
            indices = tuple(
                _clamp(rewrite(index, change), size, proof, definition)
                for index, size in zip(e.indices, sizes_of(e.tensor), strict=True)
            )
            return Load(e.tensor, indices, e.dtype, e.part)

        return rewrite(expr, change)

    every = definition.stage.all_axes
    own = definition.axes if definition.stage.updating is None else every
    return replace(
        definition,
        values=tuple(clamped(value, every) for value in definition.values),
        bodies=tuple(clamped(body, own) for body in definition.bodies),
        at=tuple(clamped(place, every) for place in definition.at),
        where=None if definition.where is None else clamped(definition.where, every),
    )


def _clamp(index: Expr, size: Extent, proof: Proof, definition: Definition | None = None) -> Expr:
    """An index that stays in ``0 .. size - 1``: as it is where that is known, else held there."""
    span = index_range(index, partial(_range_of, definition=definition) if definition else None)
    if surely(size, 0):
        return number(0)
    last = extents.minus(size, 1)
    symbolic = isinstance(size, Expr) or proof.floors or any(isinstance(e, Size) for e in walk(index))
    low = span is not None and (span[0] >= 0 or bool(symbolic and at_most(0, index, proof)))
    high = span is not None and (
        (not isinstance(last, Expr) and span[1] <= last) or bool(symbolic and at_most(index, last, proof))
    )
    if low and high:
        return index
    if isinstance(last, Expr) and not at_most(0, last, proof):
        last = Binary(
            "max", last, number(0), "int32"
        )  # of an array without elements nothing is read in the end
    if index.dtype != "int32":
        return _clamped_wide(index, last)
    # Built plainly: simplification would trust the axis's own extent, which a padded run exceeds.
    if not low:
        index = Binary("max", index, number(0), "int32")
    if not high:
        index = Binary("min", index, node(last), "int32")
    return index


def _clamped_wide(index: Expr, last: Extent) -> Expr:
    """Clamp in another type than int32: a cast to that could turn an outlier into a valid index."""
    dtype = index.dtype
    limit = int(dtypes.limits(dtype)[1])
    if not isinstance(last, Expr):
        high = wrap(min(last, limit), dtype)
    elif limit < most(last):  # a narrow type: the cast is exact
        zero = number(0)
        return Binary("min", Binary("max", Cast(index, "int32"), zero, "int32"), last, "int32")
    else:
        high = cast(dtype, last)
    return Cast(Binary("min", Binary("max", index, wrap(0, dtype), dtype), high, dtype), "int32")


def _proof(definition: Definition, axes: Iterable[Axis]) -> Proof:
    """What is known where the loops over ``axes`` run: how far they do, and that each of them has a value."""
    run = partial(_run_of, definition=definition)
    return Proof(run, floors([run(axis) for axis in axes]))

"""Before loops are built: inlining, padded domains, and clamped indices.

After this pass every index of every load is known to stay inside its tensor for all points of the reader's domain, so
the loop builder never has to think about memory safety again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Cast, Expr, Load, loads, rewrite, substitute, wrap
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.stage import Stage, Tensor
from loopwright.sched.language.workload import stage_exprs
from loopwright.sched.lowering.affine import number
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
        at, where: of an update, where it is stored and at which points.
    """

    stage: Stage
    axes: tuple[Axis, ...]
    sizes: tuple[int, ...]
    run: tuple[int, ...]
    values: tuple[Expr, ...]
    bodies: tuple[Expr, ...]
    at: tuple[Expr, ...] = ()
    where: Expr | None = None

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
    for nest in nests.stages.values():
        exprs = tuple(_inline(e, inlined) for e in stage_exprs(nest.stage))
        if nest.place.kind == "inline":
            inlined[nest.name] = replace(nest.stage, bodies=exprs)
            continue
        first, bodies = exprs[: -len(nest.stage.bodies)], exprs[-len(nest.stage.bodies) :]
        extents, run = tuple(axis.extent for axis in nest.stage.axes), _padded_run(nest)
        definition = Definition(nest.stage, nest.stage.axes, extents, run, first, bodies)
        if nest.stage.updating is not None:
            at, where = first[: nest.stage.ndim], first[nest.stage.ndim :]
            definition = replace(definition, values=(), at=at, where=where[0] if where else None)
        found[nest.name] = definition
    _pad_producers(nests, found)
    return {name: _clamped(definition, found) for name, definition in found.items()}


def _inline(expr: Expr, inlined: dict[str, Stage]) -> Expr:
    """Put the definition of inlined stages where they are read."""

    def change(e: Expr) -> Expr | None:
        if not isinstance(e, Load) or e.tensor.name not in inlined:
            return None
        stage = inlined[e.tensor.name]
        indices = [rewrite(index, change) for index in e.indices]
        indices = [_clamp(index, size) for index, size in zip(indices, stage.shape, strict=True)]
        return substitute(stage.bodies[e.part], dict(zip(stage.axes, indices, strict=True)))

    return rewrite(expr, change)


def _padded_run(nest: StageNest) -> tuple[int, ...]:
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
        -(-axis.extent // factors.get(axis.name, 1)) * factors.get(axis.name, 1) for axis in nest.stage.axes
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
    fixed = set(nests.outputs.values()) | {n for n, d in found.items() if d.stage.updating is not None}
    for name in reversed(list(found)):
        reader = found[name]
        extents = tuple(axis.extent for axis in reader.axes)
        if reader.run == extents and reader.sizes == extents:
            continue
        for load in (load for e in reader.exprs for load in loads(e)):
            producer = found.get(load.tensor.name)
            if producer is None or producer.values or producer.stage.name in fixed:
                continue
            ranges = [index_range(index, partial(_range_of, definition=reader)) for index in load.indices]
            sizes = tuple(
                max(size, r[1] + 1) if r else size for size, r in zip(producer.sizes, ranges, strict=True)
            )
            found[producer.stage.name] = replace(producer, sizes=sizes, run=sizes)


def _range_of(axis: Axis, definition: Definition) -> tuple[int, int]:
    for mine, extent in zip(definition.axes, definition.run, strict=True):
        if mine is axis:
            return (0, extent - 1)
    return (0, axis.extent - 1)


def _clamped(definition: Definition, found: dict[str, Definition]) -> Definition:
    """Clamp every index that is not known to stay inside its tensor: it depends on data, or a select guards it."""

    def sizes_of(tensor: Tensor) -> tuple[int, ...]:
        known = found.get(tensor.name)
        return tensor.shape if known is None or known.stage.updating is not None else known.sizes

    def change(e: Expr) -> Expr | None:
        if not isinstance(e, Load):
            return None
        indices = tuple(
            _clamp(rewrite(index, change), size, definition)
            for index, size in zip(e.indices, sizes_of(e.tensor), strict=True)
        )
        return Load(e.tensor, indices, e.dtype, e.part)

    values, bodies, at = (
        tuple(rewrite(expr, change) for expr in exprs)
        for exprs in (definition.values, definition.bodies, definition.at)
    )
    where = None if definition.where is None else rewrite(definition.where, change)
    return replace(definition, values=values, bodies=bodies, at=at, where=where)


def _clamp(index: Expr, size: int, definition: Definition | None = None) -> Expr:
    span = index_range(index, partial(_range_of, definition=definition) if definition else None)
    if span is not None and span[0] >= 0 and span[1] < size:
        return index
    if size == 0:
        return number(0)
    if index.dtype != "int32":
        # Clamp in the wide type first: a cast to int32 could turn an outlier into a valid index.
        limit = min(size - 1, int(dtypes.limits(index.dtype)[1]))
        low, high = wrap(0, index.dtype), wrap(limit, index.dtype)
        held = Binary("min", Binary("max", index, low, index.dtype), high, index.dtype)
        return Cast(held, "int32")
    # Built plainly: simplification would trust the axis's own extent, which a padded run exceeds.
    if span is None or span[0] < 0:
        index = Binary("max", index, number(0), "int32")
    if span is None or span[1] >= size:
        index = Binary("min", index, number(size - 1), "int32")
    return index

"""Taking a reduction apart: the two stages that rfactor, or decompose_reduction, makes of one.

For rfactor, the loop becomes an axis of a stage of partial results. If it was split off a reduction axis, or fused from several,
what is left of these is reduced there, and the axes themselves are written in terms of the loops: ``k`` as ``ko*8 + ki``.
Where a split does not divide, the terms beyond its axis are the identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from loopwright.sched.language.expr import (
    Axis,
    Expr,
    Extent,
    Load,
    Reduce,
    Result,
    Select,
    cast,
    rewrite,
    substitute,
)
from loopwright.sched.language.extents import ceil_divided, larger, remainder, surely, times
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.combine import combine, identities
from loopwright.sched.scheduling.nest import Fuse, Split

Relations = tuple[Split | Fuse, ...]


@dataclass(frozen=True)
class Factored:
    """What a stage becomes.

    Attributes:
        partial: the stage of partial results, with one more axis.
        partial_relations: the splits and fusions that go on in it.
        final: the stage as it was, but that it reduces over that axis of the partial results.
        final_relations: those that go on in it: of its spatial loops.
    """

    partial: Stage
    partial_relations: Relations
    final: Stage
    final_relations: Relations


# Filling a space rewrites the same stages again and again: equal ones are one object, so what is known of them is kept too.
@lru_cache(maxsize=1024)
def factored(stage: Stage, relations: Relations, loop: str, name: str) -> Factored:
    """The two stages for taking the reduction loop ``loop`` out of ``stage``; the new one is called ``name``."""
    reduce = stage.reduce
    assert reduce is not None
    taken = taken_out(stage, relations, loop)
    found = tuple(substitute(value, taken.values) for value in reduce.values)
    if taken.inside is not None:
        pairs = zip(found, identities(reduce), strict=True)
        found = tuple(Select(taken.inside, term, nothing, nothing.dtype) for term, nothing in pairs)
    partial = _partial(name, (*taken.axes, taken.factor), reduce, found, taken.left)
    final = _final(stage, partial, taken.factor)
    return Factored(partial, taken.kept, final, tuple(r for r in taken.kept if r in taken.spatial))


@dataclass(frozen=True)
class Taken:
    """A stage's loops without one that is taken out of a reduction, or of an update's domain.

    Attributes:
        factor: the loop as an axis.
        axes: copies of the stage's own.
        left: what is reduced, or run through, beside it.
        values: what the stage's axes are in terms of all these.
        inside: the condition under which they are inside their ranges; None if they always are.
        kept: the splits and fusions that go on.
        spatial: of all relations, those among loops of the own axes.
    """

    factor: Axis
    axes: tuple[Axis, ...]
    left: tuple[Axis, ...]
    values: dict[Axis, Expr]
    inside: Expr | None
    kept: Relations
    spatial: frozenset[Split | Fuse]


def taken_out(stage: Stage, relations: Relations, loop: str) -> Taken:
    """What becomes of a stage's axes and relations where ``loop`` is an axis of its own."""
    tree = _Tree(stage, relations)
    gone = set(tree.sources(loop))
    dissolved = [r for r in relations if gone & tree.used_by(r) and (gone | {loop}) & tree.made_by(r)]
    fresh = {axis: Axis(axis.name, axis.extent) for axis in stage.axes}
    factor = Axis(loop, tree.length[loop])
    left = [axis.name for axis in stage.reduce_axes if axis.name not in gone | {loop}]
    left += [part for r in dissolved for part in sorted(tree.made_by(r) - gone - {loop})]
    inner = {axis: Axis(axis, tree.length[axis], True) for axis in left}
    values, inside = tree.values(dissolved, {**inner, loop: factor})
    terms = {axis: values[axis.name] for axis in stage.reduce_axes}
    kept = tuple(r for r in relations if r not in dissolved)
    return Taken(
        factor,
        tuple(fresh.values()),
        tuple(inner.values()),
        {**fresh, **terms},
        inside,
        kept,
        frozenset(tree.spatial()),
    )


def _partial(
    name: str, axes: tuple[Axis, ...], reduce: Reduce, terms: tuple[Expr, ...], over: tuple[Axis, ...]
) -> Stage:
    kinds = reduce.dtypes
    if not over:
        bodies = tuple(cast(kind, term) for kind, term in zip(kinds, terms, strict=True))
        return Stage(name, axes, bodies, None, kinds)
    results = tuple(Result(kind, part) for part, kind in enumerate(kinds))
    return Stage(name, axes, results, replace(reduce, values=terms, axes=over, name=None), kinds)


def _final(stage: Stage, partial: Stage, factor: Axis) -> Stage:
    assert stage.reduce is not None
    over = Axis(factor.name, factor.extent, True)
    values = tuple(Load(partial, (*stage.axes, over), kind, n) for n, kind in enumerate(partial.dtypes))
    return replace(stage, reduce=replace(stage.reduce, values=values, axes=(over,)))


@lru_cache(maxsize=1024)
def decomposed(stage: Stage, name: str) -> tuple[Stage, Stage]:
    """A stage ``name`` of what the reduction starts at, and the stage as it was, but that its results are combined with that."""
    reduce = stage.reduce
    assert reduce is not None
    axes = tuple(Axis(axis.name, axis.extent) for axis in stage.axes)
    start = Stage(name, axes, identities(reduce), None, reduce.dtypes)
    old = tuple(Load(start, stage.axes, kind, part) for part, kind in enumerate(reduce.dtypes))
    new = tuple(Result(kind, part) for part, kind in enumerate(reduce.dtypes))
    reached = combine(reduce, old, new)
    bodies = tuple(
        rewrite(body, lambda e: reached[e.part] if isinstance(e, Result) else None) for body in stage.bodies
    )
    return start, replace(stage, bodies=bodies)


class _Tree:
    """The splits and fusions of a stage, and the length of every loop there ever was."""

    def __init__(self, stage: Stage, relations: Relations) -> None:
        self.stage = stage
        self.relations = relations
        self.length: dict[str, Extent] = {axis.name: axis.extent for axis in stage.all_axes}
        for r in relations:
            if isinstance(r, Fuse):
                self.length[r.fused] = times(self.length[r.outer], self.length[r.inner])
            else:
                factor = self.factor(r)
                self.length[r.outer] = ceil_divided(self.length[r.parent], factor)
                self.length[r.inner] = factor

    def factor(self, split: Split) -> int:
        """A split's factor, no longer than its loop."""
        whole = self.length[split.parent]
        return split.factor if isinstance(whole, Expr) else max(1, min(split.factor, whole))

    @staticmethod
    def made_by(relation: Split | Fuse) -> set[str]:
        """The loops that a relation makes."""
        return {relation.fused} if isinstance(relation, Fuse) else {relation.outer, relation.inner}

    @staticmethod
    def used_by(relation: Split | Fuse) -> set[str]:
        """The loops that a relation uses up."""
        return {relation.outer, relation.inner} if isinstance(relation, Fuse) else {relation.parent}

    def sources(self, loop: str) -> Iterator[str]:
        """All loops and axes that ``loop`` is a part of."""
        for relation in self.relations:
            if loop in self.made_by(relation):
                for used in self.used_by(relation):
                    yield used
                    yield from self.sources(used)

    def spatial(self) -> set[Split | Fuse]:
        """The relations among loops that are not of the reduction."""
        names = {axis.name for axis in self.stage.axes}
        found: set[Split | Fuse] = set()
        for relation in self.relations:
            if self.used_by(relation) <= names:
                names |= self.made_by(relation)
                found.add(relation)
        return found

    def values(
        self, relations: list[Split | Fuse], known: dict[str, Axis]
    ) -> tuple[dict[str, Expr], Expr | None]:
        """What ``relations`` took apart or together, in terms of ``known`` loops; and the condition that all of it is inside."""
        values: dict[str, Expr] = dict(known)
        inside: Expr | None = None
        for relation in reversed(relations):
            if isinstance(relation, Fuse):
                length = larger(1, self.length[relation.inner])
                values[relation.outer] = values[relation.fused] // length
                values[relation.inner] = values[relation.fused] % length
                continue
            factor, whole = self.factor(relation), self.length[relation.parent]
            value = values[relation.outer] * factor + values[relation.inner]
            values[relation.parent] = value
            if not surely(remainder(whole, factor), 0):
                inside = value < whole if inside is None else inside & (value < whole)
        return values, inside

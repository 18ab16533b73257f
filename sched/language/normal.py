"""The normal form of a definition: a stage owns at most one reduction, others are hoisted into stages of their own.

The bodies of a stage of tuples may hold several reductions over the same axes: they become one, which is ``joint``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from loopwright.sched.language.expr import (
    Axis,
    Expr,
    ExprLike,
    Item,
    Joint,
    Load,
    Reduce,
    Reducer,
    Result,
    cast,
    rewrite,
    structure,
    substitute,
    walk,
    wrap,
)
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.wellformed import check_axes, check_indices, check_size

Values = tuple[Expr, ...]


def make_stage(name: str, axes: tuple[Axis, ...], value: ExprLike, dtype: str | None = None) -> Stage:
    """Bring a definition into normal form: at most one reduction in a stage, others hoisted into stages of their own.

    Raises:
        DefinitionError: an axis that belongs to no loop of the stage, two axes of one name, an index that can leave
            its tensor.
    """
    return make_tuple_stage(name, axes, (value,), (dtype,))


def make_tuple_stage(
    name: str, axes: tuple[Axis, ...], values: Sequence[ExprLike], dtypes: Iterable[str | None]
) -> Stage:
    """As :func:`make_stage`, of a stage whose elements are tuples: its reductions over the same axes share their loops."""
    exprs = tuple(
        wrap(value) if dtype is None else cast(dtype, wrap(value))
        for value, dtype in zip(values, dtypes, strict=True)
    )
    check_size(name, exprs)
    exprs = _Hoist(name, axes)(_interned(exprs))
    own = _outermost(exprs)
    kinds = tuple(expr.dtype for expr in exprs)
    if own:
        reduce, bodies = _owned(own, exprs)
        stage = Stage(name, axes, bodies, reduce, kinds)
    else:
        stage = Stage(name, axes, exprs, None, kinds)
    check_axes(stage)
    check_indices(stage)
    return stage


def _owned(own: list[Reduce], values: Values) -> tuple[Reduce, Values]:
    """The reduction of a stage, and its bodies, in which results stand for it."""
    # Fresh reduction axes: one reduce_axis object may serve several reductions of the user's.
    fresh: dict[Axis, Expr] = {axis: Axis(axis.name, axis.extent, True) for axis in own[0].axes}
    axes = tuple(axis for axis in fresh.values() if isinstance(axis, Axis))
    terms = tuple(substitute(value, fresh) for reduce in own for value in reduce.values)
    dtypes = tuple(dtype for reduce in own for dtype in reduce.dtypes)
    first: dict[int, int] = {}
    for reduce in own:
        first[id(reduce)] = sum(len(other.values) for other in own[: len(first)])

    def result(e: Expr) -> Expr | None:
        if isinstance(e, Item):
            return Result(e.dtype, first[id(e.reduce)] + e.part)
        return Result(e.dtype, first[id(e)]) if isinstance(e, Reduce) else None

    bodies = tuple(rewrite(value, result) for value in values)
    if len(own) == 1:
        return replace(own[0], values=terms, axes=axes, name=None), bodies
    joint = Joint(
        tuple(
            (reduce.op, len(reduce.values), reduce.reducer if isinstance(reduce.reducer, Reducer) else None)
            for reduce in own
        )
    )
    return Reduce("joint", terms, axes, dtypes, None, joint), bodies


def _outermost(values: Values) -> list[Reduce]:
    """The distinct reductions of some expressions that stand in no other reduction."""
    found: list[Reduce] = []

    def visit(e: Expr) -> Expr | None:
        if isinstance(e, Reduce):
            if not any(e is other for other in found):
                found.append(e)
            return e
        return None

    for value in values:
        rewrite(value, visit)
    return found


def _interned(values: Values) -> Values:
    """Let equal reductions be one object, so that each is computed once: the two maxima of a softmax, for example."""
    known: dict[Hashable, Reduce] = {}

    def change(e: Expr) -> Expr | None:
        if not isinstance(e, Reduce):
            return None
        key = structure(e)
        if key not in known:
            known[key] = _with_values(e, tuple(rewrite(value, change) for value in e.values))
        return known[key]

    return tuple(rewrite(value, change) for value in values)


def _with_values(reduce: Reduce, values: Values) -> Reduce:
    unchanged = all(new is old for new, old in zip(values, reduce.values, strict=True))
    return reduce if unchanged else replace(reduce, values=values)


def _together(reductions: list[Reduce]) -> bool:
    """Whether reductions can share their loops: over the same axes, in one order where any of them minds."""
    ordered = any(isinstance(r.reducer, Reducer) and not r.reducer.commutative for r in reductions)
    axes = [[id(axis) for axis in r.axes] for r in reductions]
    return all(own == axes[0] if ordered else set(own) == set(axes[0]) for own in axes)


def hoisted(name: str, scope: tuple[Axis, ...], values: Values) -> Values:
    """``values`` with every reduction in them moved into a stage of its own; they stand among the axes ``scope``."""
    hoist = _Hoist(name, scope)
    values = _interned(values)
    hoist.note_parts(values)
    return tuple(hoist._replaced(value, scope) for value in values)


class _Hoist:
    """Moves every reduction of a stage but its own into a stage of its own, inner ones first.

    A stage owns a lone unnamed reduction; or, if its elements are tuples, several that can share their loops.
    """

    def __init__(self, name: str, axes: tuple[Axis, ...]) -> None:
        self.name = name
        self.axes = axes
        self.counts: dict[str, int] = {}
        self.done: dict[int, tuple[Stage, tuple[Axis, ...], list[int]]] = {}
        self.used: dict[int, set[int]] = {}
        self.own: dict[int, Reduce] = {}

    def note_parts(self, values: Values) -> None:
        """Remember which components of tuple reductions are used: only these are stored."""
        for value in values:
            for e in walk(value):
                if isinstance(e, Item):
                    self.used.setdefault(id(e.reduce), set()).add(e.part)

    def __call__(self, values: Values) -> Values:
        self.note_parts(values)
        outer = _outermost(values)
        unnamed = [reduce for reduce in outer if reduce.name is None]
        if (len(values) > 1 and unnamed and _together(unnamed)) or len(outer) == len(unnamed) == 1:
            self.own = {id(reduce): self._inside(reduce, self.axes) for reduce in unnamed}
        return tuple(self._replaced(value, self.axes) for value in values)

    def _inside(self, reduce: Reduce, scope: tuple[Axis, ...]) -> Reduce:
        """A reduction whose values have no reduction of their own any more."""
        return _with_values(reduce, tuple(self._replaced(v, scope + reduce.axes) for v in reduce.values))

    def _replaced(self, value: Expr, scope: tuple[Axis, ...]) -> Expr:
        """``value`` with loads of new stages instead of its reductions; ``scope`` has the axes it stands among."""

        def change(e: Expr) -> Expr | None:
            if isinstance(e, Item):
                mine = self.own.get(id(e.reduce))
                return self._load(e.reduce, e.part, scope) if mine is None else Item(mine, e.part)
            if isinstance(e, Reduce):
                return self.own[id(e)] if id(e) in self.own else self._load(e, 0, scope)
            return None

        return rewrite(value, change)

    def _load(self, reduce: Reduce, part: int, scope: tuple[Axis, ...]) -> Expr:
        if id(reduce) not in self.done:
            self.done[id(reduce)] = self._stage(reduce, scope)
        stage, axes, parts = self.done[id(reduce)]
        number = parts.index(part)
        return Load(stage, axes, stage.dtypes[number], number)

    def _stage(self, reduce: Reduce, scope: tuple[Axis, ...]) -> tuple[Stage, tuple[Axis, ...], list[int]]:
        """The stage of a reduction, the axes to read it at, and which components of it are stored: those that are used."""
        reduce = self._inside(original := reduce, scope)
        # An axis the reduction runs over is its own, even if an outer reduction runs over the same object.
        used = {id(e) for value in reduce.values for e in walk(value) if isinstance(e, Axis)}
        used -= {id(axis) for axis in reduce.axes}
        mine = tuple(axis for axis in scope if id(axis) in used)
        fresh: dict[Axis, Expr] = {axis: Axis(axis.name, axis.extent) for axis in mine}
        number = self.counts.get(reduce.label, 0)
        if reduce.name is None:
            self.counts[reduce.label] = number + 1
        name = reduce.name or f"{self.name}.{reduce.label}{number}"
        values = tuple(substitute(value, fresh) for value in reduce.values)
        body = replace(reduce, values=values, name=None)
        parts = sorted(self.used.get(id(original), {0}))
        bodies = [Item(body, part) if len(values) > 1 else body for part in parts]
        axes = tuple(axis for axis in fresh.values() if isinstance(axis, Axis))
        return make_tuple_stage(name, axes, bodies, [None] * len(parts)), mine, parts

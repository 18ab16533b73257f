"""Whether loops under a condition (T.where) reach each point of a block once: what a split that does not divide leaves.

Loops and iterators that have to do with one another are taken together, and every point of theirs is tried: a split's two
loops and the axis that they make, for example.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tvm import tirx
from tvm.ir.prim import expr as prim

from loopwright.sched.errors import DefinitionError
from loopwright.sched.importer.exprs import Translator
from loopwright.sched.importer.inside import evaluated
from loopwright.sched.language.expr import Axis, Expr, walk
from loopwright.sched.language.extents import known

# Points of one group, those that the condition leaves out included.
MOST_POINTS = 1 << 22


def covers_once(
    spans: list[tuple[int, int]],
    values: list[Any],
    loops: dict[Any, tuple[int, int]],
    condition: Any,
    where: str,
) -> bool:
    """Whether iterators over ``low .. low + extent - 1`` take every combination of their values once.

    Args:
        spans: low and extent of each iterator.
        values: what each is, in terms of the loop variables.
        loops: first value and length of each loop.
        condition: where the block runs.
    """
    axes = {var: Axis(f"l{n}", extent) for n, (var, (_, extent)) in enumerate(loops.items())}
    starts: dict[Any, Expr] = {var: axes[var] + low if low else axes[var] for var, (low, _) in loops.items()}
    translator = Translator({}, starts, where)
    try:
        indices = [translator.any_width(value) for value in values]
        conditions = [translator.any_width(part) for part in _conjuncts(condition)]
    except DefinitionError:
        return False
    groups = _groups(
        [_axes_of(e) for e in (*indices, *conditions)], [a for a in axes.values() if a.extent != 1]
    )
    return all(_once(group, indices, spans, conditions) for group in groups)


def _conjuncts(condition: Any) -> Iterator[Any]:
    if isinstance(condition, prim.And | tirx.And):
        yield from _conjuncts(condition.a)
        yield from _conjuncts(condition.b)
    else:
        yield condition


def _axes_of(e: Expr) -> frozenset[Axis]:
    return frozenset(part for part in walk(e) if isinstance(part, Axis) and part.extent != 1)


def _groups(together: list[frozenset[Axis]], axes: list[Axis]) -> list[frozenset[Axis]]:
    """The axes in groups, those that stand in one expression in one; last, the empty group of what has no axes."""
    groups = [frozenset((axis,)) for axis in axes]
    for some in together:
        met = [group for group in groups if group & some]
        if met:
            groups = [group for group in groups if not group & some] + [frozenset().union(*met)]
    return [*groups, frozenset()]


def _once(
    group: frozenset[Axis], indices: list[Expr], spans: list[tuple[int, int]], conditions: list[Expr]
) -> bool:
    """Whether the iterators of one group take each combination of their values once."""
    order = sorted(group, key=lambda axis: axis.name)
    shape = tuple(known(axis.extent) for axis in order)
    if math.prod(shape) > MOST_POINTS:
        return False
    every = dict.fromkeys(
        (axis for e in (*indices, *conditions) for axis in walk(e) if isinstance(axis, Axis)), np.asarray(0)
    )
    grid = {**every, **dict(zip(order, np.ix_(*(np.arange(size) for size in shape)), strict=True))}
    runs = np.ones(shape, bool)
    for condition in conditions:
        if _axes_of(condition) <= group and (group or not _axes_of(condition)):
            found = evaluated(condition, grid)
            if found is None:
                return False
            runs &= np.broadcast_to(found, shape)
    place, count = np.zeros(shape, "int64"), 1
    for index, (low, extent) in zip(indices, spans, strict=True):
        mine = _axes_of(index)
        if not mine <= group or (group and not mine):
            continue
        value = evaluated(index, grid)
        if value is None:
            return False
        value = np.broadcast_to(value, shape) - low
        if not np.all((value >= 0) & (value < extent) | ~runs):
            return False
        place, count = place * extent + value, count * extent
    return count <= MOST_POINTS and bool(np.all(np.bincount(place[runs].ravel(), minlength=count) == 1))

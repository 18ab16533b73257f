"""Stages over longer axes: what pad makes of them. What is beyond the old end is zero, or no term of a reduction."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Load, Reduce, Select, substitute
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.combine import identities
from loopwright.sched.scheduling.nest import Nests


# Filling a space rewrites the same stages again and again: equal ones are one object, so what is known of them is kept too.
@lru_cache(maxsize=1024)
def longer(stage: Stage, name: str, extent: int, guarded: bool) -> Stage:
    """The stage with axis ``name`` of another length; ``guarded``: terms of a reduction beyond its old end are left out."""
    old = next(axis for axis in stage.all_axes if axis.name == name)
    new = Axis(name, extent, old.reduce)
    moved: dict[Axis, Expr] = {old: new}
    inside = Binary("lt", new, number(int(old.extent)), "bool")
    bodies = tuple(substitute(body, moved) for body in stage.bodies)
    if not old.reduce:
        bodies = tuple(Select(inside, body, _zero(body.dtype), body.dtype) for body in bodies)
    reduce = stage.reduce
    if reduce is not None:
        values = tuple(substitute(value, moved) for value in reduce.values)
        if old.reduce and guarded:
            pairs = zip(values, identities(reduce), strict=True)
            values = tuple(Select(inside, value, nothing, nothing.dtype) for value, nothing in pairs)
        over = tuple(new if axis is old else axis for axis in reduce.axes)
        reduce = replace(reduce, values=values, axes=over)
    axes = tuple(new if axis is old else axis for axis in stage.axes)
    return replace(stage, axes=axes, bodies=bodies, reduce=reduce)


def _zero(dtype: str) -> Const:
    return Const(False if dtype == "bool" else 0.0 if dtypes.is_float(dtype) else 0, dtype)


def vanishes(nests: Nests, reduce: Reduce, axis: Axis) -> bool:
    """Whether the terms of a sum are zero beyond the end of an axis, since they are products of elements that are.

    One such factor is enough among integers. Floats must all be zero: 0 times infinity is none.
    """
    if reduce.op != "sum" or len(reduce.values) != 1:
        return False
    zero = [_is_zero(nests, factor, axis) for factor in _factors(reduce.value)]
    return all(zero) if dtypes.is_float(reduce.dtype) else any(zero)


def _factors(e: Expr) -> list[Expr]:
    if isinstance(e, Binary) and e.op == "mul":
        return _factors(e.a) + _factors(e.b)
    return _factors(e.value) if isinstance(e, Cast) else [e]


def _is_zero(nests: Nests, factor: Expr, axis: Axis) -> bool:
    """Whether a factor is an element of a stage that is padded with zeros from the end of ``axis`` on."""
    nest = nests.stages.get(factor.tensor.name) if isinstance(factor, Load) else None
    if not isinstance(factor, Load) or nest is None or nest.stage.updating is not None:
        return False
    body: Expr = nest.stage.bodies[factor.part]
    ends: dict[str, object] = {}
    while isinstance(body, Select) and isinstance(body.b, Const) and not body.b.value:
        cond = body.cond
        if not (
            isinstance(cond, Binary)
            and cond.op == "lt"
            and isinstance(cond.a, Axis)
            and isinstance(cond.b, Const)
        ):
            break
        ends[cond.a.name] = cond.b.value
        body = body.a
    return any(
        index is axis and not isinstance(axis.extent, Expr) and ends.get(mine.name) == axis.extent
        for index, mine in zip(factor.indices, nest.stage.axes, strict=True)
    )

"""Taking an update's domain apart: the stages that rfactor makes of a histogram, or of any other update that accumulates.

Each iteration of the loop accumulates into a slice of its own, which starts at the identity of the operation. The slices are
one array, with the loop as its first dimension: so iterations that run in parallel write far from each other. What the
update becomes combines the slices with what was there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Load, substitute
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.updates import Update, chain
from loopwright.sched.scheduling.factoring import Relations, taken_out
from loopwright.sched.scheduling.order import accumulates

# What is taken away is added up in the slices, from 0 downwards.
MERGED = {"sub": "add"}


@dataclass(frozen=True)
class FactoredUpdate:
    """What an update becomes.

    Attributes:
        start: the stage of slices, as they start.
        partial: the update of these, with the loop as an axis of its own.
        partial_relations: the splits and fusions that go on in it.
        final: the update as it is from now on: the slices are combined, one after the other, with each element.
    """

    start: Stage
    partial: Stage
    partial_relations: Relations
    final: Stage


# Filling a space rewrites the same stages again and again: equal ones are one object, so what is known of them is kept too.
@lru_cache(maxsize=1024)
def factored_update(stage: Stage, relations: Relations, loop: str, name: str) -> FactoredUpdate:
    """The stages for taking the loop ``loop`` out of the domain of ``stage``; the slices are called ``name``."""
    update, found = stage.updating, accumulates(stage)
    assert update is not None
    assert found is not None
    op, value = found
    taken = taken_out(stage, relations, loop)
    slices = (Axis(loop, taken.factor.extent), *_dimensions(stage, loop))
    start = Stage(name, slices, (identity(op, stage.dtype),), None, stage.dtypes)
    at = (taken.factor, *(substitute(index, taken.values) for index in update.at))
    body = Binary(op, Load(start, at, stage.dtype), substitute(value, taken.values), stage.dtype)
    conditions = [] if update.where is None else [substitute(update.where, taken.values)]
    conditions += [] if taken.inside is None else [taken.inside]
    where = conditions[0] if conditions else None
    if len(conditions) == 2:  # the one that is cheap, and that guards the other, first
        where = Binary("and", conditions[1], conditions[0], "bool")
    accumulating = Update(start, at, where, taken.left)
    partial = Stage(f"{name}.u0", (taken.factor, *taken.axes), (body,), None, stage.dtypes, accumulating)
    return FactoredUpdate(start, partial, taken.kept, _merged(stage, partial, op, loop))


def _merged(stage: Stage, partial: Stage, op: str, loop: str) -> Stage:
    """The update that combines all slices with what is there."""
    assert stage.updating is not None
    base, axes = stage.updating.base, _dimensions(stage, loop)
    over = Axis(loop, partial.shape[0], True)
    old, new = Load(base, axes, stage.dtype), Load(partial, (over, *axes), stage.dtype)
    body = Binary(MERGED.get(op, op), old, new, stage.dtype)
    return Stage(stage.name, axes, (body,), None, stage.dtypes, Update(base, axes, None, (over,)))


def _dimensions(stage: Stage, loop: str) -> tuple[Axis, ...]:
    """Axes over all elements, called as in the definition; by numbers where the loop is called like one of them."""
    definition = list(chain(stage))[-1]
    names = [axis.name for axis in definition.axes]
    if loop in names:
        names = [f"d{dim}" if loop != f"d{dim}" else f"e{dim}" for dim in range(len(names))]
    return tuple(Axis(name, axis.extent) for name, axis in zip(names, definition.axes, strict=True))


def identity(op: str, dtype: str) -> Expr:
    """What changes nothing that it is combined with."""
    low, high = dtypes.limits(dtype)
    ones = True if dtype == "bool" else -1 if low < 0 else high
    number = {
        "add": 0, "sub": 0, "mul": 1, "min": high, "max": low,
        "bitor": 0, "bitxor": 0, "or": False, "bitand": ones, "and": True,
    }[op]  # fmt: skip
    if dtype == "bool":
        return Const(bool(number), dtype)
    return Const(float(number) if dtypes.is_float(dtype) else int(number), dtype)

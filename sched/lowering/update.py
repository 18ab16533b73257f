"""The innermost statement of an update: a store at a computed place, under the conditions that keep it inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Binary, Cast, Const, Expr, Extent, Load, cast
from loopwright.sched.language.extents import minus
from loopwright.sched.language.interval import Range, index_range
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.stmt import Bind, Buffer, If, Stmt, Store, Variable, seq

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder


def updated(builder: Builder, frame: Frame) -> Stmt:
    """Store an update's value where it belongs; a point outside the stage, or outside ``where``, is skipped."""
    definition = frame.definition
    conditions: list[Expr] = []
    for index, size in zip(definition.at, definition.stage.shape, strict=True):
        conditions += inside(index, size)
    point = tuple(
        builder.value(index if index.dtype == "int32" else Cast(index, "int32"), frame)
        for index in definition.at
    )
    values = [builder.value(body, frame) for body in definition.bodies]
    binds: list[Bind] = []
    if len(values) > 1:  # each from the old values of all
        held = [Variable(f"{frame.nest.name}_new{part}", value.dtype) for part, value in enumerate(values)]
        binds = [Bind(var, value) for var, value in zip(held, values, strict=True)]
        values = [*held]
    storage = builder.storage[frame.nest.name]
    stores = []
    for part, value in enumerate(values):
        if storage.buffers[part] is not None:
            target = storage.element(point, part)
            assert isinstance(target.tensor, Buffer)
            stores.append(Store(target.tensor, target.indices, value, frame.nest.name, "update"))
    statement = seq(*binds, *stores)
    for condition in reversed(conditions):
        statement = If(builder.value(condition, frame), statement, None)
    if definition.where is not None:
        statement = If(builder.value(definition.where, frame), statement, None, where=True)
    return statement


def inside(index: Expr, size: Extent) -> Iterator[Expr]:
    """The conditions under which an index is one of ``0 .. size - 1``, as far as they do not hold anyway."""
    least, greatest = _reach(index)
    if least < 0:
        yield Binary("ge", index, Const(0, index.dtype), "bool")
    if not isinstance(size, Expr):
        if greatest >= size:
            yield Binary("lt", index, Const(size, index.dtype), "bool")
    elif not at_most(index, minus(size, 1)):
        wide = index if dtypes.itemsize(index.dtype) >= 4 else Cast(index, "int32")
        yield Binary("lt", wide, cast(wide.dtype, size), "bool")


def _reach(index: Expr) -> Range:
    """What an index can be: by its arithmetic, or by the type of an element it is read from."""
    span = index_range(index)
    low, high = dtypes.limits(index.dtype)
    if span is not None and low <= span[0] and span[1] <= high:
        return span
    if isinstance(index, Cast) and isinstance(index.value, Load) and dtypes.is_integer(index.value.dtype):
        narrow = dtypes.limits(index.value.dtype)
        if low <= narrow[0] and narrow[1] <= high:
            low, high = narrow
    return int(low), int(high)

"""Updates evaluated with NumPy: the whole domain at once where its order decides nothing, else point after point.

Three ways, from quick to slow. An update that combines the old element with something else, by ``+`` or ``max`` for
example, and reads nothing more of what it changes, is a scatter by that operation (``np.add.at``). One that reads
nothing of what it changes is an assignment, where the last point to write an element wins. Any other runs in order: what
does not depend on the changing elements is computed for many points in advance; the rest for all points of the
stage's own axes together, or by a function of plain numbers that is compiled for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Binary, Expr, Load, children, same
from loopwright.sched.language.stage import Stage, stage_exprs
from loopwright.sched.reference.blocks import blocks, cut
from loopwright.sched.reference.inorder import BLOCK, InOrder, reads_itself
from loopwright.sched.reference.numbers import Array, unit
from loopwright.sched.reference.points import Points, Ranges, Tensors, Value
from loopwright.sched.reference.scalars import run_scalars
from loopwright.sched.reference.slack import of_sum

# How an old element and a value are combined, where that is the same in any order.
SCATTERS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def updated(stage: Stage, tensors: Tensors, track: bool) -> tuple[Value, ...]:
    """The values of a stage after the update that ``stage`` is; ``tensors`` holds what is known, by ``id``."""
    update = stage.updating
    assert update is not None
    outs = tuple(_copy(value, track) for value in tensors[id(update.base)])
    if outs[0].array.size and all(axis.extent for axis in stage.all_axes):
        operand = _operand(stage)
        if operand is not None:
            _Scatter(stage, tensors, outs[0], operand).run()
        elif not reads_itself(stage, stage_exprs(stage)):
            _assign(stage, tensors, outs)
        elif stage.axes or not run_scalars(stage, tensors, outs):
            InOrder(stage, tensors, outs).run()
    return tuple(out if out.slack is not None and out.slack.any() else Value(out.array) for out in outs)


def _copy(value: Value, track: bool) -> Value:
    """A value to be changed, with a slack of its own where one is asked for."""
    array = value.array.copy()
    if not track:
        return Value(array)
    none = np.zeros(array.shape, bool if array.dtype == bool else np.float64)
    return Value(array, none if value.slack is None else np.broadcast_to(value.slack, array.shape).copy())


def _operand(stage: Stage) -> Expr | None:
    """What is combined with the old element, if that is all there is to the update."""
    body, update = stage.body, stage.updating
    assert update is not None
    if len(stage.bodies) > 1 or stage.dtype in dtypes.NARROW:
        return None
    if not isinstance(body, Binary) or body.op not in SCATTERS:
        return None
    sides = [(body.a, body.b)] if body.op == "sub" else [(body.a, body.b), (body.b, body.a)]
    for old, operand in sides:
        at_old = isinstance(old, Load) and old.tensor is update.base
        if (
            at_old
            and all(same(a, b) for a, b in zip(children(old), update.at, strict=True))
            and not reads_itself(stage, (*stage_exprs(stage)[:-1], operand))
        ):
            return operand
    return None


# --- all points of a block at once -----------------------------------------------------------------------------


class _Block:
    """Where the points of a block write, as flat ``places`` in the order they run; and where they perhaps do."""

    def __init__(self, stage: Stage, tensors: Tensors, ranges: Ranges, outs: Sequence[Value]) -> None:
        assert stage.updating is not None
        self.outs, self.sizes = outs, outs[0].array.shape
        self.points = Points(tensors, stage.all_axes, ranges, outs[0].slack is not None)
        self.shape = tuple(stop - start for start, stop in (ranges[axis] for axis in stage.all_axes))
        self.at = [self.points(index) for index in stage.updating.at]
        inside = np.ones(self.shape, bool)
        for index, size in zip(self.at, self.sizes, strict=True):
            inside &= (index.array >= 0) & (index.array < size)
        where = None if stage.updating.where is None else self.points(stage.updating.where)
        self.here = (inside if where is None else inside & where.array).reshape(-1)
        self.places = self._places(self.here)
        self.unsure = None
        if where is not None and where.slack is not None:
            self.unsure = self._places((inside & where.slack).reshape(-1))

    def _places(self, mask: Array) -> Array:
        flat = [np.broadcast_to(i.array, self.shape).reshape(-1)[mask].astype(np.intp) for i in self.at]
        return np.ravel_multi_index(flat, self.sizes) if flat else np.zeros(int(mask.sum()), np.intp)

    def _flat(self, array: Array) -> Array:
        return np.broadcast_to(array, self.shape).reshape(-1)[self.here]

    def value(self, expr: Expr) -> Value:
        """The values of an expression at the points that write."""
        value = self.points(expr)
        return Value(self._flat(value.array), None if value.slack is None else self._flat(value.slack))

    def doubt(self) -> None:
        """Where a condition may go either way, so may the element; where an index may, all elements may."""
        lost = any(index.slack is not None and index.slack.any() for index in self.at)
        for slack in (out.slack for out in self.outs if out.slack is not None):
            unknown = True if slack.dtype == bool else np.inf
            if self.unsure is not None:
                slack.reshape(-1)[self.unsure] = unknown
            if lost:
                slack[...] = unknown


def _all_blocks(stage: Stage) -> Iterable[Ranges]:
    return blocks(stage.all_axes, cut(stage.all_axes, BLOCK))


def _assign(stage: Stage, tensors: Tensors, outs: Sequence[Value]) -> None:
    """Write values that do not depend on what is changed: the last one stays."""
    for ranges in _all_blocks(stage):
        block = _Block(stage, tensors, ranges, outs)
        places, first = np.unique(block.places[::-1], return_index=True)
        last = block.places.size - 1 - first
        for out, body in zip(outs, stage.bodies, strict=True):
            value = block.value(body)
            out.array.reshape(-1)[places] = value.array[last]
            if out.slack is not None:
                out.slack.reshape(-1)[places] = 0 if value.slack is None else value.slack[last]
        block.doubt()


class _Scatter:
    """Combines values with old elements, in order; the slack allows for any other order."""

    def __init__(self, stage: Stage, tensors: Tensors, out: Value, operand: Expr) -> None:
        assert isinstance(stage.body, Binary)
        self.stage, self.tensors, self.out, self.operand = stage, tensors, out, operand
        self.op = stage.body.op
        rounds = dtypes.is_float(stage.dtype) and self.op in ("add", "sub", "mul")
        # How large what is combined may be, and how many values went into each element.
        self.weight = np.abs(out.array.astype(np.float64)) if rounds and out.slack is not None else None
        self.count = np.zeros(out.array.size) if self.weight is not None else None
        if self.weight is not None and out.slack is not None:
            self.weight = (self.weight + out.slack).reshape(-1)

    def run(self) -> None:
        """All blocks, then the slack of what was rounded."""
        for ranges in _all_blocks(self.stage):
            block = _Block(self.stage, self.tensors, ranges, (self.out,))
            value = block.value(self.operand)
            SCATTERS[self.op].at(self.out.array.reshape(-1), block.places, value.array)
            if self.out.slack is not None:
                self._track(block.places, value, self.out.slack.reshape(-1))
            block.doubt()
        if self.weight is not None and self.count is not None and self.out.slack is not None:
            total = self.out.array.reshape(-1)
            flat = of_sum(self.count, unit(self.stage.dtype), self.weight, total) * (self.count > 0)
            rounding = flat.reshape(self.out.array.shape)
            if self.op == "mul":
                rounding += np.maximum(
                    self.weight.reshape(rounding.shape) - np.abs(self.out.array.astype(np.float64)), 0
                )
            self.out.slack[...] += np.where(np.isnan(rounding), np.inf, rounding)

    def _track(self, places: Array, value: Value, slack: Array) -> None:
        if self.weight is not None and self.count is not None:
            grown = np.abs(value.array.astype(np.float64)) + (0 if value.slack is None else value.slack)
            (np.multiply if self.op == "mul" else np.add).at(self.weight, places, grown)
            np.add.at(self.count, places, 1)
        if value.slack is not None and self.op != "mul":
            more = (
                np.where(np.isnan(value.slack), np.inf, value.slack) if slack.dtype != bool else value.slack
            )
            if self.op in ("add", "sub"):
                np.add.at(slack, places, more)
            elif self.op in ("min", "max", "and", "or"):
                np.maximum.at(slack, places, more)
            else:
                slack[places[more != 0]] = np.inf

"""An update whose points depend on each other: its domain in order, for all points of its own axes together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import numpy as np

from loopwright.sched.language.expr import Expr, Load, children, walk
from loopwright.sched.language.stage import Stage, stage_exprs
from loopwright.sched.reference.blocks import blocks, cut
from loopwright.sched.reference.numbers import Array
from loopwright.sched.reference.points import Points, Ranges, Tensors, Value, shared

BLOCK = 1 << 18  # points evaluated together


def reads_itself(stage: Stage, exprs: Iterable[Expr]) -> bool:
    """Whether some of an update's expressions read what it changes."""
    assert stage.updating is not None
    base = stage.updating.base
    nodes = (e for expr in exprs for e in walk(expr))
    return any(isinstance(e, Load) and e.tensor is base for e in nodes)


def ready_parts(stage: Stage, expr: Expr) -> Iterable[Expr]:
    """The largest parts of an expression that do not read what is changed."""
    if not reads_itself(stage, [expr]):
        yield expr
    else:
        for child in children(expr):
            yield from ready_parts(stage, child)


class InOrder:
    """Runs the domain point after point, each for all points of the stage's own axes in a block."""

    def __init__(self, stage: Stage, tensors: Tensors, outs: Sequence[Value]) -> None:
        assert stage.updating is not None
        self.stage, self.update, self.tensors, self.outs = stage, stage.updating, tensors, outs
        self.track = outs[0].slack is not None
        self.axes = (*self.update.domain, *stage.axes)
        self.ready = [e for expr in stage_exprs(stage) for e in ready_parts(stage, expr)]
        self.shared = set().union(*map(shared, stage_exprs(stage)))

    def run(self) -> None:
        """All blocks in order."""
        for ranges in blocks(self.axes, cut(self.axes, BLOCK)):
            points = Points(self.tensors, self.axes, ranges, self.track)
            extents = [ranges[axis][1] - ranges[axis][0] for axis in self.update.domain]
            ready = {id(e): by_point(points(e), extents) for e in self.ready}
            step = _Step(self, {axis: ranges[axis] for axis in self.stage.axes}, ready)
            for step.number in range(math.prod(extents)):
                step.known.clear()
                self._write(step)

    def _write(self, step: _Step) -> None:
        """One point of the domain, for all points of the stage's own axes: no two of them write one element."""
        shape = step.shape
        here, unsure = np.ones(shape, bool), None
        if self.update.where is not None:
            cond = step.value(self.update.where)
            unsure = None if cond.slack is None else np.broadcast_to(cond.slack, shape)
            here = np.broadcast_to(cond.array if unsure is None else cond.array | unsure, shape)
        index = [step.value(e) for e in self.update.at]
        if any(i.slack is not None and np.any(i.slack) for i in index):
            self._give_up()
        for i, size in zip(index, self.outs[0].array.shape, strict=True):
            here = here & (i.array >= 0) & (i.array < size)
        each = [np.broadcast_to(i.array, shape)[here].astype(np.intp) for i in index]
        at = np.ravel_multi_index(each, self.outs[0].array.shape) if each else np.zeros(int(here), np.intp)
        values = [step.value(body) for body in self.stage.bodies]
        for out, value in zip(self.outs, values, strict=True):
            new = np.broadcast_to(value.array, shape)[here]
            if unsure is not None:
                new = np.where(np.broadcast_to(cond.array, shape)[here], new, out.array.reshape(-1)[at])
            out.array.reshape(-1)[at] = new
            if out.slack is not None:
                slack = np.broadcast_to(np.zeros(()) if value.slack is None else value.slack, shape)[here]
                out.slack.reshape(-1)[at] = (
                    slack if unsure is None else np.where(unsure[here], _unknown(out.slack), slack)
                )

    def _give_up(self) -> None:
        """What is written where is not sure: any element may be anything."""
        for slack in (out.slack for out in self.outs if out.slack is not None):
            slack[...] = _unknown(slack)


def _unknown(slack: Array) -> float:
    return 1.0 if slack.dtype == bool else np.inf


def by_point(value: Value, extents: list[int]) -> Value:
    """A value with the points of the domain as one dimension in front, of size 1 if they are all the same."""
    return Value(*(None if array is None else _in_front(array, extents) for array in value))  # type: ignore[arg-type]


def _in_front(array: Array, extents: list[int]) -> Array:
    own = array.shape[len(extents) :]
    if all(size == 1 for size in array.shape[: len(extents)]):
        return array.reshape(1, *own)
    return np.broadcast_to(array, (*extents, *own)).reshape(-1, *own)


class _Step(Points):
    """The expressions of an update at one point of its domain; ``number`` says which, ``ready`` has what is known."""

    def __init__(self, run: InOrder, ranges: Ranges, ready: dict[int, Value]) -> None:
        super().__init__(run.tensors, run.stage.axes, ranges, run.track)
        self.base, self.outs = run.update.base, run.outs
        self.shape = tuple(stop - start for start, stop in ranges.values())
        self.ready = ready
        self.shared = run.shared
        self.number = 0

    def value(self, expr: Expr) -> Value:
        """The value at this point."""
        ready = self.ready.get(id(expr))
        if ready is None:
            return super().value(expr)
        array, slack = ready
        n = self.number
        return Value(
            array[n if len(array) > 1 else 0],
            None if slack is None else slack[n if len(slack) > 1 else 0],
        )

    def _element(self, expr: Load) -> Value:
        """An element of what is changed, as it is now; or one whose place depends on such elements."""
        stored = (self.outs if expr.tensor is self.base else self.tensors[id(expr.tensor)])[expr.part]
        return self._gather(expr, stored) if stored.array.size else self._load(expr)

    HANDLERS: ClassVar[dict[type, Callable[..., Value]]] = {**Points.HANDLERS, Load: _element}

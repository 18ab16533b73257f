"""A workload written down for TVM's own tuner: the same formula as TE tensors, stage by stage.

A stage whose reduction is followed by something else becomes two, which is how people write it there; MetaSchedule joins them
again where that is better.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tvm import te, tirx, topi

from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Reduce,
    Result,
    Select,
    Unary,
)
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": tirx.floordiv,
    "mod": tirx.floormod,
    "min": tirx.min,
    "max": tirx.max,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "and": tirx.all,
}
REDUCERS = {"sum": te.sum, "max": te.max, "min": te.min}


class NotWritten(ValueError):
    """The formula has something that is not written down for TVM here."""


def tensors(work: Workload) -> list[Any]:
    """The inputs and outputs of a workload as TE tensors.

    Raises:
        NotWritten: it has updates, tuples, or functions other than the suite's.
    """
    made: dict[int, Any] = {
        id(source): te.placeholder(source.shape, name=source.name, dtype=source.dtype)
        for source in work.inputs
    }
    for stage in work.stages:
        made[id(stage)] = _stage(stage, made)
    return [made[id(tensor)] for tensor in (*work.inputs, *work.outputs)]


def _stage(stage: Stage, made: dict[int, Any]) -> Any:
    if stage.updating is not None or len(stage.bodies) != 1:
        raise NotWritten(f"{stage.name}: updates and tuples")
    (body,) = stage.bodies
    if stage.reduce is None:
        return te.compute(stage.shape, _element(stage, body, made, None), name=stage.name)
    if stage.reduce.op == "argmax":
        return _argmax(stage, made)
    reduced = _reduction(stage, made, f"{stage.name}_reduced")
    if isinstance(body, Result):
        return reduced
    return te.compute(stage.shape, _element(stage, body, made, reduced), name=stage.name)


def _reduction(stage: Stage, made: dict[int, Any], name: str) -> Any:
    reduce = stage.reduce
    assert reduce is not None
    if reduce.op not in REDUCERS or len(reduce.values) != 1:
        raise NotWritten(f"{stage.name}: the reduction {reduce.op}")
    over = {id(axis): te.reduce_axis((0, axis.extent), name=axis.name) for axis in reduce.axes}

    def value(*axes: Any) -> Any:
        places = dict(zip(map(id, stage.axes), axes, strict=True)) | over
        return REDUCERS[str(reduce.op)](_written(reduce.values[0], places, made, None), axis=[*over.values()])

    return te.compute(stage.shape, value, name=name)


def _argmax(stage: Stage, made: dict[int, Any]) -> Any:
    """TVM has a function for the places of the greatest elements of one array."""
    reduce = stage.reduce
    assert isinstance(reduce, Reduce)
    load = next(value for value in reduce.values if isinstance(value, Load))
    (axis,) = reduce.axes
    dim = next(n for n, index in enumerate(load.indices) if index is axis)
    return topi.argmax(made[id(load.tensor)], axis=dim)


def _element(stage: Stage, body: Expr, made: dict[int, Any], reduced: Any) -> Callable[..., Any]:
    def value(*axes: Any) -> Any:
        result = None if reduced is None else reduced[axes]
        return _written(body, dict(zip(map(id, stage.axes), axes, strict=True)), made, result)

    return value


def _written(expr: Expr, places: dict[int, Any], made: dict[int, Any], result: Any) -> Any:
    """An expression of ours as one of TVM's."""

    def write(e: Expr) -> Any:
        match e:
            case Axis():
                return places[id(e)]
            case Const():
                return tirx.const(e.value, e.dtype)
            case Result():
                return result
            case Load():
                return made[id(e.tensor)][tuple(map(write, e.indices))]
            case Binary() if e.op in BINARY:
                return BINARY[e.op](write(e.a), write(e.b))
            case Unary() if e.op == "neg":
                return -write(e.a)
            case Cast():
                return write(e.value).astype(e.dtype)
            case Select():  # what is not taken may lie outside an array
                return tirx.if_then_else(write(e.cond), write(e.a), write(e.b))
            case Call() if hasattr(tirx, e.fn):
                return getattr(tirx, e.fn)(*map(write, e.args))
        raise NotWritten(f"`{e}`")

    return write(expr)

"""Random small definitions, and the plainest possible way to evaluate one: element by element, in Python."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.language import builders
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Result,
    Select,
    Unary,
)
from loopwright.sched.language.stage import Input, Stage
from loopwright.sched.language.workload import Workload

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float16", "float64", "int32", "int8", "uint8", "int64")
PLAIN = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}


def scalar(expr: Expr, at: dict[Axis, int], tensors: dict[int, Array], result: Any = None) -> Any:
    """The value of an expression at one point, by NumPy scalars."""
    kind = np.dtype(expr.dtype).type
    match expr:
        case Const():
            return kind(expr.value)
        case Axis():
            return kind(at[expr])
        case Result():
            return result
        case Load():
            indices = [int(scalar(index, at, tensors, result)) for index in expr.indices]
            held = [
                min(max(index, 0), size - 1) for index, size in zip(indices, expr.tensor.shape, strict=True)
            ]
            return tensors[id(expr.tensor)][tuple(held)]
        case Binary():
            a, b = (scalar(part, at, tensors, result) for part in (expr.a, expr.b))
            return kind(PLAIN[expr.op](a, b))
        case Unary(op="neg"):
            return kind(-scalar(expr.a, at, tensors, result))
        case Cast():
            return np.asarray(scalar(expr.value, at, tensors, result)).astype(kind)[()]
        case Select():
            return scalar(expr.a if scalar(expr.cond, at, tensors, result) else expr.b, at, tensors, result)
        case Call(fn="abs"):
            return abs(scalar(expr.args[0], at, tensors, result))
    raise AssertionError(f"no plain way to evaluate {type(expr).__name__} {expr}")


def plain_stage(stage: Stage, tensors: dict[int, Array]) -> Array:
    """A stage, point by point; floats are summed exactly."""
    out = np.empty(stage.shape, stage.dtype)
    for point in np.ndindex(stage.shape):
        at = dict(zip(stage.axes, point, strict=True))
        result = None
        if stage.reduce is not None:
            over = stage.reduce.axes
            runs = itertools.product(*(range(axis.extent) for axis in over))
            terms = [
                scalar(stage.reduce.value, at | dict(zip(over, run, strict=True)), tensors) for run in runs
            ]
            result = reduced(stage.reduce.op, terms, stage.reduce.dtype)
        out[point] = scalar(stage.body, at, tensors, result)
    return out


def reduced(op: str, terms: list[Any], dtype: str) -> Any:
    """A reduction of scalars."""
    kind = np.dtype(dtype).type
    if op == "sum" and np.issubdtype(kind, np.floating):
        return kind(math.fsum(float(term) for term in terms))
    if op == "sum":
        return np.asarray(terms, kind).sum(dtype=kind)
    return kind(max(terms) if op == "max" else min(terms))


def plain_evaluation(work: Workload, arrays: list[Array]) -> tuple[Array, ...]:
    """Every output of a workload, point by point."""
    tensors = {id(tensor): array for tensor, array in zip(work.inputs, arrays, strict=True)}
    with np.errstate(all="ignore"):
        for stage in work.stages:
            tensors[id(stage)] = plain_stage(stage, tensors)
    return tuple(tensors[id(stage)] for stage in work.outputs)


@st.composite
def elements(draw: st.DrawFn, tensors: list[Any], axes: tuple[Axis, ...], depth: int = 3) -> Expr:
    """An expression of loads and axes; every index may leave its tensor, and is clamped where it does."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(leaves(tensors, axes))
    inner = elements(tensors, axes, depth - 1)
    match draw(st.sampled_from(("add", "sub", "mul", "min", "max", "select", "cast", "neg", "number"))):
        case "select":
            a, b = draw(inner), draw(inner)
            return lw.select(draw(inner) < draw(inner), a, b)
        case "cast":
            # Float to integer is left out: what does not fit is unspecified.
            value = draw(inner)
            wider = (
                ("float32", "float64") if value.dtype.startswith("float") else ("int32", "int8", "float32")
            )
            return lw.cast(draw(st.sampled_from(wider)), value)
        case "neg":
            return -draw(inner)
        case "number":
            return draw(inner) + draw(st.integers(0, 5))
        case op:
            a, b = draw(inner), draw(inner)
            if op in ("min", "max"):
                return (builders.min if op == "min" else builders.max)(a, b)
            return {"add": a + b, "sub": a - b, "mul": a * b}[op]


@st.composite
def leaves(draw: st.DrawFn, tensors: list[Any], axes: tuple[Axis, ...]) -> Expr:
    """An axis, or a load with affine indices."""
    if axes and draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(axes))
    tensor = draw(st.sampled_from(tensors))
    return tensor[tuple(draw(indices(axes, size)) for size in tensor.shape)]


@st.composite
def indices(draw: st.DrawFn, axes: tuple[Axis, ...], size: int) -> Expr:
    """An index into a dimension of some size, held inside it."""
    index = lw.const(draw(st.integers(0, size - 1)), "int32")
    for axis in axes:
        index = index + axis * draw(st.sampled_from((0, 0, 1, 1, 2, -1)))
    return builders.clip(index, 0, size - 1) if draw(st.booleans()) else index % size


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A workload of one or two stages, with or without a reduction."""
    kinds = draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=3))
    shapes = [draw(st.lists(st.integers(1, 5), min_size=0, max_size=2)) for _ in kinds]
    tensors: list[Any] = [
        Input(f"A{n}", tuple(shape), kind) for n, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
    ]
    inputs = list(tensors)
    outputs: list[Stage] = []
    for n in range(draw(st.integers(1, 2))):
        shape = tuple(draw(st.lists(st.integers(0, 4), min_size=0, max_size=2)))
        k = lw.reduce_axis("k", draw(st.integers(1, 6)))
        over = draw(st.sampled_from((None, "sum", "max", "min")))

        def value(*axes: Axis, over: str | None = over, k: Axis = k) -> Expr:
            if over is None:
                return draw(elements(tensors, axes))
            inner = draw(elements(tensors, (*axes, k)))
            total = getattr(builders, over)(inner, over=k)
            return lw.max(total, draw(st.integers(0, 3))) if draw(st.booleans()) else total

        stage = lw.compute(f"S{n}", shape, value)
        outputs.append(stage)
        if 0 not in stage.shape and stage.dtype != "bool":
            tensors.append(stage)
    return Workload("random", {}, inputs, outputs)

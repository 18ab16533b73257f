"""Indices whose range our interval arithmetic sees too wide: simplified by TVM, or evaluated at every point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import ir, sym
from tvm.ir.prim.expr import IntImm
from tvm_ffi import structural_equal

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Select, Unary, walk
from loopwright.sched.language.extents import known
from loopwright.sched.language.interval import index_range

MOST_POINTS = 1 << 18
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "mod": np.mod, "min": np.minimum,
    "max": np.maximum, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def simplified(expr: Any, variables: dict[Any, Expr]) -> Any | None:
    """``expr`` simplified by TVM over the ranges of the variables, or None where that says nothing new."""
    analyzer = sym.Analyzer()
    for var, value in variables.items():
        span = index_range(value)
        dtype = str(var.ty.dtype)
        if span is not None and dtype in ("int32", "int64"):
            low, extent = IntImm(dtype, span[0]), IntImm(dtype, span[1] - span[0] + 1)
            analyzer.bind(var, ir.Range.from_min_extent(low, extent))
    shorter = analyzer.simplify(expr)
    return None if structural_equal(shorter, expr) else shorter


def always_inside(index: Expr, size: int) -> bool:
    """Whether an index of axes alone lies in ``0 .. size - 1`` at every point of its axes.

    What a select decides (``select(i < 1, 1 - i, i - 1)`` of a mirrored border) escapes interval arithmetic; the axes
    of one index are few, so every point is tried.
    """
    axes = list(dict.fromkeys(e for e in walk(index) if isinstance(e, Axis)))
    points = math.prod(axis.extent for axis in axes)
    if not 0 < points <= MOST_POINTS:
        return False
    grid = np.ix_(*(np.arange(known(axis.extent), dtype="int64") for axis in axes))
    values = evaluated(index, dict(zip(axes, grid, strict=True)))
    return values is not None and bool(np.all((values >= 0) & (values < size)))


def evaluated(expr: Expr, axes: dict[Axis, Any]) -> Any | None:
    """The values of an integer expression at every point; None for one that reads data, or divides by zero."""
    match expr:
        case Const():
            return np.asarray(expr.value)
        case Axis():
            return axes[expr]
        case Cast() if dtypes.is_integer(expr.value.dtype) and expr.dtype in ("int32", "int64"):
            return evaluated(expr.value, axes)
        case Unary(op="neg"):
            a = evaluated(expr.a, axes)
            return None if a is None else -a
        case Select():
            cond, a, b = (evaluated(e, axes) for e in (expr.cond, expr.a, expr.b))
            return None if cond is None or a is None or b is None else np.where(cond, a, b)
        case Binary() if expr.op in OPERATIONS:
            a, b = evaluated(expr.a, axes), evaluated(expr.b, axes)
            if a is None or b is None or (expr.op in ("floordiv", "mod") and not np.all(b)):
                return None
            return OPERATIONS[expr.op](a, b)
    return None

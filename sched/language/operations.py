"""How much arithmetic a workload is, as its formula says it."""

from __future__ import annotations

from math import prod

from loopwright.sched.language.expr import Binary, Call, Expr, Unary, children
from loopwright.sched.language.extents import known_shape
from loopwright.sched.language.workload import Workload

_ARITHMETIC = frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "pow"))


def operations(work: Workload) -> int:
    """The number of arithmetic operations of the formula: for a matrix multiplication, ``2 * M * N * K``.

    A mathematical function counts as one, an index calculation as none, a stage as often as it has elements, an update as
    often as it has points.

    >>> from loopwright.sched.language.builders import compute, input, reduce_axis, sum
    >>> from loopwright.sched.language.operator import operator
    >>> @operator
    ... def dot(N: int):
    ...     x, k = input("x", (N,)), reduce_axis("k", N)
    ...     return compute("y", (1,), lambda i: sum(x[k] * x[k], over=k))
    >>> operations(dot(N=100))
    200
    """
    total = 0
    for stage in work.stages:
        updates = stage.updating is not None
        points = prod(known_shape(axis.extent for axis in (stage.all_axes if updates else stage.axes)))
        total += points * sum(map(_count, stage.bodies))
        if stage.reduce is not None:
            steps = prod(known_shape(axis.extent for axis in stage.reduce.axes))
            total += points * steps * sum(1 + _count(value) for value in stage.reduce.values)
    return total


def _count(expr: Expr) -> int:
    # Children of a Load are its indices: no arithmetic of the formula.
    inner = sum(_count(child) for child in children(expr) if type(expr).__name__ != "Load")
    own = (isinstance(expr, Binary) and expr.op in _ARITHMETIC) or isinstance(expr, (Call, Unary))
    return inner + own

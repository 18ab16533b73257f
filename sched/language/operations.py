"""How much arithmetic a workload is, and how many bytes it must move, as its formula says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Call, Expr, Unary, children, loads
from loopwright.sched.language.extents import known_shape
from loopwright.sched.language.nodes import Extent
from loopwright.sched.language.stage import Input, Stage, stage_exprs
from loopwright.sched.language.workload import Workload

_ARITHMETIC = frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "pow"))


@dataclass(frozen=True)
class Demand:
    """What one call of a workload asks of a machine, whatever its schedule.

    Attributes:
        operations: see :func:`operations`.
        bytes: that it must read and write at least; see :func:`least_bytes`.
        dtype: the type that most of the arithmetic is done in.
    """

    operations: int
    bytes: int
    dtype: str

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes if self.bytes else 0.0


def demand_of(work: Workload) -> Demand | None:
    """What a workload asks of a machine; None where its formula does not say it: sizes that a call decides, C functions.

    >>> from loopwright import ops
    >>> demand_of(ops.matmul(M=64, N=32, K=16))
    Demand(operations=65536, bytes=14336, dtype='float32')
    """
    if work.sizes or any(stage.routine is not None for stage in work.stages):
        return None
    heaviest = max(work.stages, key=_stage_operations)
    reduced = heaviest.reduce.dtypes[0] if heaviest.reduce is not None else heaviest.dtype
    return Demand(operations(work), least_bytes(work), reduced)


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
    return sum(map(_stage_operations, work.stages))


def least_bytes(work: Workload) -> int:
    """The bytes that any kernel must move: each output is written once, and of each input what is read, once.

    Of an input that is read at fewer places than it has elements (rows that are looked up), no more than these count.

    >>> from loopwright import ops
    >>> least_bytes(ops.add(A=(8, 16), B=(16,)))
    1088
    """
    written = sum(_size(stage.shape) * dtypes.itemsize(stage.dtype) for stage in work.outputs)
    return written + sum(_read(tensor, work.stages) * dtypes.itemsize(tensor.dtype) for tensor in work.inputs)


def _stage_operations(stage: Stage) -> int:
    points = _points(stage.all_axes if stage.updating is not None else stage.axes)
    total = points * sum(map(_count, stage.bodies))
    if stage.reduce is not None:
        total += points * _points(stage.reduce.axes) * sum(1 + _count(value) for value in stage.reduce.values)
    return total


def _read(tensor: Input, stages: Iterable[Stage]) -> int:
    """An upper bound of the elements that are read."""
    places = sum(
        _points(stage.all_axes)
        for stage in stages
        for expr in stage_exprs(stage)
        for load in loads(expr)
        if load.tensor is tensor
    )
    return min(places, _size(tensor.shape))


def _points(axes: Iterable[Axis]) -> int:
    return prod(known_shape(axis.extent for axis in axes))


def _size(shape: Iterable[Extent]) -> int:
    return prod(known_shape(shape))


def _count(expr: Expr) -> int:
    # Children of a Load are its indices: no arithmetic of the formula.
    inner = sum(_count(child) for child in children(expr) if type(expr).__name__ != "Load")
    own = (isinstance(expr, Binary) and expr.op in _ARITHMETIC) or isinstance(expr, (Call, Unary))
    return inner + own

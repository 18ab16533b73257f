"""Axes as a tile wants them: those that run through memory as one are fused, those of which a quotient is read are split.

A 1x1 convolution is a matrix product whose rows are all pixels, once ``y`` and ``x`` are one loop. In a convolution of groups
``x[f // 8 * 4 + c]``, the group and the channel in it are loops of their own, of which only one moves ``x``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import prod

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Load, loads, substitute, walk
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.affine import linear, plus, simplify, times
from loopwright.sched.lowering.prepare import definitions
from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.roles import Operand, Roles, operands_of, roles_from, roles_of
from loopwright.sched.recipes.turned import tiled
from loopwright.sched.scheduling.schedule import Schedule


def refined(schedule: Schedule, name: str) -> tuple[Schedule, Roles]:
    """The stage with its axes fused and split where a tile gains by it, and the roles of the loops that makes.

    >>> from loopwright import ops
    >>> work = ops.batch_matmul(B=2, M=64, N=64, K=64)
    >>> refined(work.schedule(), "C")[0].directives
    ()
    """
    plain = schedule, roles_of(schedule.nests, name)
    definition = definitions(schedule.nests)[name]
    if not plain[1].reduce or schedule.nests.stages[name].relations:
        return plain
    reads = [load for value in definition.innermost for load in loads(value)]
    try:
        s, axes, reads = _split(schedule, name, definition.axes, reads)
        s, axes, operands = _fused(s, name, axes, operands_of(reads))
    except ScheduleError:
        return plain
    if s is schedule:
        return plain
    roles = roles_from(definition.stage, axes, operands)
    return (s, roles) if tiled(roles) or roles.window else plain


def _split(
    s: Schedule, name: str, axes: tuple[Axis, ...], reads: list[Load]
) -> tuple[Schedule, tuple[Axis, ...], list[Load]]:
    """Split each axis of which an operand reads a quotient or a remainder, where the divisor divides it."""
    for axis in axes:
        divisors = {d for load in reads for index in load.indices for d in _divisors(index, axis)}
        if len(divisors) != 1 or not (1 <= (divisor := divisors.pop()) <= known(axis.extent)):
            continue
        if known(axis.extent) % divisor:
            continue
        outer, inner = Names(s.nests.stages[name]).pair(axis.name, "g", "m")
        s = s.split(f"{name}.{axis.name}", (outer, inner), divisor)
        halves = Axis(outer, known(axis.extent) // divisor), Axis(inner, divisor)
        place = plus(times(halves[0], divisor), halves[1])
        axes = tuple(half for a in axes for half in (halves if a is axis else (a,)))
        reads = [
            Load(
                load.tensor,
                tuple(simplify(substitute(i, {axis: place})) for i in load.indices),
                load.dtype,
                load.part,
            )
            for load in reads
        ]
    return s, axes, reads


def _divisors(index: Expr, axis: Axis) -> set[int]:
    """The numbers that an index divides an axis by, alone or with a number added to it."""
    return {
        int(e.b.value)
        for e in walk(index)
        if isinstance(e, Binary)
        and e.op in ("floordiv", "mod")
        and isinstance(e.b, Const)
        and _alone(axis, e.a)
    }


def _alone(axis: Axis, index: Expr) -> bool:
    """Whether an index is an axis, perhaps with a number added."""
    terms = list(linear(index).terms.values())
    return len(terms) == 1 and terms[0][0] is axis and terms[0][1] == 1


def _fused(
    s: Schedule, name: str, axes: tuple[Axis, ...], operands: tuple[Operand, ...]
) -> tuple[Schedule, tuple[Axis, ...], tuple[Operand, ...]]:
    """Fuse neighbouring axes as long as every operand, and the output, runs through them as through one."""
    merged = True
    while merged:
        merged = False
        for a, b in pairwise(axes):
            if known(a.extent) == 1 or known(b.extent) == 1 or not all(as_one(o, a, b) for o in operands):
                continue
            fused = Names(s.nests.stages[name]).new(f"{a.name}{b.name}")
            s = s.fuse(f"{name}.{a.name}", f"{name}.{b.name}", fused)
            one = Axis(fused, known(a.extent) * known(b.extent))
            operands = tuple(joined(o, a, b, one) for o in operands)
            axes = tuple(one if axis is a else axis for axis in axes if axis is not b)
            merged = True
            break
    return s, axes, operands


def as_one(operand: Operand, a: Axis, b: Axis) -> bool:
    """Whether an operand has the two as neighbouring dimensions, whole, or neither."""
    if not operand.uses(a) and not operand.uses(b):
        return True
    places = [n for n, dim in enumerate(operand.dims) if a in dim or b in dim]
    return (
        all(operand.whole[n] for n in places)
        and [operand.dims[n] for n in places] == [{a: 1}, {b: 1}]
        and places[1] == places[0] + 1
        and operand.shape[places[1]] == known(b.extent)
    )


def joined(operand: Operand, a: Axis, b: Axis, one: Axis) -> Operand:
    """An operand whose dimensions ``a`` and ``b`` are the one dimension ``one``."""
    if not operand.uses(a):
        return operand
    at = next(n for n, dim in enumerate(operand.dims) if a in dim)
    dims = (*operand.dims[:at], {one: 1}, *operand.dims[at + 2 :])
    shape = (*operand.shape[:at], prod(operand.shape[at : at + 2]), *operand.shape[at + 2 :])
    spans = operand.spans or (1,) * len(operand.dims)
    spans = (*spans[:at], sum(spans[at : at + 2]), *spans[at + 2 :])
    whole = (*operand.whole[:at], True, *operand.whole[at + 2 :])
    return replace(operand, dims=dims, shape=shape, whole=whole, spans=spans)

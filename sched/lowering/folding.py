"""Statements with values for variables, and without what is decided then; loops over a part of their range."""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.language.expr import Axis, Const, Expr, Extent
from loopwright.sched.language.extents import minus, node, surely
from loopwright.sched.language.interval import index_range
from loopwright.sched.lowering.affine import number, plus
from loopwright.sched.lowering.decide import Region, Values
from loopwright.sched.lowering.stmt import (
    Alloc,
    Bind,
    CallStage,
    Clock,
    Fetch,
    For,
    If,
    Let,
    Microkernel,
    Seq,
    Stmt,
    Store,
    seq,
)

NOTHING = Seq(())
ANYWHERE = Region()


def in_range(var: Axis, body: Stmt, first: int, stop: int, part: str) -> Stmt:
    """A body for values of ``var`` in ``first .. stop - 1``, which a condition has made sure of."""
    if stop - first == 1:
        return folded(body, {var: number(first)}, part)
    inside = Axis(var.name, stop - first, var.reduce)
    return Let(inside, plus(var, number(-first)), folded(body, {var: plus(inside, number(first))}, part))


def loop_over(s: For, first: int, stop: int, part: str) -> Stmt:
    """A loop over ``first .. stop - 1`` only."""
    if stop - first == 1:
        return folded(s.body, {s.var: number(first)}, part)
    var = Axis(s.var.name, stop - first, s.var.reduce)
    body = folded(s.body, {s.var: plus(var, number(first))}, part)
    return (
        NOTHING
        if is_nothing(body)
        else replace(s, var=var, extent=var.extent, body=body, part=s.part or part)
    )


def run_over(s: For, var: Axis, body: Stmt, part: str) -> Stmt:
    """A loop with another variable, which runs over another range."""
    if surely(var.extent, 0) or is_nothing(body):
        return NOTHING
    return replace(s, var=var, extent=var.extent, body=body, part=s.part or part)


def run_from(s: For, first: Extent, stop: Extent, body: Stmt, part: str) -> Stmt:
    """A loop over ``first .. stop - 1`` only, which the call knows."""
    var = Axis(s.var.name, minus(stop, first), s.var.reduce)
    return run_over(s, var, NOTHING if is_nothing(body) else Let(s.var, plus(var, node(first)), body), part)


def folded(s: Stmt, values: Values, part: str, like: Region = ANYWHERE) -> Stmt:
    """A statement with values for variables, and without what is decided then; its loops are of ``part``."""
    region = like.over(values)
    match s:
        case Store():
            indices = tuple(region.index(index) for index in s.indices)
            return replace(s, indices=indices, value=region.decided(s.value))
        case Bind():
            return Bind(s.var, region.decided(s.value))
        case Microkernel():
            return replace(
                s,
                out=(region.load(s.out[0]), s.out[1]),
                operands=tuple((region.load(load), steps) for load, steps in s.operands),
                meaning=folded(s.meaning, values, part, like),
            )
        case For():
            body = folded(s.body, values, part, like)
            return NOTHING if is_nothing(body) else replace(s, body=body, part=s.part or part)
        case Let():
            value = region.index(s.value)
            span = index_range(value)
            if span is not None and span[0] >= 0 and _below(span[1], s.var.extent):
                return folded(s.body, {**values, s.var: value}, part, like)
            return Let(s.var, value, folded(s.body, values, part, like))
        case Seq():
            return seq(*(folded(inner, values, part, like) for inner in s.body))
        case If():
            return _folded_if(s, region.index(s.cond), values, part, like)
        case Fetch():
            return Fetch(region.load(s.element))
        case Alloc() | Clock() | CallStage():
            return s
    raise AssertionError(f"no {type(s).__name__} is divided")


def _folded_if(s: If, cond: Expr, values: Values, part: str, like: Region) -> Stmt:
    if isinstance(cond, Const):
        taken = s.then if cond.value else s.otherwise
        return NOTHING if taken is None else folded(taken, values, part, like)
    otherwise = None if s.otherwise is None else folded(s.otherwise, values, part, like)
    then = folded(s.then, values, part, like)
    return (
        NOTHING
        if is_nothing(then) and (otherwise is None or is_nothing(otherwise))
        else replace(s, cond=cond, then=then, otherwise=otherwise)
    )


def _below(number: int, extent: Extent) -> bool:
    return not isinstance(extent, Expr) and number < extent


def is_nothing(s: Stmt) -> bool:
    """Whether a statement does nothing."""
    return isinstance(s, Seq) and not s.body

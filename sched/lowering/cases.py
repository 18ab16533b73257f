"""Kernels with special cases: a version for each condition, and the general one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Binary, Const, Expr, Load, rewrite, structure
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.decide import Region
from loopwright.sched.lowering.stmt import Buffer, If, Program
from loopwright.sched.scheduling.condition import parsed
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.placement import direct_reads


def with_cases(nests: Nests, make: Callable[[Nests, Program | None], Program]) -> Program:
    """The program of nests and of their cases; ``make`` builds one of them, with the arrays of another."""
    conditions = [parsed(case.condition, nests, "specialize") for case in nests.cases]
    general = replace(nests, cases=())
    for condition in conditions:
        general = assumed(general, condition, False)
    program = make(general, None)
    body = program.body
    for condition, case in reversed(list(zip(conditions, nests.cases, strict=True))):
        special = with_cases(
            assumed(case.nests, condition, True), lambda inner, like: make(inner, like or program)
        )
        body = If(_in_arrays(condition, program), special.body, body)
    return replace(program, body=body)


def _in_arrays(condition: Expr, program: Program) -> Expr:
    """A condition on elements of inputs as one on the kernel's arrays."""
    arrays = {buffer.stage: buffer for buffer in program.inputs}
    return rewrite(
        condition,
        lambda e: Load(arrays[e.tensor.name], e.indices, e.dtype) if isinstance(e, Load) else None,
    )


def shared(buffer: Buffer, like: Program | None) -> Buffer:
    """The array of that name in another version of the kernel, if there is one."""
    if like is None:
        return buffer
    return next(other for other in (*like.inputs, *like.outputs) if other.name == buffer.name)


def assumed(nests: Nests, condition: Expr, value: bool) -> Nests:
    """The nests where a condition has a value: what it decides in the formulas is decided."""
    known = _facts(condition, value)

    def decided(expr: Expr) -> Expr:
        replaced = rewrite(expr, lambda e: known.get(structure(e)))
        return expr if structure(replaced) == structure(expr) else Region().decided(replaced)

    stages = {}
    for name, nest in nests.stages.items():
        stage = _rewritten(nest.stage, decided)
        # Where stages stand rests on what they read of each other: that stays as it is.
        if _stages_read(nests, stage) == _stages_read(nests, nest.stage):
            nest = nest.with_(stage=stage)
        stages[name] = nest
    return replace(nests, stages=stages)


def _stages_read(nests: Nests, stage: Stage) -> set[str]:
    return {name for part in direct_reads(stage) for name in part if name in nests.stages}


def _facts(condition: Expr, value: bool) -> dict[object, Expr]:
    """What is known where a condition has a value, by the structure of expressions."""
    found: dict[object, Expr] = {structure(condition): Const(value, "bool")}
    match condition:
        case Binary(op="and") if value:
            found |= _facts(condition.a, True) | _facts(condition.b, True)
        case Binary(op="or") if not value:
            found |= _facts(condition.a, False) | _facts(condition.b, False)
        case Binary(op="eq", a=Load(), b=Const()) if value and dtypes.is_integer(condition.a.dtype):
            found[structure(condition.a)] = condition.b
    return found


def _rewritten(stage: Stage, change: Callable[[Expr], Expr]) -> Stage:
    reduce = stage.reduce
    if reduce is not None:
        reduce = replace(reduce, values=tuple(map(change, reduce.values)))
    return replace(stage, bodies=tuple(map(change, stage.bodies)), reduce=reduce)

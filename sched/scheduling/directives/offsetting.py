"""The directive that stores bytes with another sign, and corrects the sums they are in: offset."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reduce,
    Result,
    rewrite,
    substitute,
    walk,
)
from loopwright.sched.language.stage import Stage
from loopwright.sched.scheduling import checks, checks_offset
from loopwright.sched.scheduling.address import find_stage
from loopwright.sched.scheduling.checks_offset import byte
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.directives.caching import as_type
from loopwright.sched.scheduling.nest import Nests, StageNest, plain_loops

# A byte of either sign -> the other type, in which the same number is stored with this much added.
OTHER = {"int8": ("uint8", 128), "uint8": ("int8", -128)}


def offset(nests: Nests, stage: str, tensor: str, name: str | None = None) -> Nests:
    """Store the bytes of a copy with another sign, 128 apart, and correct the sum of products that reads it.

    For instructions that multiply unsigned bytes by signed ones. What the sum is off by depends on the other factor alone, and is
    a new stage ``name`` (``C_offset``) with loops of its own. It is exact: integers wrap.

    Before::

        for i in 64:
            for k in 100:
                A_rows[i, k] = A[i, k]
        for i in 64:
            for j in 32:
                for k in 100:
                    C[i, j] += int32(A_rows[i, k]) * int32(B[k, j])

    After ``offset("C", "A_rows")``, where ``A`` is int8::

        for i in 64:
            for k in 100:
                A_rows[i, k] = uint8(A[i, k] ^ -128)            # A[i, k] + 128
        for j in 32:
            for k in 100:
                C_offset[j] += int32(B[k, j])
            C_offset[j] = C_offset[j] * 128
        for i in 64:
            for j in 32:
                for k in 100:
                    C[i, j] += int32(A_rows[i, k]) * int32(B[k, j])
                C[i, j] = C[i, j] - C_offset[j]
    """
    where = f"offset {stage}"
    nest, copy = find_stage(nests, stage, where), find_stage(nests, tensor, where)
    checks_offset.check_bytes(where, copy)
    checks_offset.check_read_alone(where, nests, nest, copy)
    rest = checks_offset.check_product(where, nest, copy)
    name = f"{stage}_offset" if name is None else name
    checks.check_new_stage(where, nests, name)
    shifted, correction, corrected = _shifted(nest.stage, copy.stage, rest, name)
    stages: dict[str, StageNest] = {}
    for other in nests.stages.values():
        if other is nest:
            stages[name] = StageNest(correction, plain_loops(correction))
            other = nest.with_(stage=corrected)
        stages[other.name] = copy.with_(stage=shifted) if other is copy else other
    result = replace(nests, stages=stages)
    check_places(where, result)
    return result


@lru_cache(maxsize=1024)
def _shifted(stage: Stage, copy: Stage, rest: Expr, name: str) -> tuple[Stage, Stage, Stage]:
    """The copy with the other sign, the stage of what the sum is off by, and the stage that takes it off."""
    reduce = stage.reduce
    assert reduce is not None and isinstance(reduce.value, Binary)
    other, by = OTHER[copy.dtype]
    # The highest bit is -128 in an int8 and 128 in a uint8.
    flipped = Binary("bitxor", copy.body, Const(-by, copy.dtype), copy.dtype)
    shifted = replace(copy, bodies=(Cast(flipped, other),), dtypes=(other,))
    load = byte(reduce.value.a if rest is reduce.value.b else reduce.value.b)
    element = Cast(Load(shifted, load.indices, other), reduce.dtype)
    product = Binary("mul", element, as_type(rest, reduce.dtype), reduce.dtype)
    correction = _correction(stage, rest, by, name)
    off = Load(correction, tuple(axis for axis in stage.axes if axis in _axes(rest)), reduce.dtype)

    def told(e: Expr) -> Expr | None:
        return Binary("sub", e, off, reduce.dtype) if isinstance(e, Result) else None

    bodies = tuple(rewrite(body, told) for body in stage.bodies)
    return shifted, correction, replace(stage, bodies=bodies, reduce=replace(reduce, values=(product,)))


def _correction(stage: Stage, rest: Expr, by: int, name: str) -> Stage:
    """``by`` times the sum of the other factor, for all the axes that move it."""
    reduce = stage.reduce
    assert reduce is not None
    kept = tuple(Axis(axis.name, axis.extent) for axis in stage.axes if axis in _axes(rest))
    over = tuple(Axis(axis.name, axis.extent, True) for axis in reduce.axes)
    old = [*(axis for axis in stage.axes if axis in _axes(rest)), *reduce.axes]
    mine: dict[Axis, Expr] = dict(zip(old, (*kept, *over), strict=True))
    total = Reduce("sum", (as_type(substitute(rest, mine), reduce.dtype),), over, (reduce.dtype,))
    scale = Const(by % 2**32 if reduce.dtype == "uint32" else by, reduce.dtype)
    scaled = Binary("mul", Result(reduce.dtype), scale, reduce.dtype)
    return Stage(name, kept, (scaled,), total, (reduce.dtype,))


def _axes(e: Expr) -> set[Expr]:
    return {inner for inner in walk(e) if isinstance(inner, Axis)}

"""Directives on a stage's buffer: set_scope, storage_align, pad."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_stage
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_update import AS_ITS_BASE, check_not_update, check_not_updated
from loopwright.sched.scheduling.directives.caching import reading_instead
from loopwright.sched.scheduling.nest import Align, Nests
from loopwright.sched.scheduling.padding import longer, vanishes
from loopwright.sched.scheduling.placement import readers


def set_scope(nests: Nests, stage: str, scope: Any) -> Nests:
    """Keep a stage's values in another memory. ``local``: of the thread that computes them, on a CPU its stack if they fit.

    Before::

        buffer bx: float32[34, 64] global

    After ``set_scope("bx", "local")``::

        buffer bx: float32[34, 64] local
    """
    where = f"set_scope {stage}"
    checks.check_scope(where, scope)
    nest = find_stage(nests, stage, where)
    check_not_update(where, nest, AS_ITS_BASE)
    checks.check_not_inline(where, nest)
    checks.check_not_output(
        where, nests, nest, "and lies where the caller says; cache_write gives it a buffer"
    )
    return nests.with_stage(nest.with_(scope=scope))


def storage_align(nests: Nests, stage: str, axis: str, factor: int, offset: int = 0) -> Nests:
    """Let rows of a buffer lie apart: the step from one index of ``axis`` to the next is ``offset`` modulo ``factor``.

    With an offset of 0 rows begin at multiples of ``factor``, such as that of a vector. With another, columns do not all fall
    into the same sets of the cache. The elements between rows are never read.

    Before::

        buffer T: float32[100, 100] global            # a row every 100 elements

    After ``storage_align("T", "i", 16)``::

        buffer T: float32[100, 100] global, a step of i is 112 elements
    """
    where = f"storage_align {stage}"
    nest = find_stage(nests, stage, where)
    check_not_update(where, nest, AS_ITS_BASE)
    checks.check_not_inline(where, nest)
    checks.check_not_output(
        where, nests, nest, "and is stored as the caller expects; cache_write gives it a buffer"
    )
    checks.check_number(where, "factor", factor, checks.MOST_ITERATIONS)
    checks_rewrite.check_offset(where, factor, offset)
    name = checks_rewrite.check_dimension(where, nest, axis)
    others = tuple(a for a in nest.align if a.dimension != name)
    return nests.with_stage(nest.with_(align=(*others, Align(name, factor, offset))))


def pad(nests: Nests, stage: str, axis: str, factor: int) -> Nests:
    """Make an axis longer, to a multiple of ``factor``, so that splits of it leave no tail.

    Elements beyond the old end are zero; nobody asks for them but stages that are padded themselves. An output's own axes stay
    as they are. A reduction axis gets terms that change nothing: those beyond the old end are left out, or, where they are
    products of elements that are padded with zeros, added as they are, with no condition. (``tail="pad"`` of a split
    pads only accumulators, and the copies they read.)

    Before::

        for k in 11:
            for j in 40:
                Bp[k, j] = B[k, j]
        for j in 40:
            for k in 11:
                C[j] += A[k] * Bp[k, j]

    After ``pad("Bp", "k", 4)`` and ``pad("C", "k", 4)``, for integers::

        for k in 12:
            for j in 40:
                Bp[k, j] = select(k < 11, B[k, j], 0)
        for j in 40:
            for k in 12:
                C[j] += A[min(k, 10)] * Bp[k, j]
    """
    where = f"pad {stage}.{axis}"
    nest = find_stage(nests, stage, where)
    checks.check_not_inline(where, nest)
    check_not_updated(where, nests, nest, "and what is beyond its end would be, too")
    checks.check_number(where, "factor", factor, checks.MOST_ITERATIONS)
    old = checks_rewrite.check_axis(where, nest, axis)
    extent = checks_rewrite.check_known(where, nest, old)
    if not old.reduce:
        checks.check_not_output(
            where, nests, nest, "whose shape the caller expects; tail='pad' pads its accumulators"
        )
    padded = -(-extent // factor) * factor
    if padded == extent:
        return nests
    reduce = nest.stage.reduce
    guarded = reduce is not None and not vanishes(nests, reduce, old)
    changed = longer(nest.stage, axis, padded, guarded)
    reading = readers(nests, stage)
    stages = {
        name: other.with_(stage=reading_instead(other.stage, stage, changed)) if name in reading else other
        for name, other in nests.stages.items()
    }
    result = replace(nests, stages={**stages, stage: nest.with_(stage=changed)})
    check_places(where, result)
    return result

"""Directives on a stage's buffer: set_scope, storage_align."""

from __future__ import annotations

from typing import Any

from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_stage
from loopwright.sched.scheduling.checks_update import AS_ITS_BASE, check_not_update
from loopwright.sched.scheduling.nest import Align, Nests


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

"""Directives on doing things ahead of time: double_buffer, pipeline, prefetch."""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import find_loop, find_stage
from loopwright.sched.scheduling.checks_ahead import check_ahead
from loopwright.sched.scheduling.nest import Nests, Prefetch

MOST_STAGES = 8
MOST_DISTANCE = 4096


def double_buffer(nests: Nests, stage: str) -> Nests:
    """Give a stage two buffers, which successive iterations of the loop it is computed at fill in turn.

    So what an iteration has filled stays as it is while the next one fills the other: :func:`pipeline` needs that, and makes
    as many buffers as it has stages by itself.

    Before::

        for ko in 25:
            for k in 8:
                A_local[k] = A[ko*8 + k]
            for ki in 8:
                C += A_local[ki] * ...

    After ``double_buffer("A_local")``::

        for ko in 25:
            for k in 8:
                A_local[ko % 2, k] = A[ko*8 + k]
            for ki in 8:
                C += A_local[ko % 2, ki] * ...
    """
    where = f"double_buffer {stage}"
    nest = find_stage(nests, stage, where)
    checks.check_not_inline(where, nest)
    result = nests.with_stage(nest.with_(copies=2))
    check_ahead(where, result)
    return result


def pipeline(nests: Nests, loop: str, stages: int = 2) -> Nests:
    """Compute what stands at the head of a loop ``stages - 1`` iterations ahead of the rest of its body.

    The loads of the next iteration are on their way while this one computes. Each stage at the head has ``stages`` buffers,
    which the iterations fill in turn.

    Before::

        for ko in 25:
            for k in 8:
                A_local[k] = A[ko*8 + k]
            for ki in 8:
                C += A_local[ki] * ...

    After ``pipeline("C.ko")``::

        for k in 8:
            A_local[0, k] = A[k]
        for ko in 24:
            for k in 8:
                A_local[(ko + 1) % 2, k] = A[(ko + 1)*8 + k]
            for ki in 8:
                C += A_local[ko % 2, ki] * ...
        for ki in 8:
            C += A_local[0, ki] * ...
    """
    where = f"pipeline {loop}"
    nest, old = find_loop(nests, loop, where)
    checks.check_serial(where, nest, old)
    checks.check_number(where, "number of stages", stages, MOST_STAGES)
    if stages == 1:
        raise ScheduleError(f"{where}: one stage is the loop as it is; give 2 or more")
    piped = replace(old, kind="pipeline", stages=stages)
    changed = nest.with_(loops=tuple(piped if other is old else other for other in nest.loops))
    result = nests.with_stage(changed)
    check_ahead(where, result)
    return result


def prefetch(nests: Nests, tensor: str, at: str, distance: int = 1) -> Nests:
    """Bring into the cache what the iteration of loop ``at`` that is ``distance`` ahead will read of an input or a stage.

    One instruction for each cache line; past the end, what the last iteration reads. It helps where the hardware does not
    see the pattern by itself: rows far apart, short rows.

    Before::

        for i in 500:
            for k in 200:
                C[i] += A[i, k]

    After ``prefetch("A", at="C.i", distance=2)``::

        for i in 500:
            for line in 13:
                prefetch A[min(i + 2, 499), line*16]
            for k in 200:
                C[i] += A[i, k]
    """
    where = f"prefetch {tensor}"
    if nests.tensor(tensor) is None:
        known = ", ".join([*(t.name for t in nests.inputs), *nests.stages])
        raise ScheduleError(f"{where}: there is no tensor {tensor!r}; there are {known}")
    nest, loop = find_loop(nests, at, where)
    checks.check_number(where, "distance", distance, MOST_DISTANCE)
    made = Prefetch(tensor, loop.name, distance)
    result = nests.with_stage(nest.with_(prefetches=(*nest.prefetches, made)))
    check_ahead(where, result)
    return result

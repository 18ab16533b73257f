"""Directives on how one loop runs: vectorize, parallel, unroll. They come last: a loop with a kind stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import LANES, OUTER, find_loop, shown
from loopwright.sched.scheduling.checks_place import check_kinds
from loopwright.sched.scheduling.checks_storage import check_storage
from loopwright.sched.scheduling.checks_update import check_update_kinds
from loopwright.sched.scheduling.directives.loops import split_loop
from loopwright.sched.scheduling.nest import Loop, Nests, StageNest


def vectorize(nests: Nests, loop: str, width: int | None = None) -> Nests:
    """Run a loop's iterations in the lanes of vector instructions; with ``width``, so many at a time.

    Before::

        for j in 300:
            C[j] = A[j] + B[j]

    After ``vectorize("C.j", 16)``, which leaves the halves ``C.j`` and ``C.j.v``::

        for j in 19:              # the last: 12 lanes
            C[j*16 : j*16+16] = A[j*16 : j*16+16] + B[j*16 : j*16+16]
    """
    where = f"vectorize {loop}"
    nest, old = find_loop(nests, loop, where)
    checks.check_serial(where, nest, old)
    checks.check_spatial(where, nest, old, "vectorized")
    checks.check_one_vector_loop(where, nest)
    if width is None:
        checks.check_lanes(where, nest, old)
        changed = _with_kind(nest, old.name, "vectorize")
    else:
        checks.check_number(where, "width", width, checks.MOST_LANES)
        outer, lanes = shown(old.name) + OUTER, shown(old.name) + LANES
        if lanes in nest.all_names():
            raise ScheduleError(
                f"{where}: {nest.name}.{lanes} was used already, and a name is never used twice; leave out the width"
            )
        checks.check_not_in_layout(where, nest, (old.name,))
        changed = _with_kind(split_loop(nest, old, (outer, lanes), width, "auto"), lanes, "vectorize")
        nests = _moved(nests, nest.name, old.name, outer)
    checks.check_parallel_nesting(where, changed)
    check_update_kinds(where, changed)
    result = nests.with_stage(changed)
    check_kinds(where, result)
    return result


def _moved(nests: Nests, stage: str, old: str, new: str) -> Nests:
    """What was computed at the whole loop is now computed at its outer half."""
    for nest in nests.stages.values():
        if (nest.place.stage, nest.place.loop) == (stage, old):
            nest = nest.with_(place=replace(nest.place, loop=new))
        if nest.stored is not None and (nest.stored.stage, nest.stored.loop) == (stage, old):
            nest = nest.with_(stored=replace(nest.stored, loop=new))
        nests = nests.with_stage(nest)
    return nests


def parallel(nests: Nests, loop: str) -> Nests:
    """Share a loop's iterations out over the target's threads.

    Before::

        for io in 63:

    After ``parallel("C.io")``::

        parallel io in 63:
    """
    where = f"parallel {loop}"
    nest, old = find_loop(nests, loop, where)
    checks.check_serial(where, nest, old)
    checks.check_spatial(where, nest, old, "parallel")
    changed = _with_kind(nest, old.name, "parallel")
    checks.check_parallel_nesting(where, changed)
    check_update_kinds(where, changed)
    result = nests.with_stage(changed)
    check_kinds(where, result)
    check_storage(where, result)
    return result


def unroll(nests: Nests, loop: str) -> Nests:
    """Write a loop's body out once for each iteration.

    Before::

        for ii in 4:
            C[ii] += A[ii]

    After ``unroll("C.ii")``::

        C[0] += A[0]
        C[1] += A[1]
        C[2] += A[2]
        C[3] += A[3]
    """
    where = f"unroll {loop}"
    nest, old = find_loop(nests, loop, where)
    checks.check_serial(where, nest, old)
    changed = _with_kind(nest, old.name, "unroll")
    checks.check_copies(where, changed)
    return nests.with_stage(changed)


def _with_kind(nest: StageNest, name: str, kind: Any) -> StageNest:
    loops: list[Loop] = [replace(loop, kind=kind) if loop.name == name else loop for loop in nest.loops]
    return nest.with_(loops=tuple(loops))

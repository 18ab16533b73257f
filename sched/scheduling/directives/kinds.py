"""Directives on how one loop runs: vectorize, parallel, unroll. They come last: a loop with a kind stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import COPIES, GRAIN, LANES, OUTER, find_loop, shown
from loopwright.sched.scheduling.checks_place import check_places
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
        changed = with_kind(nest, old.name, "vectorize")
    else:
        nests, changed = _in_groups(where, nests, nest, old, "width", width, LANES)
        changed = with_kind(changed, shown(old.name) + LANES, "vectorize")
    checks.check_parallel_nesting(where, changed)
    check_update_kinds(where, changed)
    result = nests.with_stage(changed)
    check_places(where, result)
    return result


def _in_groups(
    where: str, nests: Nests, nest: StageNest, old: Loop, what: str, count: int, suffix: str
) -> tuple[Nests, StageNest]:
    """The nest with a loop run ``count`` iterations at a time. Its halves are ``C.j`` and, by the suffix, ``C.j.v``; what was
    computed, stored or fetched at the whole loop now is so at its outer half."""
    checks.check_number(where, what, count, checks.MOST_LANES)
    outer, inner = shown(old.name) + OUTER, shown(old.name) + suffix
    if outer in nest.all_names():
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(old.name)} is the outer half of such a pair already; "
            f"split it, with names of your own"
        )
    if inner in nest.all_names():
        raise ScheduleError(
            f"{where}: {nest.name}.{inner} was used already, and a name is never used twice; leave out the {what}"
        )
    checks.check_not_in_layout(where, nest, (old.name,))
    for other in nests.stages.values():
        if (other.place.stage, other.place.loop) == (nest.name, old.name):
            other = other.with_(place=replace(other.place, loop=outer))
        if other.stored is not None and (other.stored.stage, other.stored.loop) == (nest.name, old.name):
            other = other.with_(stored=replace(other.stored, loop=outer))
        nests = nests.with_stage(other)
    fetches = (replace(p, loop=outer) if p.loop == old.name else p for p in nest.prefetches)
    halves = split_loop(nest, old, (outer, inner), count, "auto")
    return nests, halves.with_(prefetches=tuple(fetches))


def parallel(nests: Nests, loop: str, grain: int | None = None) -> Nests:
    """Share a loop's iterations out over the target's threads; with ``grain``, so many together.

    Before::

        for io in 63:

    After ``parallel("C.io")``::

        parallel io in 63:

    After ``parallel("C.io", grain=4)``, which leaves the halves ``C.io`` and ``C.io.g``::

        parallel io in 16:
            for io.g in 4:        # the last: 3
    """
    where = f"parallel {loop}"
    nest, old = find_loop(nests, loop, where)
    checks.check_serial(where, nest, old)
    checks.check_spatial(where, nest, old, "parallel")
    changed, name = nest, old.name
    if grain is not None:
        nests, changed = _in_groups(where, nests, nest, old, "grain", grain, GRAIN)
        name = shown(old.name) + OUTER
    changed = with_kind(changed, name, "parallel")
    checks.check_parallel_nesting(where, changed)
    check_update_kinds(where, changed)
    result = nests.with_stage(changed)
    check_places(where, result)
    return result


def unroll(nests: Nests, loop: str, factor: int | None = None) -> Nests:
    """Write a loop's body out once for each iteration; with ``factor``, for so many at a time.

    Before::

        for ii in 4:
            C[ii] += A[ii]

    After ``unroll("C.ii")``::

        C[0] += A[0]
        C[1] += A[1]
        C[2] += A[2]
        C[3] += A[3]

    After ``unroll("C.ii", 2)``, which leaves the halves ``C.ii`` and ``C.ii.u``::

        for ii in 2:
            C[ii*2] += A[ii*2]
            C[ii*2 + 1] += A[ii*2 + 1]
    """
    where = f"unroll {loop}"
    nest, old = find_loop(nests, loop, where)
    checks.check_serial(where, nest, old)
    changed, name = nest, old.name
    if factor is not None:
        nests, changed = _in_groups(where, nests, nest, old, "factor", factor, COPIES)
        name = shown(old.name) + COPIES
    changed = with_kind(changed, name, "unroll")
    result = nests.with_stage(changed)
    checks.check_copies(where, result, changed)
    check_places(where, result)
    return result


def with_kind(nest: StageNest, name: str, kind: Any) -> StageNest:
    """The nest with a loop of another kind."""
    loops: list[Loop] = [replace(loop, kind=kind) if loop.name == name else loop for loop in nest.loops]
    return nest.with_(loops=tuple(loops))

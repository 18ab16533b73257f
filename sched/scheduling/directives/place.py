"""Directives on where a stage is computed: compute_at, reverse_compute_at, compute_inline, compute_root."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import find_loop, find_stage
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_update import check_not_update, check_not_updated
from loopwright.sched.scheduling.nest import Nests, Place


def compute_at(nests: Nests, stage: str, at: str) -> Nests:
    """Compute a stage inside a loop of a stage that reads it: each iteration computes just the region it needs.

    The stage keeps its loops, their order and kinds; they run over the region.

    Before::

        for y in H+2:
            bx[y] = ...
        for yo in H/32:
            for yi in 32:
                by[yo*32 + yi] = bx[...] + bx[... + 2]

    After ``compute_at("bx", "by.yo")``::

        for yo in H/32:
            for y in 34:
                bx[yo*32 + y] = ...
            for yi in 32:
                by[yo*32 + yi] = bx[...] + bx[... + 2]
    """
    where = f"compute_at {stage}, {at}"
    nest = find_stage(nests, stage, where)
    host, loop = find_loop(nests, at, where)
    check_not_update(where, nest)
    checks.check_not_output(where, nests, nest, "so it is computed whole, at root")
    checks.check_not_inline(where, nest)
    _check_apart(where, stage, host.name)
    result = nests.with_stage(nest.with_(place=Place("at", host.name, loop.name)))
    check_places(where, result)
    return result


def reverse_compute_at(nests: Nests, stage: str, at: str) -> Nests:
    """Compute an elementwise stage inside a loop of the stage it reads, as soon as the elements there are complete.

    Before::

        for i in 500:
            acc[i] = ...
        for i in 500:
            out[i] = relu(acc[i])

    After ``split("acc.i", ("io", "ii"), 4)`` and ``reverse_compute_at("out", "acc.io")``::

        for io in 125:
            for ii in 4:
                acc[io*4 + ii] = ...
            for i in 4:
                out[io*4 + i] = relu(acc[io*4 + i])
    """
    where = f"reverse_compute_at {stage}, {at}"
    nest = find_stage(nests, stage, where)
    host, loop = find_loop(nests, at, where)
    check_not_updated(where, nests, nest, "so it is not elementwise; compute_at is possible")
    checks.check_not_inline(where, nest)
    _check_apart(where, stage, host.name)
    if nest.layout is not None:
        raise ScheduleError(
            f"{where}: {stage} has a layout of its own, which is for stages at root or under compute_at"
        )
    result = nests.with_stage(nest.with_(place=Place("after", host.name, loop.name)))
    check_places(where, result)
    return result


def _check_apart(where: str, stage: str, host: str) -> None:
    if stage == host:
        raise ScheduleError(
            f"{where}: {stage} cannot be computed inside its own loops; name a loop of another stage"
        )


def compute_inline(nests: Nests, stage: str) -> Nests:
    """Write a stage's formula where it is read, and store nothing.

    Before::

        for i in 8:
            b[i] = a[i] + 1
        for i in 8:
            c[i] = b[i] * 2

    After ``compute_inline("b")``::

        for i in 8:
            c[i] = (a[i] + 1) * 2
    """
    where = f"compute_inline {stage}"
    nest = find_stage(nests, stage, where)
    check_not_updated(where, nests, nest, "so it must be stored; compute_at is possible")
    checks.check_not_output(where, nests, nest, "so it must be stored")
    checks.check_no_reduction(where, nest, "which would be done again for every use; compute_at is possible")
    checks.check_not_inline(where, nest)
    checks.check_untouched(where, nests, nest)
    result = nests.with_stage(nest.with_(place=Place("inline")))
    checks.check_inline_size(where, result, stage)
    check_places(where, result)
    return result


def compute_root(nests: Nests, stage: str) -> Nests:
    """Compute a stage whole before whatever reads it, and store it there: where every stage is without a directive.

    Before::

        for yo in H/32:
            for y in 34:
                bx[yo*32 + y] = ...

    After ``compute_root("bx")``::

        for y in H+2:
            bx[y] = ...
        for yo in H/32:
            ...
    """
    where = f"compute_root {stage}"
    nest = find_stage(nests, stage, where)
    check_not_update(where, nest)
    result = nests.with_stage(nest.with_(place=Place("root"), stored=None, copies=1))
    check_places(where, result)
    return result

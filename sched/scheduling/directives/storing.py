"""Directives on where a stage's buffer lives: store_at, store_root."""

from __future__ import annotations

from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import find_loop, find_stage
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_update import check_not_updated
from loopwright.sched.scheduling.nest import Nests, Stored

UPDATED = "so its buffer lives where it is computed:\nwhat one iteration leaves would be updated again"


def store_at(nests: Nests, stage: str, at: str, fold: bool = True) -> Nests:
    """Keep what a stage has computed for the iterations that follow, in a buffer that lives in loop ``at``.

    Each iteration of the loops between computes what is new in it (a sliding window), and only the part of the buffer
    that is still to be read is stored (a rolling buffer): its dimension is as long as the window, rounded up to a power of two.
    ``bx`` here is under ``compute_at("bx", "by.yi")``.

    Measured on three stencils in a row, 1536 x 2560 floats, two cores of Zen 3, in strips of 16 to 128 rows that run in
    parallel: windows that slide 1.8 to 1.9 ms, without folding their buffers 1.9 to 2.2 ms; the stages computed once a strip,
    with its overlaps, 1.9 to 2.3 ms; computed anew for every row 11.3 ms; each stage whole 9.8 ms.

    Before::

        for yo in H/32:
            for yi in 32:
                for y in 3:
                    bx[yo*32 + yi + y] = ...
                by[yo*32 + yi] = bx[...] + bx[... + 1] + bx[... + 2]

    After ``store_at("bx", "by.yo")``::

        for yo in H/32:
            for yi in 32:
                for y in 1:           # in the first iteration: 3
                    bx[(yo*32 + yi + 2) % 4] = ...
                by[yo*32 + yi] = bx[... % 4] + bx[... % 4] + bx[... % 4]
    """
    where = f"store_at {stage}, {at}"
    nest = find_stage(nests, stage, where)
    host, loop = find_loop(nests, at, where)
    check_not_updated(where, nests, nest, UPDATED)
    checks.check_switch(where, "fold", fold)
    result = nests.with_stage(nest.with_(stored=Stored(host.name, loop.name, fold)))
    check_places(where, result)
    return result


def store_root(nests: Nests, stage: str, fold: bool = True) -> Nests:
    """Keep what a stage has computed for all iterations of the loops it is computed in: as :func:`store_at`, outside them all.
    ``bx`` here is under ``compute_at("bx", "by.y")``.

    Before::

        for y in H:
            for y in 3:
                bx[y] = ...
            by[y] = bx[y] + bx[y + 1] + bx[y + 2]

    After ``store_root("bx")``::

        for y in H:
            for y in 1:               # in the first iteration: 3
                bx[(y + 2) % 4] = ...
            by[y] = bx[y % 4] + bx[(y + 1) % 4] + bx[(y + 2) % 4]
    """
    where = f"store_root {stage}"
    nest = find_stage(nests, stage, where)
    checks.check_not_inline(where, nest)
    check_not_updated(where, nests, nest, UPDATED)
    checks.check_switch(where, "fold", fold)
    result = nests.with_stage(nest.with_(stored=Stored(fold=fold)))
    check_places(where, result)
    return result

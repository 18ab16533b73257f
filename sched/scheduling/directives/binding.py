"""The directive that gives loops to the blocks and threads of a GPU."""

from __future__ import annotations

from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import find_loop
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_threads import check_axis_name
from loopwright.sched.scheduling.checks_update import check_update_kinds
from loopwright.sched.scheduling.directives.kinds import with_kind
from loopwright.sched.scheduling.nest import Nests


def bind(nests: Nests, loop: str, axis: str) -> Nests:
    """Give each iteration of a loop to a block of a GPU's grid, to a thread of a block, or to a virtual thread.

    Before::

        for io in 63:
            for ii in 8:
                C[io*8 + ii] = ...

    After ``bind("C.io", "blockIdx.x")`` and ``bind("C.ii", "threadIdx.x")``::

        blockIdx.x io in 63:
            threadIdx.x ii in 8:
                C[io*8 + ii] = ...
    """
    where = f"bind {loop}"
    check_axis_name(where, axis)
    nest, old = find_loop(nests, loop, where)
    checks.check_serial(where, nest, old)
    checks.check_spatial(where, nest, old, f"bound to {axis}")
    changed = with_kind(nest, old.name, axis)
    check_update_kinds(where, changed)
    result = nests.with_stage(changed)
    check_places(where, result)
    return result

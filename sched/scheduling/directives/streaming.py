"""The directive on how an output is written: stream."""

from __future__ import annotations

from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import find_stage
from loopwright.sched.scheduling.checks_streams import check_streams
from loopwright.sched.scheduling.checks_update import AS_ITS_BASE, check_not_update
from loopwright.sched.scheduling.nest import Nests


def stream(nests: Nests, stage: str) -> Nests:
    """Write an output past the caches (non-temporal stores): nothing is fetched first, and nothing useful pushed out.

    For outputs too large for the last cache, written in long rows. Whole vectors of 16, 32, 64 ... bytes at addresses that
    are multiples of 16 are streamed; which these are, the kernel asks where it runs, and stores the others as usual.

    Measured on two cores of Zen 3: a sum of two arrays and its positive part, 16 MB each, takes 1.7 ms in place of 2.3. Rows
    that are written a vector at a time in turn (tiles of a transpose, blocks of rows of a blur) become slower: each
    line of the cache must be complete before another is begun.

    Before::

        for io in 65536:
            C[io*16 : io*16+16] = A[io*16 : io*16+16] + B[io*16 : io*16+16]

    After ``stream("C")``::

        for io in 65536:
            C[io*16 : io*16+16] = A[io*16 : io*16+16] + B[io*16 : io*16+16]   # past the caches
    """
    where = f"stream {stage}"
    nest = find_stage(nests, stage, where)
    check_not_update(where, nest, AS_ITS_BASE)
    checks.check_not_inline(where, nest)
    result = nests.with_stage(nest.with_(streamed=True))
    check_streams(where, result)
    return result

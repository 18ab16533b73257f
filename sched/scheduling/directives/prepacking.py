"""The directive that computes a stage before any call: prepack."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.address import find_stage
from loopwright.sched.scheduling.nest import Nests


def prepack(nests: Nests, stage: str) -> Nests:
    """Compute a stage that depends on weights alone before any call: ``kernel.prepack`` does, once for many calls.

    That may be a packed copy, or whatever else the formula makes of weights: sums of columns, padded or transformed filters. What
    only such stages depend on goes along. The stage keeps its loops, and other directives may follow.

    Before::

        for jo in 10:
            for k in 200:
                for ji in 32:
                    B_packed[jo, k, ji] = B[k, jo*32 + ji]
        for i in 500:
            C[i, j] = ... B_packed[...]

    After ``prepack("B_packed")``, where ``B`` is a weight::

        prepack:
            for jo in 10:
                for k in 200:
                    for ji in 32:
                        B_packed[jo, k, ji] = B[k, jo*32 + ji]
        for i in 500:
            C[i, j] = ... B_packed[...]
    """
    where = f"prepack {stage}"
    if any(t.name == stage for t in nests.inputs):
        raise ScheduleError(
            f"{where}: {stage} is an input; name a stage that copies it, such as what cache_read({stage!r}) or "
            f"transform_layout({stage!r}, ...) makes"
        )
    return nests.with_stage(find_stage(nests, stage, where).with_(prepacked=True))

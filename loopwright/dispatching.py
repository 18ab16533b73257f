"""`lw.dispatch`: a workload with symbolic sizes, built for all the numbers it was tuned at, as one callable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from loopwright.building import build
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.bundle import Dispatch
from loopwright.sched.runtime.target import Target

if TYPE_CHECKING:
    from loopwright.autotune.log import TuningLog
    from loopwright.sched.runtime.kernel import Kernel

    Log = str | os.PathLike[str] | TuningLog


def dispatch(
    work: Workload,
    target: object = "cpu",
    log: Log | None = None,
    at: Iterable[Mapping[str, int]] = (),
    *,
    cache: bool = True,
) -> Dispatch:
    """Compile a workload with symbolic sizes as one callable that is good at all sizes it was tuned at, and right at every one.

    It holds a kernel for just the numbers of each tuning, and one for all sizes by each schedule that a tuning found; see
    :class:`Dispatch` for which of them a call runs.

    Args:
        work: what to compute, with symbolic sizes.
        target, cache: as for `build`.
        log: the log of tunings of ``work``, ``tune(work, at=...)``, at one or several numbers.
        at: further numbers to build a kernel for; by a record for these numbers, or a default schedule.

    Returns:
        The kernels as one callable; ``.export`` writes them as one library.

    Raises:
        DefinitionError: no workload with symbolic sizes.
        ArgumentError: ``at`` names other sizes, or breaks their promises.
        TargetError, LogError, BuildError: as `build`.

    Example:
        >>> import numpy as np
        >>> from loopwright import ops
        >>> import loopwright as lw
        >>> softmax = dispatch(ops.softmax(lw.size("rows"), 8), at=[{"rows": 1}])
        >>> [kernel.signature.inputs[0].shape[0] for kernel in softmax.kernels][0]
        1
        >>> softmax(np.zeros((3, 8), "float32"))[0, 0]
        np.float32(0.125)
    """
    if not isinstance(work, Workload) or not work.sizes:
        raise DefinitionError(f"dispatch takes a workload with symbolic sizes, lw.size(...), not {work!r}")
    parsed = Target.parse(target)
    kernels = [build(work.at(numbers), parsed, log=log, cache=cache) for numbers in at]
    found = _tuned(work, parsed, log, cache) if log is not None else []
    return Dispatch([*kernels, *(found or [build(work, parsed, log=log, cache=cache)])])


def _tuned(work: Workload, target: Target, log: Log, cache: bool) -> list[Kernel]:
    """The kernels by what the log has: first those for the numbers of tunings alone, then those for all sizes."""
    from loopwright.autotune.lookup import lookup, lookup_by_sizes
    from loopwright.autotune.replay import schedule_of
    from loopwright.sched.runtime import cache as cached
    from loopwright.sched.runtime.build import build_schedule

    compiled = cached.build if cache else build_schedule
    exact: list[Kernel] = []
    for_all: dict[str, Kernel] = {}
    names = {size.name for size in work.sizes}
    for numbers, found in lookup_by_sizes(log, work.key, target):
        assert found.record is not None
        schedule = schedule_of(found.record, work)
        text = schedule.to_json()
        if text not in for_all:
            for_all[text] = compiled(schedule, target, work=work, provenance=found.provenance)
        if (
            set(numbers) != names
        ):  # the sizes were called otherwise there: which is which, the record does not say
            continue
        for_all[text].at += (numbers,)
        alone = work.at(numbers)
        hit = lookup(log, alone.key, target, name=alone.name, args=alone.args)
        if hit.record is not None:
            exact.append(
                compiled(schedule_of(hit.record, alone), target, work=alone, provenance=hit.provenance)
            )
    return [*exact, *for_all.values()]

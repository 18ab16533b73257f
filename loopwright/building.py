"""`lw.build` and `lw.lower`: from a workload to a kernel, by a schedule of the caller's, the log's best, or a default."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import DefinitionError, LogError, ScheduleError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target

if TYPE_CHECKING:
    from loopwright.autotune.front import Named
    from loopwright.autotune.log import TuningLog
    from loopwright.sched.runtime.build import Lowered
    from loopwright.sched.runtime.kernel import Kernel
    from loopwright.sched.scheduling.schedule import Schedule


class UntunedWarning(UserWarning):
    """A log was given, but it has nothing for this workload and target; a default schedule is used."""


def build(
    work: Workload,
    target: object = "cpu",
    schedule: Schedule | None = None,
    log: str | os.PathLike[str] | TuningLog | None = None,
    *,
    objective: Named = "time",
    cache: bool = True,
) -> Kernel:
    """Compile a workload.

    Args:
        work: what to compute.
        target: ``"cpu"`` is this host; or a `Target`, a dict, a target by name or file; see docs/targets.md.
        schedule: how to compute it. Without one, the best record of ``log``; without that, a default schedule.
        log: a tuning log. If it has no record for the workload and target, an `UntunedWarning` says what it has instead.
        objective: which record of the log is best: ``"time"``, or ``"memory"``, the one that takes least memory beside its
            arguments of those at most twice as slow as the fastest.
        cache: take the kernel from the cache of builds on disk, if it is there, and keep it there; see docs/deploy.md.

    Returns:
        The kernel; ``kernel.provenance`` says where its schedule comes from.

    Raises:
        ScheduleError: the schedule belongs to another workload, or still has knobs.
        TargetError: the target is unknown or not available.
        LogError: the log cannot be read; or there is no such objective, or no log to apply it to.
        BuildError: the compiler refused.

    Example:
        >>> import numpy as np
        >>> from loopwright import ops
        >>> kernel = build(ops.matmul(M=8, N=8, K=8))
        >>> kernel(np.eye(8, dtype="float32"), np.ones((8, 8), "float32")).sum()
        np.float32(64.0)
    """
    from loopwright.sched.runtime import build as plain
    from loopwright.sched.runtime import cache as cached

    parsed = Target.parse(target)
    chosen, provenance = _schedule_for(work, parsed, schedule, log, objective)
    compiled = cached.build if cache else plain.build_schedule
    return compiled(chosen, parsed, work=work, provenance=provenance)


def default_schedule(work: Workload, target: object = "cpu") -> Schedule:
    """The schedule that `build` uses for a workload that was never tuned: to look at, or to go on from.

    Example:
        >>> from loopwright import ops
        >>> schedule = default_schedule(ops.matmul(M=64, N=64, K=64))
        >>> [loop.name for loop in schedule.nests.stages["C"].loops if loop.kind == "vectorize"]
        ['j_v']
    """
    from loopwright.sched.recipes.default import default_schedule as by_structure

    _check_workload("default_schedule", work)
    return by_structure(work, Target.parse(target))


def lower(
    work: Workload,
    target: object = "cpu",
    schedule: Schedule | None = None,
    log: str | os.PathLike[str] | TuningLog | None = None,
    *,
    objective: Named = "time",
) -> Lowered:
    """The TensorIR that `build` would compile; ``.source()`` is its text. Arguments and errors are those of `build`."""
    from loopwright.sched.runtime.build import lower_schedule

    parsed = Target.parse(target)
    chosen, _ = _schedule_for(work, parsed, schedule, log, objective)
    return lower_schedule(chosen, parsed)


def _schedule_for(
    work: Workload, target: Target, schedule: Schedule | None, log: Any, objective: Named
) -> tuple[Schedule, Any]:
    """The schedule to build, and where it comes from."""
    _check_workload("build", work)
    if schedule is not None:
        from loopwright.sched.scheduling.schedule import Schedule

        if not isinstance(schedule, Schedule):
            raise ScheduleError(
                f"schedule= takes a schedule, such as work.schedule().vectorize(...), not {schedule!r}"
            )
        if schedule.work.key != work.key:
            raise ScheduleError(
                f"the schedule was written for {schedule.work}, which computes something else than {work}"
            )
        return _as_declared(schedule, work), "a schedule given by the caller"
    from loopwright.autotune.lookup import lookup, no_log
    from loopwright.sched.recipes.default import default_schedule

    if log is None and objective != "time":
        raise LogError(f"objective={objective!r} says which record of a log is best, and no log is given")
    if log is None:
        return default_schedule(work, target), no_log(target, name=work.name, args=work.args)
    found = lookup(log, work.key, target, name=work.name, args=work.args, objective=objective)
    if found.record is not None:
        from loopwright.autotune.replay import schedule_of

        return schedule_of(found.record, work), found.provenance
    warnings.warn(str(found.provenance), UntunedWarning, stacklevel=3)
    return default_schedule(work, target), found.provenance


def _as_declared(schedule: Schedule, work: Workload) -> Schedule:
    """A schedule of an equal workload; on ``work`` itself where calls pass its inputs in another order."""
    from loopwright.sched.scheduling.schedule import Schedule

    def order(declared: Workload) -> list[str]:
        place = {name: position for position, name in declared.names.items() if "." not in position}
        return [place[tensor.name] for tensor in declared.inputs]

    theirs = schedule.work
    if order(theirs) == order(work):
        return schedule
    return Schedule.from_json(work, schedule.to_json(), theirs.names)


def _check_workload(what: str, work: object) -> None:
    if not isinstance(work, Workload):
        hint = "; call it with its sizes first" if callable(work) else ""
        raise DefinitionError(
            f"{what} takes a workload, such as ops.matmul(M=512, N=512, K=512), not {work!r}{hint}"
        )

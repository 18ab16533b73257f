"""Tuning a workload with symbolic sizes: it is measured at numbers, and what is found serves all sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loopwright.autotune.log import Record, TuningLog
from loopwright.autotune.replay import schedule_of
from loopwright.autotune.result import Best, TuneResult
from loopwright.sched.errors import ArgumentError, LoopwrightError, TuneError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target


def measured_at(work: Workload, at: Mapping[str, int] | None) -> Workload:
    """What is measured for ``work``: itself, or itself at the numbers ``at``.

    Raises:
        TuneError: its sizes are symbolic and no numbers are given, or such as it does not take.
    """
    if not work.sizes and at is None:
        return work
    if at is None:
        names = ", ".join(f'"{size.name}": 512' for size in work.sizes)
        raise TuneError(f"{work} has symbolic sizes; say at which numbers to measure it: at={{{names}}}")
    try:
        return work.at(at)
    except ArgumentError as error:
        raise TuneError(f"at={dict(at)!r}: {error}") from None


def filed(
    work: Workload, at: Mapping[str, int], result: TuneResult, log: TuningLog, target: Target
) -> TuneResult:
    """The result for the workload with symbolic sizes: the fastest schedule that serves all of them, put into the log.

    Its record has the key of ``work``, and the numbers it was measured at.
    """
    known = result.workload
    timed = [r for r in log.records(known.key, target) if r.verified and r.seconds is not None]
    for record in sorted(timed, key=lambda r: r.seconds or 0.0):
        try:
            schedule = schedule_of(record, known)
            for_all = replace(
                record,
                workload=work.key,
                schedule=type(schedule)(work, schedule.directives, schedule.chosen).to_json(),
                names=work.names,
                args=work.to_json()["args"],
                extra={**record.extra, "at": dict(at)},
            )
        except LoopwrightError:  # it has a vector, or written-out code, of the whole length of a loop
            continue
        if not _has(log, for_all, target):
            log.append(for_all)
        return replace(result, workload=work, best=Best(for_all, work))
    return replace(result, workload=work, best=None, found=None)


def _has(log: TuningLog, record: Record, target: Target) -> bool:
    return any(
        old.schedule == record.schedule and old.seconds == record.seconds
        for old in log.records(record.workload, target)
    )

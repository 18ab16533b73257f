"""Tuning a workload with symbolic sizes: it is measured at numbers, and what is found serves all sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loopwright.autotune.aim import Leaders
from loopwright.autotune.front import timed
from loopwright.autotune.log import Record, TuningLog
from loopwright.autotune.objective import TIME, Objective
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
    work: Workload,
    at: Mapping[str, int],
    result: TuneResult,
    log: TuningLog,
    target: Target,
    objective: Objective = TIME,
) -> TuneResult:
    """The result for the workload with symbolic sizes: the best schedule that serves all of them, put into the log; if it is
    asked for, the front of such schedules.

    Their records have the key of ``work``, and the numbers they were measured at.
    """
    known = result.workload
    left = timed(log.records(known.key, target))
    found = None
    while found is None and (best := Leaders(objective, known, left).best) is not None:
        found = _for_all(best, known, work, at)
        left = [record for record in left if record is not best]
    both = (_for_all(one.record, known, work, at) for one in result.front)
    front = [record for record in both if record is not None]
    for record in [found, *(front if objective.name == "both" else [])]:
        if record is not None and not _has(log, record, target):
            log.append(record)
    if found is None:
        return replace(result, workload=work, best=None, found=None, front=[])
    return replace(
        result, workload=work, best=Best(found, work), front=[Best(record, work) for record in front]
    )


def _for_all(record: Record, known: Workload, work: Workload, at: Mapping[str, int]) -> Record | None:
    """The record of ``known`` as one of ``work``; None if its schedule has a vector, or written-out code, of a whole loop."""
    try:
        schedule = schedule_of(record, known)
        return replace(
            record,
            workload=work.key,
            schedule=type(schedule)(work, schedule.directives, schedule.chosen).to_json(),
            names=work.names,
            args=work.to_json()["args"],
            extra={**record.extra, "at": dict(at)},
        )
    except LoopwrightError:
        return None


def _has(log: TuningLog, record: Record, target: Target) -> bool:
    return any(
        old.schedule == record.schedule and old.seconds == record.seconds
        for old in log.records(record.workload, target)
    )

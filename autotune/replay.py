"""From a record to a schedule of the workload at hand.

Names play no part in a workload's key, so a record may have been written for an equal workload whose inputs, stages or
axes are called otherwise. Its schedule is translated by the positions that the record's ``names`` give.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from loopwright.autotune.record import Record
from loopwright.sched.errors import DefinitionError, LogError, ScheduleError
from loopwright.sched.language.stage import check_name

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload
    from loopwright.sched.scheduling.schedule import Schedule


def schedule_of(record: Record, work: Workload) -> Schedule:
    """Return the record's schedule on ``work``, in the names of ``work``.

    Errors:
        LogError: the record is of another workload, has no schedule, or its schedule or names do not fit ``work``.

    Example:
        >>> from loopwright import ops
        >>> work = ops.matmul(M=8, N=8, K=8)
        >>> schedule = work.schedule().parallel("C.i")
        >>> record = Record(
        ...     workload=work.key, target={"kind": "cpu"}, status="ok", seconds=1e-6, schedule=schedule.to_json()
        ... )
        >>> schedule_of(record, work) == schedule
        True
    """
    if record.workload != work.key:
        raise LogError(
            f"the record is of {record.label}, key {record.workload[:12]}; {work} has key {work.key[:12]}"
        )
    what = f"the schedule of {record.label} (trial {record.trial})"
    if record.schedule is None:
        raise LogError(f"{what} is not in the record: the trial failed before it had one")
    from loopwright.sched.scheduling.schedule import Schedule

    try:
        _check_names(record.names)
        return Schedule.from_json(work, record.schedule_json, record.names or None)
    except (DefinitionError, ScheduleError) as error:
        raise LogError(f"{what} cannot be replayed: {error}") from error


def _check_names(names: Mapping[str, str]) -> None:
    """Tensors must differ in name, and so must the axes of one stage."""
    seen: set[tuple[str, str]] = set()
    for position, name in names.items():
        check_name(name, f"position {position}")
        owner = position.partition(".")[0] if "." in position else ""
        if (owner, name) in seen:
            raise DefinitionError(f"two of its names are {name!r}, which cannot be told apart")
        seen.add((owner, name))

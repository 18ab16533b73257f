"""Replaying a record on a workload of the same formula whose inputs, stages or axes have other names.

A schedule speaks in names. Names play no part in a workload's key, so a record may have been written for an
equal workload that calls its stages otherwise: the schedule is then replayed on the same formula in the record's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from loopwright.autotune.record import Record
from loopwright.sched.canonical import stage_to_json
from loopwright.sched.errors import DefinitionError, LogError, ScheduleError
from loopwright.sched.stage import check_name
from loopwright.sched.workload import Workload

if TYPE_CHECKING:
    from loopwright.sched.schedule import Schedule


def schedule_of(record: Record, work: Workload) -> Schedule:
    """Return the record's schedule on ``work``.

    If the record speaks in other names than ``work``, the schedule belongs to ``renamed(work, record.names)``: the
    same formula, inputs in the order of ``work``, in the record's names.

    Errors:
        LogError: the record is of another workload, has no schedule, or its schedule is illegal here.
    """
    if record.workload != work.key:
        raise LogError(
            f"the record is of {record.label}, key {record.workload[:12]}; {work} has key {work.key[:12]}"
        )
    if record.schedule is None:
        raise LogError(
            f"the record of {record.label} (trial {record.trial}) has no schedule: it failed before"
        )
    from loopwright.sched.schedule import Schedule

    try:
        return Schedule.from_json(renamed(work, record.names), record.schedule_json)
    except ScheduleError as error:
        raise LogError(
            f"the schedule of {record.label} (trial {record.trial}) cannot be replayed: {error}"
        ) from error


def renamed(work: Workload, names: Mapping[str, str]) -> Workload:
    """Return ``work`` in other names; ``work`` itself if they are its own, or none are given.

    Args:
        names: canonical position -> name, as ``Workload.names`` of an equal workload gives them.

    Errors:
        LogError: the positions are not those of ``work``, or the names do not tell its parts apart.

    Example:
        >>> from loopwright import ops
        >>> work = ops.matmul(M=4, N=4, K=4)
        >>> renamed(work, work.names) is work
        True
    """
    if not names or names == work.names:
        return work
    if names.keys() != work.names.keys():
        wrong = sorted(names.keys() ^ work.names.keys())
        raise LogError(
            f"the names in the record do not fit {work}: position {wrong[0]!r} is only in one of them"
        )
    labels = {id(part): names[position] for position, part in _parts(work).items()}

    def name(part: Any) -> str:
        return labels[id(part)]

    data = {
        **work.to_json(),
        "inputs": [[name(tensor), list(tensor.shape), tensor.dtype] for tensor in work.inputs],
        "stages": [stage_to_json(stage, name) for stage in work.stages],
        "outputs": [name(stage) for stage in work.outputs],
    }
    _check_distinct(names, work)
    try:
        for position, text in names.items():
            check_name(text, f"position {position}")
        return Workload.from_json(data)
    except DefinitionError as error:
        raise LogError(f"the names in the record do not fit {work}: {error}") from None


def _check_distinct(names: Mapping[str, str], work: Workload) -> None:
    """Tensors must differ in name, and so must the axes of one stage."""
    seen: set[tuple[str, str]] = set()
    for position, name in names.items():
        owner = position.partition(".")[0] if "." in position else ""
        if (owner, name) in seen:
            raise LogError(f"the names in the record do not fit {work}: two parts are called {name!r}")
        seen.add((owner, name))


def _parts(work: Workload) -> dict[str, Any]:
    """Canonical position -> the input, stage or axis there."""
    tensors = {position: work.tensor(name) for position, name in work.names.items() if "." not in position}
    parts: dict[str, Any] = dict(tensors)
    for number, stage in enumerate(work.stages):
        parts |= {f"s{number}.a{n}": axis for n, axis in enumerate(stage.axes)}
        parts |= {f"s{number}.r{n}": axis for n, axis in enumerate(stage.reduce_axes)}
    return parts

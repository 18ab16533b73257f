"""What trials of other shapes teach: a log's records of the same operator, as samples for the cost model.

A record holds the features of its candidate, which mean the same for every workload. So a model can be trained on records whose
formula is not at hand. Knobs of one name are the same choice in all shapes of an operator; which sketch had them is not told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopwright.autotune.features.program import NAMES
from loopwright.autotune.log_near import distance
from loopwright.autotune.record import Record
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target

Array = np.ndarray[Any, Any]
# Which features these are: another number where :data:`NAMES`, or what one of them means, has changed.
VERSION = 5
# Of so many workloads, the nearest ones, and of so many trials of each.
MOST_WORKLOADS, MOST_TRIALS = 4, 150


@dataclass(frozen=True)
class Lesson:
    """Trials of one other workload: of each a row of :data:`NAMES`, its seconds, infinite for a failure, and its knobs."""

    rows: Array
    times: Array
    chosen: tuple[Mapping[str, Any], ...] = ()


def features_of(row: Array) -> dict[str, Any]:
    """A candidate's features as its record holds them.

    Example:
        >>> features_of(np.array([1.0, 0.25] + [0.0] * 40, np.float32))["row"][:2]
        [1.0, 0.25]
    """
    return {"v": VERSION, "row": [round(float(value), 4) for value in row[: len(NAMES)]]}


def lessons(work: Workload, target: Target, records: Iterable[Record]) -> list[Lesson]:
    """What records of other shapes of ``work``'s operator say, on targets of its kind; the nearest shapes first."""
    others = (record for record in records if record.workload != work.key and record.name == work.name)
    near = sorted(_groups(target, others), key=lambda group: distance(work.args, group[0].args))
    return [_lesson(group) for group in near[:MOST_WORKLOADS]]


def every_lesson(target: Target, records: Iterable[Record]) -> list[Lesson]:
    """What records of any workload say, on targets of this kind."""
    return [_lesson(group) for group in _groups(target, records)]


def _groups(target: Target, records: Iterable[Record]) -> list[list[Record]]:
    """Records with features, on targets of this kind, by workload and target: times of one group can be compared."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.target["kind"] == target.kind and row_of(record.features) is not None:
            groups.setdefault((record.workload, json.dumps(record.target, sort_keys=True)), []).append(record)
    return list(groups.values())


def row_of(features: Mapping[str, Any] | None) -> list[float] | None:
    """The features that a record holds, if they are those of this version."""
    if features is None or features.get("v") != VERSION:
        return None
    row = features.get("row")
    if not isinstance(row, list) or len(row) != len(NAMES):
        return None
    return row if all(isinstance(value, (int, float)) for value in row) else None


def _lesson(group: list[Record]) -> Lesson:
    """At most :data:`MOST_TRIALS` of a workload's trials, from all along their order by time."""
    uneven = NAMES.index("imbalance")
    rows = np.array([row_of(record.features) or [] for record in group], np.float32)
    times = np.array([record.screen or np.inf for record in group]) * np.fmax(rows[:, uneven], 1.0)
    order = np.argsort(times, kind="stable")
    if len(order) > MOST_TRIALS:
        order = order[np.linspace(0, len(order) - 1, MOST_TRIALS).astype(int)]
    return Lesson(rows[order], times[order], tuple(group[n].chosen for n in order))

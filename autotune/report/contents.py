"""What a report is made from: a log's records by workload, what each asks of its machine, and the limits of that."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopwright.autotune.log_read import read_log
from loopwright.autotune.record import Record
from loopwright.autotune.report.chart import Chart
from loopwright.autotune.report.charts import charts_of
from loopwright.autotune.report.history import History, histories
from loopwright.autotune.report.labels import short_labels
from loopwright.autotune.report.overview import overview
from loopwright.autotune.report.tuned import Tuned
from loopwright.autotune.roofline import Roofs
from loopwright.sched.errors import LogError
from loopwright.sched.language.operations import demand_of
from loopwright.sched.language.workload import Workload

FindWorkload = Callable[[Record], "Workload | None"]
FindRoofs = Callable[[Record], "Roofs | str"]
FindUsual = Callable[[Record], Mapping[str, Any]]


@dataclass(frozen=True)
class Contents:
    """A log, ready to be shown.

    Attributes:
        path: of the log.
        records: all of them, in order.
        tuned: the workloads, in order.
        shared: what the labels of the workloads leave out, in words.
        bad_lines: how many lines are no records.
        no_roofs: why limits of machines are not known, in words; empty if all are.
    """

    path: Path
    records: tuple[Record, ...]
    tuned: tuple[Tuned, ...]
    shared: tuple[str, ...]
    bad_lines: int
    no_roofs: tuple[str, ...]

    @property
    def overview(self) -> list[Chart]:
        """The charts of the whole log."""
        return overview(self.tuned)

    def charts(self) -> Iterator[tuple[Tuned | None, Chart]]:
        """Every chart, with its workload, or None for those of the whole log."""
        for chart in self.overview:
            yield None, chart
        for tuned in self.tuned:
            for chart in charts_of(tuned.history):
                yield tuned, chart


def contents(
    log: str | os.PathLike[str],
    find: FindWorkload = lambda record: None,
    limits: FindRoofs = lambda record: "they were not asked for",
    usual: FindUsual = lambda record: {},
) -> Contents:
    """Read a log for a report.

    Args:
        log: its path.
        find: gives the workload of a record, if it knows it: then the loops of the winning schedules are shown, and how much they
            compute. A record names its operator and arguments, but does not hold the formula.
        limits: gives the limits of the machine that a record was measured on, or in words why they are not known.
        usual: gives the arguments of a record's operator that need not be said, because they have these values by default.

    Raises:
        LogError: there is no such file, it cannot be read, it is no tuning log, or it has no records.
    """
    snapshot = read_log(log)
    records = tuple(entry.record for entry in snapshot.entries())
    if not records:
        snapshot.require_log()
        raise LogError(f"{snapshot.path} has no records yet; there is nothing to report")
    found = histories(records)
    labels, shared = short_labels(
        [(first.name, _said(first.args, usual(first))) for first in (history.first for history in found)]
    )
    known: dict[tuple[str, str], Roofs | str] = {}  # the limits of each machine, asked for once
    tuned = tuple(
        _tuned(number, label, history, find, limits, known)
        for number, (label, history) in enumerate(zip(labels, found, strict=True), 1)
    )
    reasons = dict.fromkeys(limit for limit in known.values() if isinstance(limit, str))
    return Contents(Path(log), records, tuned, tuple(shared), len(snapshot.problems), tuple(reasons))


def _said(args: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are not as usual."""
    return {name: value for name, value in args.items() if name not in usual or usual[name] != value}


def _tuned(
    number: int,
    label: str,
    history: History,
    find: FindWorkload,
    limits: FindRoofs,
    known: dict[tuple[str, str], Roofs | str],
) -> Tuned:
    first = history.first
    work = find(first)
    if work is None or work.key != first.workload:
        return Tuned(number, label, history)
    demand = demand_of(work)
    machine = machine_of(first)
    if demand is not None and machine not in known:
        known[machine] = limits(first)
    roofs = known.get(machine)
    return Tuned(number, label, history, work, demand, roofs if isinstance(roofs, Roofs) else None)


def machine_of(record: Record) -> tuple[str, str]:
    """The device and the target that a record was measured on: what tells machines apart."""
    return record.device, str(sorted(record.target.items()))

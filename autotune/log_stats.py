"""What a log tells beyond its workloads: when and where it was measured, by which versions, and what failed and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from loopwright.autotune.log_read import Problem, read_log
from loopwright.autotune.log_tools import PathLike
from loopwright.autotune.record import Record

# Records further apart than this belong to different runs.
PAUSE = timedelta(minutes=5)


@dataclass
class Failure:
    """A cause of failures: how many, and what the last of them said of whom."""

    count: int = 0
    workloads: Counter[str] = field(default_factory=Counter)
    message: str | None = None

    def add(self, record: Record) -> None:
        """Count one more."""
        self.count += 1
        self.workloads[record.label] += 1
        self.message = record.message or self.message


@dataclass
class Stats:
    """A log in numbers.

    Attributes:
        path: the log.
        size: its bytes.
        records, ok, verified, finals: trials in all; those that ran; those compared with the reference; those timed on all cores.
        twins: trials whose code another one had been measured with before.
        workloads: how many there are.
        first, last: when the first and the last trial ended, by the clock of their machine; None if no record says.
        busy: how long the tuner was at work, pauses left out.
        devices, versions: how many records name each.
        failures: cause -> what is known of it.
        problems: lines that are no usable records.
    """

    path: Path
    size: int = 0
    records: int = 0
    ok: int = 0
    verified: int = 0
    finals: int = 0
    twins: int = 0
    workloads: int = 0
    first: datetime | None = None
    last: datetime | None = None
    busy: timedelta = timedelta()
    devices: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def rate(self) -> float | None:
        """Trials a second while the tuner was at work."""
        seconds = self.busy.total_seconds()
        return self.records / seconds if seconds else None


def stats(path: PathLike) -> Stats:
    """Count what a log holds.

    Errors:
        LogError: there is no such file, it cannot be read, or it is no tuning log.
    """
    snapshot = read_log(path)
    found = Stats(snapshot.path, len(snapshot.data))
    keys, codes, times = set(), set(), []
    for entry in snapshot.entries():
        record = entry.record
        _count(found, record)
        keys.add(record.workload)
        if record.code is not None:
            found.twins += (record.workload, record.code) in codes
            codes.add((record.workload, record.code))
        moment = _moment(record)
        if moment is not None:
            times.append(moment)
    if not found.records:
        snapshot.require_log()
    found.workloads, found.problems = len(keys), tuple(snapshot.problems)
    times.sort()
    if times:
        found.first, found.last = times[0], times[-1]
        gaps = (later - sooner for sooner, later in pairwise(times))
        found.busy = sum((gap for gap in gaps if gap <= PAUSE), timedelta())
    return found


def _count(found: Stats, record: Record) -> None:
    found.records += 1
    found.ok += record.ok
    found.verified += record.verified
    found.finals += record.seconds is not None
    found.devices[record.device or "not said"] += 1
    found.versions[
        ", ".join(f"{name} {version}" for name, version in record.versions.items()) or "not said"
    ] += 1
    if not record.ok:
        found.failures.setdefault(record.cause or "unknown", Failure()).add(record)


def _moment(record: Record) -> datetime | None:
    """When the record was written; None if it does not say, or not so that it can be compared."""
    try:
        moment = datetime.fromisoformat(record.time)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None

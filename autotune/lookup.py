"""From a log to the record to build from, or a precise word on why there is none.

Needs the standard library only: a deployment looks up schedules without the tuner's packages.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from loopwright.autotune.front import Named, chosen, named
from loopwright.autotune.log import TuningLog
from loopwright.autotune.log_match import (
    TargetLike,
    TargetMatch,
    compare_targets,
    target_json,
    target_text,
)
from loopwright.autotune.log_read import Entry, Snapshot, read_log
from loopwright.autotune.record import Record, workload_label

LogLike: TypeAlias = "str | os.PathLike[str] | TuningLog | Snapshot"


class Provenance(str):
    """Where a kernel's schedule comes from: a sentence for a reader, with its parts as attributes.

    It is text, so that it goes as it is into an exported library, a report or a warning.

    Attributes:
        log: the log's path, or None if no log was given.
        workload: the workload looked for, as ``name(arg=value, ...)``.
        target: the target looked for, in words.
        record, line: the record found and the number of its line; None on a miss.
        differences: how the record's target differs from the one looked for.
        reason: on a miss, what the log has instead; None on a hit.
    """

    log: Path | None
    workload: str
    target: str
    record: Record | None
    line: int | None
    differences: tuple[str, ...]
    reason: str | None

    @classmethod
    def of_record(
        cls,
        log: Path,
        workload: str,
        target: str,
        record: Record,
        line: int,
        differences: tuple[str, ...] = (),
        objective: Named = "time",
    ) -> Provenance:
        """The provenance of a schedule that stands in a log."""
        facts = [
            f"trial {record.trial}" if record.trial is not None else "",
            seconds_text(record.seconds) if record.seconds is not None else "",
            memory_text(record.peak_bytes) if objective == "memory" else "",
            record.time[:10],
            f"on {record.device}" if record.device else "",
            " ".join(f"{name} {version}" for name, version in record.versions.items()),
        ]
        text = f"{record.label} from {log}:{line} ({', '.join(filter(None, facts))})"
        if differences:
            text += f"; measured on {'; '.join(differences)}"
        return cls(text)._with(log, workload, target, record, line, differences, None)

    @classmethod
    def of_default(cls, log: Path | None, workload: str, target: str, reason: str) -> Provenance:
        """The provenance of a default schedule, which is used for the reason given."""
        text = f"default schedule for {workload} on {target}: {reason}"
        return cls(text)._with(log, workload, target, None, None, (), reason)

    def _with(self, *values: Any) -> Provenance:
        names = ("log", "workload", "target", "record", "line", "differences", "reason")
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)
        return self

    @property
    def tuned(self) -> bool:
        """Whether a record was found."""
        return self.record is not None


@dataclass(frozen=True)
class Lookup:
    """The answer of a log: the best record, or None, and the provenance either way."""

    record: Record | None
    provenance: Provenance

    @property
    def hit(self) -> bool:
        """Whether a record was found."""
        return self.record is not None


def lookup(
    log: LogLike,
    workload: str,
    target: TargetLike,
    *,
    name: str = "",
    args: Mapping[str, Any] | None = None,
    objective: Named = "time",
) -> Lookup:
    """Find the best verified record for exactly this workload and a compatible target.

    Records of the same target (kind, processor, cores) come before those of others that this one can run: their
    seconds are not comparable. Among equals the least ``seconds`` wins, or what the objective asks for, then the earliest line.

    Args:
        log: a path; or a ``TuningLog``; or a ``Snapshot`` from ``read_log``, to look up many workloads at one reading.
        workload: the workload's key.
        target: the target to run on: a ``Target``, or its JSON object.
        name, args: the workload's own, for messages and to find its nearest relatives.
        objective: ``"time"``, or ``"memory"``: the least ``peak_bytes`` of what takes at most twice as long as the fastest.
            Records that do not say it are left out, unless there are no others.

    Errors:
        LogError: there is no file, it cannot be read, or it is no tuning log; or there is no such objective. A miss is no error.
    """
    named(objective, ("time", "memory"))
    snapshot = _snapshot(log)
    wanted = target_json(target)
    asked = workload_label(name, args or {}) if name else f"workload {workload[:12]}"
    entries = list(snapshot.entries(workload))
    unread = _unread(snapshot)
    compared = [(entry, compare_targets(entry.record.target, wanted)) for entry in entries]
    usable = [pair for pair in compared if pair[1].compatible and _is_candidate(pair[0].record)]
    if usable:
        nearest = min(match.rank for _, match in usable)
        near = {id(entry.record): (entry, match) for entry, match in usable if match.rank == nearest}
        (best,) = chosen([entry.record for entry, _ in near.values()], objective)
        entry, match = near[id(best)]
        provenance = Provenance.of_record(
            snapshot.path, asked, target_text(wanted), entry.record, entry.line, match.differences, objective
        )
        return Lookup(entry.record, provenance)
    if entries:
        reason = _unusable(compared, target_text(wanted))
    else:
        reason = _absent(snapshot, name, {key: _as_recorded(value) for key, value in (args or {}).items()})
    return Lookup(None, Provenance.of_default(snapshot.path, asked, target_text(wanted), reason + unread))


def lookup_by_sizes(log: LogLike, workload: str, target: TargetLike) -> list[tuple[dict[str, int], Lookup]]:
    """Find the best record for each of the numbers at which a workload with symbolic sizes was tuned (``tune(at=...)``).

    Returns:
        The numbers, by the names of the sizes, and what was found for them, in the order of the log.

    Errors:
        LogError: as for :func:`lookup`.
    """
    snapshot, wanted = _snapshot(log), target_json(target)
    best: dict[tuple[tuple[str, int], ...], tuple[Entry, TargetMatch]] = {}
    for entry in snapshot.entries(workload):
        pair = entry, compare_targets(entry.record.target, wanted)
        at = entry.record.extra.get("at")
        if isinstance(at, dict) and pair[1].compatible and _is_candidate(entry.record):
            numbers = tuple(sorted(at.items()))
            if numbers not in best or _by_time(pair) < _by_time(best[numbers]):
                best[numbers] = pair
    found = []
    for numbers, (entry, match) in best.items():
        asked, on = entry.record.label, target_text(wanted)
        provenance = Provenance.of_record(
            snapshot.path, asked, on, entry.record, entry.line, match.differences
        )
        found.append((dict(numbers), Lookup(entry.record, provenance)))
    return found


def no_log(target: TargetLike, *, name: str = "", args: Mapping[str, Any] | None = None) -> Provenance:
    """Return the provenance of a kernel that was built without a log."""
    asked = workload_label(name, args or {})
    return Provenance.of_default(None, asked, target_text(target_json(target)), "no tuning log was given")


def seconds_text(seconds: float) -> str:
    """Return a time with three digits and a fitting unit.

    Example:
        >>> seconds_text(0.00321), seconds_text(4.2e-05)
        ('3.21 ms', '42 us')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def bytes_text(size: int) -> str:
    """Return a number of bytes with three digits and a fitting unit.

    Example:
        >>> bytes_text(0), bytes_text(4096), bytes_text(5_000_000)
        ('0 B', '4 KiB', '4.77 MiB')
    """
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}" if size < 1000 * scale else f"{size / scale:.0f} {unit}"
    return f"{size} B"


def memory_text(size: int | None) -> str:
    """Return what a record says of its memory.

    Example:
        >>> memory_text(4096), memory_text(None)
        ('4 KiB of memory', 'memory not said')
    """
    return "memory not said" if size is None else f"{bytes_text(size)} of memory"


def _snapshot(log: LogLike) -> Snapshot:
    if isinstance(log, Snapshot):
        return log
    return read_log(log.path if isinstance(log, TuningLog) else TuningLog(log).path)


def _unread(snapshot: Snapshot) -> str:
    """Mention the lines of the workload that could not be used."""
    newer = sum(1 for problem in snapshot.problems if problem.newer)
    damaged = len(snapshot.problems) - newer
    text = f"; {_lines(damaged)} for it damaged (see `loopwright log show`)" if damaged else ""
    return f"{text}; {_lines(newer)} for it written by a newer Loopwright" if newer else text


def _is_candidate(record: Record) -> bool:
    return record.verified and record.seconds is not None


def _by_time(pair: tuple[Entry, TargetMatch]) -> tuple[int, float, int]:
    entry, match = pair
    return match.rank, entry.record.seconds or 0.0, entry.line


def _unusable(compared: Sequence[tuple[Entry, TargetMatch]], wanted: str) -> str:
    """Say what is wrong with the records that there are of the workload."""
    here = [entry.record for entry, match in compared if match.compatible]
    if not here:
        others = Counter(
            f"{target_text(entry.record.target)} ({match.obstacle})" for entry, match in compared
        )
        listed = "; ".join(f"{text}, {_records(count)}" for text, count in others.most_common(3))
        more = f"; and {len(others) - 3} more" if len(others) > 3 else ""
        return f"the log has it only for other targets: {listed}{more}"
    causes = Counter(record.cause for record in here if not record.ok)
    failures = ", ".join(f"{count} {cause}" for cause, count in causes.most_common())
    good = sum(1 for record in here if record.ok)
    if not good:
        return f"all {_records(len(here))} of it in the log failed ({failures})"
    text = f"none of the {_records(good)} of it in the log is verified and timed on all cores"
    return f"{text}; others failed ({failures})" if failures else text


def _absent(snapshot: Snapshot, name: str, args: dict[str, Any]) -> str:
    """Say what the log has instead of a workload it does not know."""
    from loopwright.autotune.log_near import nearest

    firsts = [entry.record for entry in snapshot.one_of_each()]
    if not firsts:
        snapshot.require_log()
        return "the log has no records"
    same = [record for record in firsts if record.name == name and record.args == args]
    if name and same:
        return (
            "the log has this name and these arguments, but for another formula (key "
            f"{same[0].workload[:12]}): the definition, a shape or a dtype has changed since"
        )
    text = f"it is not in the log, which has {len(firsts)} workload{'s' if len(firsts) > 1 else ''}"
    near = nearest(name, args, firsts)
    return f"{text}; nearest: {', '.join(record.label for record in near)}" if near else text


def _as_recorded(value: Any) -> Any:
    """An argument that has no plain JSON form stands in a record as its repr."""
    if isinstance(value, tuple):
        return tuple(map(_as_recorded, value))
    return value if value is None or isinstance(value, (int, float, str)) else repr(value)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"

"""What the command line does with logs: merge, best, prune, show, check."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from loopwright.autotune.front import OBJECTIVES, Named, chosen, named, timed
from loopwright.autotune.log_match import target_text
from loopwright.autotune.log_read import Entry, Problem, Snapshot, foreign_reason, read_log
from loopwright.autotune.log_write import replaced
from loopwright.autotune.record import Record, workload_label
from loopwright.sched.errors import LogError

PathLike: TypeAlias = "str | os.PathLike[str]"
_Group: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Written:
    """What ``merge``, ``best`` or ``prune`` wrote: how many records, how many they dropped, and the lines they could not use."""

    path: Path
    records: int
    dropped: int
    problems: tuple[Problem, ...]


@dataclass
class Row:
    """All trials of one workload on one target, summed up for a table."""

    workload: str
    name: str
    args: dict[str, Any]
    target: dict[str, Any]
    trials: int = 0
    ok: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Cause -> number of failed trials."""
    best_seconds: float | None = None
    """The least time of a verified record, on all cores."""
    best_screen: float | None = None
    """The least time of any good record, on one core."""

    @property
    def label(self) -> str:
        """The workload as ``name(arg=value, ...)``."""
        return workload_label(self.name, self.args)

    @property
    def target_label(self) -> str:
        """The target in a few words."""
        return target_text(self.target)

    def add(self, record: Record) -> None:
        """Count one more record."""
        self.trials += 1
        if not record.ok:
            self.failures[record.cause or "unknown"] += 1
            return
        self.ok += 1
        if record.verified:
            self.best_seconds = _least(self.best_seconds, record.seconds)
        self.best_screen = _least(self.best_screen, record.screen)


@dataclass(frozen=True)
class Report:
    """What a log holds: one row for each workload and target, in order of appearance, and its bad lines."""

    path: Path
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(row.trials for row in self.rows)

    @property
    def sound(self) -> bool:
        """Whether every line is a record."""
        return not self.problems


def show(path: PathLike) -> Report:
    """Sum up a log.

    Errors:
        LogError: there is no such file, it cannot be read, or it is no tuning log.
    """
    snapshot = read_log(path)
    rows: dict[_Group, Row] = {}
    for entry in snapshot.entries():
        record = entry.record
        row = rows.get(_group(record))
        if row is None:
            row = rows[_group(record)] = Row(record.workload, record.name, record.args, record.target)
        row.add(record)
    _require_log(snapshot, bool(rows))
    return Report(snapshot.path, tuple(rows.values()), tuple(snapshot.problems))


def check(path: PathLike) -> tuple[Problem, ...]:
    """Return every line that is no usable record, with the reason; an empty tuple for a sound log.

    Errors:
        LogError: there is no such file, it cannot be read, or it is no tuning log.
    """
    return show(path).problems


def merge(paths: Sequence[PathLike], out: PathLike, *, overwrite: bool = False) -> Written:
    """Write the records of several logs into one, in order; of lines that are the same to the byte, one is kept.

    Lines are copied as they stand, with fields this version does not know, and lines of a newer Loopwright too;
    damaged lines are left out and reported. ``out`` may be one of ``paths``.

    Errors:
        LogError: a file cannot be read or is no tuning log; ``out`` cannot be written, or exists and is not among
            ``paths`` (its records would be lost; ``overwrite=True`` allows that).
    """
    out = Path(out)
    _require_paths(paths)
    if not overwrite and not _among(out, paths) and out.exists() and out.stat().st_size:
        raise LogError(
            f"{out} exists, and its records would be lost; name it among the logs to merge, or remove it first"
        )
    _refuse_foreign(out)
    lines: dict[bytes, None] = {}
    total, problems = 0, list[Problem]()
    with replaced(out) as chunks:
        for snapshot in map(read_log, paths):
            for raw in _kept_lines(snapshot):
                total += 1
                lines.setdefault(raw)
            problems += snapshot.problems
        chunks += (raw + b"\n" for raw in lines)
    return Written(out, len(lines), total - len(lines), tuple(problems))


def best(paths: Sequence[PathLike], out: PathLike, objective: Named = "time") -> Written:
    """Write the best record of each workload and target, of those that are verified and timed on all cores.

    This is the log to deploy or to commit. A workload with no such record is left out.

    Args:
        paths: the logs to read.
        out: the log to write.
        objective: ``"time"``: the least ``seconds``; ``"memory"``: the least ``peak_bytes`` of what takes at most twice as long
            as the fastest; ``"both"``: all that no other record beats in both. For the last two, records that do not say their
            ``peak_bytes`` are left out, unless their workload has no others.

    Errors:
        LogError: a file cannot be read or is no tuning log; ``out`` cannot be written, is one of ``paths``, or is
            a file of another kind; there is no such objective.
    """
    named(objective, OBJECTIVES)
    out = _apart(out, paths, "the best ones")
    winners, total, problems = _winners(paths, objective)
    with replaced(out) as chunks:
        chunks += (entry.raw + b"\n" for entry in winners)
    return Written(out, len(winners), total - len(winners), problems)


def best_records(
    paths: Sequence[PathLike], objective: Named = "time"
) -> tuple[list[Record], tuple[Problem, ...]]:
    """The records that :func:`best` writes, and the lines that could not be used.

    Errors:
        LogError: a file cannot be read or is no tuning log; there is no such objective.
    """
    named(objective, OBJECTIVES)
    _require_paths(paths)
    winners, _, problems = _winners(paths, objective)
    return [entry.record for entry in winners], problems


def _winners(paths: Sequence[PathLike], objective: Named) -> tuple[list[Entry], int, tuple[Problem, ...]]:
    """What an objective asks for of each workload and target, how many records there are, and the lines that are none."""
    groups: dict[_Group, list[Entry]] = {}
    total, problems = 0, list[Problem]()
    for entry in _entries(paths, problems):
        total += 1
        if timed([entry.record]):
            groups.setdefault(_group(entry.record), []).append(entry)
    winners = []
    for group in groups.values():
        entries = {id(entry.record): entry for entry in group}
        winners += [entries[id(record)] for record in chosen([entry.record for entry in group], objective)]
    return winners, total, tuple(problems)


def prune(paths: Sequence[PathLike], out: PathLike, keep: int) -> Written:
    """Write the ``keep`` best records of each workload and target: less to carry about, and still enough to go on tuning from.

    Best are verified records with the least ``seconds``, then good ones with the least ``screen``; failures are left out. The
    order of the log stays.

    Errors:
        LogError: as for :func:`best`, or ``keep`` is less than 1.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise LogError(f"prune keeps at least 1 record of each workload, not {keep!r}")
    out = _apart(out, paths, "those to keep")
    groups: dict[_Group, list[tuple[Entry, int]]] = {}
    total, problems = 0, list[Problem]()
    for entry in _entries(paths, problems):
        groups.setdefault(_group(entry.record), []).append((entry, total))
        total += 1
    kept: dict[int, bytes] = {}
    for group in groups.values():
        good = sorted((item for item in group if item[0].record.ok), key=lambda item: _merit(item[0].record))
        kept.update((number, entry.raw) for entry, number in good[:keep])
    with replaced(out) as chunks:
        chunks += (kept[number] + b"\n" for number in sorted(kept))
    return Written(out, len(kept), total - len(kept), tuple(problems))


def _apart(out: PathLike, paths: Sequence[PathLike], what: str) -> Path:
    """The path of a log to write that is none of those that are read; ``what`` goes there."""
    out = Path(out)
    _require_paths(paths)
    if _among(out, paths):
        raise LogError(f"{out} is read and would lose its other records; name another file for {what}")
    _refuse_foreign(out)
    return out


def _entries(paths: Sequence[PathLike], problems: list[Problem]) -> Iterator[Entry]:
    """The records of several logs, in order; lines that are none are added to ``problems``."""
    for snapshot in map(read_log, paths):
        found = False
        for entry in snapshot.entries():
            found = True
            yield entry
        _require_log(snapshot, found)
        problems += snapshot.problems


def _merit(record: Record) -> tuple[bool, float]:
    """The less, the better."""
    final = record.verified and record.seconds is not None
    return not final, (record.seconds if final else record.screen) or float("inf")


def _kept_lines(snapshot: Snapshot) -> Iterable[bytes]:
    """Yield the lines worth keeping, in order: records, and what a newer Loopwright wrote."""
    good = {entry.line: entry.raw for entry in snapshot.entries()}
    newer = {problem.line for problem in snapshot.problems if problem.newer}
    _require_log(snapshot, bool(good))
    if newer:
        good |= {number: raw for number, raw in enumerate(snapshot.data.split(b"\n"), 1) if number in newer}
    return (good[number].rstrip(b"\r") for number in sorted(good))


def _group(record: Record) -> _Group:
    """Records are comparable if workload and target are equal in all that is recorded of them."""
    return record.workload, json.dumps(record.target, sort_keys=True)


def _require_log(snapshot: Snapshot, found: bool) -> None:
    if not found:
        snapshot.require_log()


def _require_paths(paths: Sequence[PathLike]) -> None:
    if isinstance(paths, (str, bytes)) or not paths:
        raise LogError("at least one tuning log must be named, in a list")


def _among(out: Path, paths: Sequence[PathLike]) -> bool:
    return any(os.path.realpath(out) == os.path.realpath(path) for path in paths)


def _refuse_foreign(out: Path) -> None:
    """An existing file is replaced only if it is a tuning log."""
    if out.exists() and foreign_reason(read_log(out).data) is not None:
        raise LogError(f"{out} exists and is not a tuning log; nothing was written to it")


def _least(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)

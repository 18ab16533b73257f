"""The tuning log: an append-only JSON Lines file of records.

Example:
    >>> import pathlib, tempfile
    >>> log = TuningLog(pathlib.Path(tempfile.mkdtemp()) / "tuned.jsonl")
    >>> log.append(Record(workload="0" * 64, target={"kind": "cpu"}, status="error", cause="run-timeout"))
    >>> log.count("0" * 64), [record.cause for record in log.records()], log.problems
    (1, ['run-timeout'], ())
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from loopwright.autotune.log_match import TargetLike, compare_targets, target_json
from loopwright.autotune.log_read import Entry, Problem, Snapshot, read_log
from loopwright.autotune.record import CAUSES, SCHEMA, Record, timestamp
from loopwright.sched.errors import LogError, path_of

if TYPE_CHECKING:
    from loopwright.autotune.log_write import Appender

__all__ = ["CAUSES", "SCHEMA", "Entry", "LogError", "Problem", "Record", "Snapshot", "TuningLog", "timestamp"]


class TuningLog:
    """The log at a path. Making one touches nothing; the first ``append`` creates the file.

    Every reading looks at the file as it then is, and every writing opens it anew, so it may be replaced,
    truncated or deleted, and other processes may write to it, while a ``TuningLog`` is in use.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path_of(path, "tuning log", LogError)
        self._appender: Appender | None = None
        self._problems: tuple[Problem, ...] = ()

    def __repr__(self) -> str:
        return f"TuningLog({str(self.path)!r})"

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The lines that the last reading had to skip, and why."""
        return self._problems

    def append(self, record: Record) -> None:
        """Write a record at the end of the log: the whole line, or nothing.

        Safe with other writers, and against being killed at any moment: a line torn by a kill is ended by the
        next writer, and then stands alone as one bad line.

        Errors:
            LogError: the file cannot be written (full disk, read-only, a directory ...), is locked by a process
                that does not go on, or is no tuning log. What it held is untouched.
        """
        self._writer().append(record.to_line())

    def prepare(self) -> None:
        """Create the file if need be, and fail now, rather than after the first measurement, if it is unwritable.

        Errors:
            LogError: as for :meth:`append`.
        """
        self._writer().prepare()

    def read(self) -> Snapshot:
        """Return what the log holds now; a file that is not there yet reads as empty.

        Errors:
            LogError: the file cannot be read.
        """
        return read_log(self.path, missing_ok=True)

    def records(
        self, workload: str | None = None, target: TargetLike | None = None, space: str | None = None
    ) -> list[Record]:
        """Return the records, oldest first; only those of a workload (its key), a target, a space, if given.

        A target means the same kind, processor and number of cores. Bad lines are skipped; see ``problems``.

        Errors:
            LogError: the file cannot be read, or is no tuning log at all.
        """
        return [entry.record for entry in self._entries(workload, target, space)]

    def count(self, workload: str, target: TargetLike | None = None, space: str | None = None) -> int:
        """Return how many trials, good and failed, the log has: what ``trials=N`` counts.

        Errors:
            LogError: the file cannot be read, or is no tuning log at all.
        """
        return sum(1 for _ in self._entries(workload, target, space))

    def best(
        self, workload: str, target: TargetLike | None = None, space: str | None = None
    ) -> Record | None:
        """Return the verified record with the least ``seconds`` (the earliest of equals), or None.

        Errors:
            LogError: the file cannot be read, or is no tuning log at all.
        """
        return min(
            (r for r in self.records(workload, target, space) if r.verified and r.seconds is not None),
            key=lambda record: record.seconds or 0.0,
            default=None,
        )

    def _entries(self, workload: str | None, target: TargetLike | None, space: str | None) -> Iterator[Entry]:
        snapshot = self.read()
        wanted = None if target is None else target_json(target)
        found = False
        for entry in snapshot.entries(workload):
            found = True
            record = entry.record
            if space is not None and record.space != space:
                continue
            if wanted is None or compare_targets(record.target, wanted).same:
                yield entry
        self._problems = tuple(snapshot.problems)
        if not found:
            snapshot.require_log()

    def _writer(self) -> Appender:
        if self._appender is None:
            from loopwright.autotune.log_write import Appender

            self._appender = Appender(self.path)
        return self._appender

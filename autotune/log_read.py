"""Reading a tuning log: one look at its bytes, then only the lines that are asked for are parsed.

The file is read whole (20 MB take a few milliseconds) and never mapped: a mapping of a file that someone else
truncates kills the process. Nothing here needs more than the standard library.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loopwright.autotune.record import NewerSchema, Record
from loopwright.sched.errors import LogError

# How `Record.to_line` begins. A line that begins otherwise is read all the same, only more slowly.
_HEAD = re.compile(rb'\{"v":\d,"workload":"[0-9a-f]{64}"')
_HEAD_LENGTH = 84
_START = b'{"v":'


@dataclass(frozen=True)
class Problem:
    """A line of a log that is no usable record; ``newer`` if only a newer Loopwright can read it."""

    path: Path
    line: int
    reason: str
    newer: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class Entry:
    """A record, the number of its line (from 1), and the line's bytes as they stand, without the newline."""

    line: int
    record: Record
    raw: bytes


@dataclass
class Snapshot:
    """What a log held when it was read; later writes to the file do not show.

    ``problems`` collects the lines met so far that are no records: iterating never fails because of a bad line.
    """

    path: Path
    data: bytes
    problems: list[Problem] = field(default_factory=list)

    def entries(self, workload: str | None = None) -> Iterator[Entry]:
        """Yield the records in the order they were written; with ``workload``, only those with that key.

        Example:
            >>> list(Snapshot(Path("empty.jsonl"), b"").entries())
            []
        """
        self.problems.clear()
        spans = self._spans() if workload is None else self._spans_with(workload.encode())
        for number, start, end in spans:
            entry = self._entry(number, start, end)
            if entry is not None and workload in (None, entry.record.workload):
                yield entry

    def one_of_each(self) -> Iterator[Entry]:
        """Yield the first record of every workload, parsing few lines more than those."""
        self.problems.clear()
        keys: set[str] = set()
        heads: set[bytes] = set()
        for number, start, end in self._spans():
            head = self.data[start : start + _HEAD_LENGTH]
            if head in heads:
                continue
            entry = self._entry(number, start, end)
            if entry is None or entry.record.workload in keys:
                continue
            keys.add(entry.record.workload)
            if _HEAD.fullmatch(head):
                heads.add(head)
            yield entry

    def require_log(self) -> None:
        """Refuse a file that is no tuning log at all; an empty one is a log.

        Errors:
            LogError: the file has content, and no line of it is a record, or at least the torn start of one.
        """
        reason = foreign_reason(self.data)
        if reason is not None:
            raise LogError(
                f"{self.path} is not a tuning log: it holds no record at all (its first line: {reason}).\n"
                "A tuning log is a JSON Lines file written by `loopwright tune`; was another file meant?"
            )

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield (line number, start, end) for every line; a last line without its newline counts as one."""
        start, number, data = 0, 0, self.data
        while start < len(data):
            number += 1
            end = data.find(b"\n", start)
            if end < 0:
                end = len(data)
            yield number, start, end
            start = end + 1

    def _spans_with(self, needle: bytes) -> Iterator[tuple[int, int, int]]:
        """Yield the lines that contain the key anywhere, in whatever order and spacing their fields are."""
        data, counted, number, at = self.data, 0, 1, 0
        while (at := data.find(needle, at)) >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            if end < 0:
                end = len(data)
            # Hopping from newline to newline is several times faster than bytes.count of a single byte.
            while (newline := data.find(b"\n", counted, start)) >= 0:
                number, counted = number + 1, newline + 1
            yield number, start, end
            at = end

    def _entry(self, number: int, start: int, end: int) -> Entry | None:
        raw = self.data[start:end]
        if not raw.strip():
            return None
        try:
            return Entry(number, Record.parse(raw), raw)
        except LogError as error:
            reason = _torn_reason(raw, end == len(self.data)) or str(error)
            self.problems.append(Problem(self.path, number, reason, isinstance(error, NewerSchema)))
            return None


def read_log(path: str | os.PathLike[str], *, missing_ok: bool = False) -> Snapshot:
    """Read the log at ``path`` as it is now; with ``missing_ok``, a file that is not there reads as empty.

    Errors:
        LogError: there is no such file, it is no ordinary file, or it cannot be read.
    """
    path = Path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise LogError(f"{path} is not a file (it is {_kind(path)}); a tuning log is a JSON Lines file")
        return Snapshot(path, path.read_bytes())
    except FileNotFoundError:
        if missing_ok:
            return Snapshot(path, b"")
        raise LogError(
            f"there is no tuning log {path}; `loopwright tune ... --log {path}` writes one"
        ) from None
    except OSError as error:
        raise LogError(f"the tuning log {path} cannot be read: {reason_of(error)}") from None


def _torn_reason(raw: bytes, unfinished: bool) -> str | None:
    """Recognise a line whose writer did not come to its end; ``unfinished``: it is the last, with no newline."""
    if unfinished and (raw.startswith(_START) or _START.startswith(raw)):
        return "the last line is cut short: its writer was stopped, or is still writing"
    if raw.startswith(_START) and not raw.rstrip().endswith(b"}"):
        return "the line is cut short: its writer was stopped"
    return None


def foreign_reason(data: bytes) -> str | None:
    """Return None if ``data`` reads as (the beginning of) a tuning log, else what is wrong with its first line."""
    first: str | None = None
    lines = data.split(b"\n")
    # The torn beginning of a record, however short, is the mark of an interrupted writer.
    if lines[-1] and _START.startswith(lines[-1]) and len(lines) == 1:
        return None
    for raw in lines:
        if not raw.strip(b" \t\r\0"):
            continue
        if raw.startswith(_START):
            return None
        try:
            Record.parse(raw)
            return None
        except NewerSchema:
            return None
        except LogError as error:
            first = first or str(error)
    return first


def reason_of(error: OSError) -> str:
    """Say in plain words why the operating system refused."""
    words = {
        errno.ENOSPC: "no space left on the disk",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file would exceed the size limit set for it",
        errno.EROFS: "the file system is read-only",
        errno.EACCES: "permission denied",
        errno.EPERM: "operation not permitted (is the file locked against changes?)",
        errno.EISDIR: "it is a directory",
        errno.ENOTDIR: "a part of the path is a file, not a directory",
        errno.ENAMETOOLONG: "the name is too long",
        errno.ELOOP: "too many symbolic links",
    }
    return words.get(error.errno or 0, error.strerror or str(error))


def _kind(path: Path) -> str:
    if path.is_dir():
        return "a directory"
    return "a pipe" if path.is_fifo() else "a device or socket"

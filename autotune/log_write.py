"""Writing a tuning log: whole lines only, whatever happens to the writer, the disk or the file.

The lock is ``flock`` on the log itself, and the line goes out in one ``O_APPEND`` write. A lock file beside the log
would be litter to commit by accident; this lock needs none, needs no package, and the kernel drops it when its
holder is killed. The write is atomic among appenders even where a file system has no locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loopwright.autotune.log_read import foreign_reason, reason_of
from loopwright.sched.errors import LogError

LOCK_SECONDS = 30.0
"""How long a writer waits for another one; a write takes microseconds, so only a stuck process holds so long."""

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
_HEAD_BYTES = 1 << 20


class Appender:
    """Appends lines to the log at a path, opening it afresh for each: a replaced or deleted log is no obstacle."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: tuple[int, int] | None = None

    def append(self, line: bytes) -> None:
        """Append one line, newline included; either all of it is in the file afterwards, or nothing.

        Errors:
            LogError: the file cannot be opened, locked or written, or is no tuning log. What it held is untouched.
        """
        with _opened(self.path) as descriptor:
            size = self._check(descriptor)
            # A torn tail, left by a writer that was killed, must not swallow this line: end it first.
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            _write_whole(descriptor, b"\n" + line if torn else line, size, self.path)

    def prepare(self) -> None:
        """Create the file if need be, and fail now if lines could not be appended later.

        Errors:
            LogError: as for :meth:`append`.
        """
        with _opened(self.path) as descriptor:
            self._check(descriptor)

    def _check(self, descriptor: int) -> int:
        """Return the file's size; refuse a file with other content than a log, once for each file."""
        info = os.fstat(descriptor)
        if info.st_size and (info.st_dev, info.st_ino) != self._known:
            head = os.pread(descriptor, _HEAD_BYTES, 0)
            reason = foreign_reason(head)
            if reason is not None:
                raise LogError(
                    f"{self.path} is not a tuning log (its first line: {reason}); nothing was written to it.\n"
                    "Name a new file, or an existing tuning log."
                )
        self._known = (info.st_dev, info.st_ino)
        return info.st_size


@contextmanager
def replaced(path: Path) -> Iterator[list[bytes]]:
    """Collect the new content of a file, and put it in place at once when the block ends.

    A log that is being appended to meanwhile is locked, so that no line falls between reading and replacing it;
    its writers then go on in the new file. On any failure the old file stays.

    Errors:
        LogError: the new file cannot be written.
    """
    path = Path(os.path.realpath(path))
    chunks: list[bytes] = []
    if path.exists():
        with _opened(path) as descriptor:
            yield chunks
            _put(path, chunks, stat.S_IMODE(os.fstat(descriptor).st_mode))
    else:
        yield chunks
        _put(path, chunks, None)


def _put(path: Path, chunks: list[bytes], mode: int | None) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(chunks)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        with suppress(OSError):
            os.unlink(temporary)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open the log for appending and hold its lock; make sure that it is the file now at ``path``."""
    deadline = time.monotonic() + LOCK_SECONDS
    descriptor = -1
    try:
        while True:
            descriptor = _open(path)
            _lock(descriptor, path, deadline)
            if _still_at(descriptor, path):
                break
            # Replaced or deleted between opening and locking: lines written to it would be lost.
            os.close(descriptor)
            descriptor = -1
        yield descriptor
        # Some file systems (NFS) report a full disk only here. A fork may hold a copy of the descriptor: unlock.
        closing, descriptor = descriptor, -1
        with suppress(OSError):
            fcntl.flock(closing, fcntl.LOCK_UN)
        os.close(closing)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        if descriptor >= 0:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            with suppress(OSError):
                os.close(descriptor)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:
        if path.parent.is_dir():
            raise
        raise LogError(
            f"the tuning log {path} cannot be written: there is no directory {path.parent}; create it first"
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LogError(f"the tuning log {path} cannot be written: it is a device or pipe, not a file")
    return descriptor


def _lock(descriptor: int, path: Path, deadline: float) -> None:
    pause = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LogError(
                    f"the tuning log {path} cannot be written: another process has held it locked for "
                    f"{LOCK_SECONDS:.0f} s (is it suspended?)"
                ) from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            raise
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _still_at(descriptor: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _write_whole(descriptor: int, data: bytes, size: int, path: Path) -> None:
    """Write all of ``data`` at the end of the file, or take back what was written of it."""
    written = 0
    try:
        # One write suffices, save on a full disk: there the first one may end early and the next one says why.
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except BaseException as error:
        # Cut off only our own part: a writer that takes no lock may have added lines behind it.
        with suppress(OSError):
            if os.fstat(descriptor).st_size == size + written:
                os.ftruncate(descriptor, size)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from None
        raise


def _cannot_write(path: Path, error: OSError) -> LogError:
    return LogError(f"the tuning log {path} cannot be written: {reason_of(error)}; what it held is untouched")

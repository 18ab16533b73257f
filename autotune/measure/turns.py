"""Whose turn it is on a device that all workers share: a lock on a file, which the system opens when a worker dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turns:
    """Lets one worker at a time run something, and none compile meanwhile where that would disturb it.

    Args:
        path: a file of the workers' own, made if it is not there.
        disturbing: whether compiling disturbs what runs: the device is the CPU that compiles.

    Example::

        turns = Turns(folder / "device", disturbing=True)
        with turns.building():  # beside others that build
            ...
        with turns.alone():  # beside nobody
            ...
    """

    def __init__(self, path: Path, disturbing: bool) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._disturbing = disturbing
        self._mine = False

    @contextmanager
    def building(self) -> Iterator[None]:
        """Several may build at once."""
        if not self._disturbing:
            yield
            return
        with self._held(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One may run; entered again inside, it is still the same one's turn."""
        if self._mine:
            yield
            return
        with self._held(fcntl.LOCK_EX):
            self._mine = True
            try:
                yield
            finally:
                self._mine = False

    @contextmanager
    def _held(self, how: int) -> Iterator[None]:
        fcntl.flock(self._file, how)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

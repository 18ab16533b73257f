"""The parent's end of one worker process: start, talk, watch, kill, and find out what it died of."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from typing import IO, Any

from loopwright.autotune.measure.channel import decode, encode
from loopwright.autotune.measure.nursery import Nursery, last_line


class Child:
    """A running worker."""

    def __init__(self, nursery: Nursery, threads: int, core: int | None) -> None:
        self._nursery = nursery
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by kill)
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self._number = nursery.start(threads, core, (theirs_in, theirs_out, self._errors.fileno()))
        os.close(theirs_in)
        os.close(theirs_out)
        self._input, self.output = os.fdopen(ours_in, "wb", 0), os.fdopen(ours_out, "rb", 0)
        os.set_blocking(ours_out, False)
        self._pending = b""
        self.process: int | None = None  # as the worker said, once it is ready
        self.ended = False

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; a worker that is gone is noticed when its end is read."""
        data = memoryview(encode(message))
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[self._input.write(data) or 0 :]

    def receive(self) -> list[dict[str, Any]]:
        """The messages that have come in, without waiting; sets ``ended`` at the end of the stream."""
        while True:
            try:
                data = os.read(self.output.fileno(), 1 << 16)
            except BlockingIOError:
                break
            if not data:
                self.ended = True
                break
            self._pending += data
        *lines, self._pending = self._pending.split(b"\n")
        return [message for line in lines if (message := decode(line)) is not None]

    def resident_bytes(self) -> int:
        """Memory the worker holds; 0 if it is gone, or not there yet."""
        import psutil

        if self.process is None:
            return 0
        try:
            return int(psutil.Process(self.process).memory_info().rss)
        except psutil.Error:
            return 0

    def kill(self) -> None:
        """End the worker now, and give back all it held."""
        self._nursery.kill(self._number)
        for stream in (self._input, self.output, self._errors):
            with contextlib.suppress(OSError):
                stream.close()

    def last_words(self) -> str:
        """The last line the worker wrote to standard error."""
        return last_line(self._errors) or self._nursery.last_words()

    def how_it_ended(self) -> str:
        """``killed by SIGSEGV`` or ``exit status 3``, of a worker whose stream has ended."""
        code = self._nursery.status(self._number)
        if code is None:
            return "closed its output and went on"
        if code >= 0:
            return f"exit status {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

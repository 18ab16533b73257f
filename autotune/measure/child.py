"""The parent's end of one worker process: start, talk, watch, kill, and find out what it died of."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any

from loopwright.autotune.measure.channel import decode, encode

# A fresh interpreter that can import what this one can, but not from the folder it is started in or from that of the
# user's script: a file of theirs called `random.py` is not ours to import.
_BOOT = (
    "import sys, json; sys.path[:] = [p for p in sys.path if p]; "
    "sys.path += [p for p in json.loads(sys.argv[1]) if p not in sys.path]; "
    "from loopwright.autotune.measure.worker import main; main()"
)


def worker_command() -> list[str]:
    """The command line of a worker, without its own arguments."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    script = os.path.dirname(os.path.abspath(file)) if file else None
    paths = [os.path.abspath(path) for path in sys.path if path and os.path.abspath(path) != script]
    return [sys.executable, "-c", _BOOT, json.dumps(paths)]


class Child:
    """A running worker."""

    def __init__(self, threads: int, core: int | None, command: Sequence[str] | None = None) -> None:
        self.core = core
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by kill)
        environment = {**os.environ, "TVM_NUM_THREADS": str(threads), "TVM_BIND_THREADS": "0"}
        environment.pop("OMP_NUM_THREADS", None)
        settings = json.dumps({"core": core, "parent": os.getpid()})
        self.process = subprocess.Popen(
            [*(command or worker_command()), settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            bufsize=0,
            start_new_session=True,  # not in the terminal's group: Ctrl-C is the tuner's to handle
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._input, self.output = self.process.stdin, self.process.stdout
        os.set_blocking(self.output.fileno(), False)
        self._pending = b""
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
        """Memory the worker holds; 0 if it is gone."""
        import psutil

        try:
            return int(psutil.Process(self.process.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def kill(self) -> None:
        """End the worker now, and give back all it held."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for stream in (self._input, self.output, self._errors):
            with contextlib.suppress(OSError):
                stream.close()

    def last_words(self) -> str:
        """The last line the worker wrote to standard error."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4096))
        lines = [line.strip() for line in self._errors.read().decode(errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def how_it_ended(self) -> str:
        """``killed by SIGSEGV`` or ``exit status 3``, of a worker whose stream has ended."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its output and went on"
        if code >= 0:
            return f"exit status {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

"""Where workers come from: the tuner's end of the process that they are forked from (``forking.py``)."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

from loopwright.autotune.measure.forking import END_SECONDS, MESSAGE_BYTES, padded

# A fresh interpreter that can import what this one can, but not from the folder it is started in or from that of the
# user's script: a file of theirs called `random.py` is not ours to import.
_BOOT = (
    "import sys, json; sys.path[:] = [p for p in sys.path if p]; "
    "sys.path += [p for p in json.loads(sys.argv[1]) if p not in sys.path]; "
    "from loopwright.autotune.measure.forking import main; main()"
)


def usual_command() -> list[str]:
    """The command line of the process that workers are forked from, without its own argument."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    script = os.path.dirname(os.path.abspath(file)) if file else None
    paths = [os.path.abspath(path) for path in sys.path if path and os.path.abspath(path) != script]
    return [sys.executable, "-c", _BOOT, json.dumps(paths)]


class Nursery:
    """Starts workers, ends them, and knows what they died of. A context manager: leaving it ends all.

    Args:
        command: another command line than the usual one.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = list(command or usual_command())
        self._numbers = itertools.count()
        self._launch()

    def _launch(self) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by close)
        self._control, theirs = socket.socketpair()
        environment = {**os.environ, "TVM_BIND_THREADS": "0", "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("OMP_NUM_THREADS", None)
        with theirs:
            self._process = subprocess.Popen(
                [*self._command, json.dumps({"socket": theirs.fileno()})],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # not in the terminal's group: Ctrl-C is the tuner's to handle
            )

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        self._process.kill()
        self._process.wait()
        self._control.close()
        self._errors.close()

    def start(self, threads: int, core: int | None, streams: Sequence[int]) -> int:
        """Have a worker started over these streams (input, output, errors); its number.

        If the process that workers are forked from is gone, another one is started.
        """
        number = next(self._numbers)
        request = padded({"op": "start", "worker": number, "threads": threads, "core": core})
        try:
            socket.send_fds(self._control, [request], list(streams))
        except (BrokenPipeError, ConnectionResetError):
            self.close()
            self._launch()
            socket.send_fds(self._control, [request], list(streams))
        return number

    def kill(self, worker: int) -> None:
        """End a worker now."""
        self._ask("kill", worker)

    def status(self, worker: int) -> int | None:
        """The exit status of a worker that has closed its output, negative for a signal; None if it goes on all the same."""
        return self._ask("status", worker)

    def last_words(self) -> str:
        """The last line of what the process said that workers are forked from."""
        return last_line(self._errors)

    def _ask(self, op: str, worker: int) -> int | None:
        """Ask, and wait for the answer; where nobody answers, the worker has died with its parent."""
        with contextlib.suppress(OSError):
            self._control.sendall(padded({"op": op, "worker": worker}))
            self._control.settimeout(4 * END_SECONDS)
            answer = self._control.recv(MESSAGE_BYTES, socket.MSG_WAITALL)
            if answer:
                status = json.loads(answer)["status"]
                return int(status) if status is not None else None
        self._process.kill()
        return self._process.wait() or -signal.SIGKILL


def last_line(stream: IO[bytes]) -> str:
    """The last line in a file."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 4096))
    lines = [line.strip() for line in stream.read().decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")

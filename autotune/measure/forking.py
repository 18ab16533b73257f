"""The process that workers are forked from: it imports the compiler once, for all of them and all that come after.

A fresh interpreter needs more than a second for that. Run as a process; ``nursery.py`` is the tuner's end. Nothing runs here but
what is in this file, so a fork finds no locks that somebody holds.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from loopwright.autotune.measure.process import die_with_parent

# The length of a request and of an answer: JSON, filled up with spaces.
MESSAGE_BYTES = 96
# How long a worker that has closed its output may take to end, and how often it is looked for.
END_SECONDS, LOOK_SECONDS = 5.0, 0.002


def padded(message: dict[str, Any]) -> bytes:
    """A message as it is sent."""
    return json.dumps(message).encode().ljust(MESSAGE_BYTES)


def main() -> None:
    """Import what workers need, and fork one for each request, until the tuner is gone."""
    gc.disable()  # nothing that is imported is thrown away: looking takes a tenth of the time
    import loopwright.autotune.measure.build
    import loopwright.autotune.verify  # noqa: F401

    control = socket.socket(fileno=json.loads(sys.argv[-1])["socket"])
    die_with_parent()
    gc.collect()
    gc.freeze()  # what was imported stays: no collection need look at it again
    gc.enable()
    workers: dict[int, int] = {}  # number -> process
    parent = os.getpid()
    while True:
        data, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 3)
        if not data:
            return
        request = json.loads(data)
        worker = request["worker"]
        if request["op"] == "start":
            process = os.fork()
            if process == 0:
                control.close()
                become_worker(request, fds, parent)
            workers[worker] = process
            for fd in fds:
                os.close(fd)
            continue
        status: int | None = -signal.SIGKILL  # of a worker of a predecessor, with which it has died
        if worker in workers:
            if request["op"] == "kill":
                os.kill(workers[worker], signal.SIGKILL)
            status = awaited(workers[worker])
            if status is not None:
                del workers[worker]
        control.sendall(padded({"status": status}))


def awaited(process: int) -> int | None:
    """The exit status of a process that is about to end, negative for a signal; None if it does not end."""
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(LOOK_SECONDS)
    return None


def become_worker(settings: dict[str, Any], fds: list[int], parent: int) -> NoReturn:
    """Be a worker of process ``parent`` from here on, over the given input, output and error stream."""
    from loopwright.autotune.measure import worker

    status = 1
    try:
        os.setsid()
        for stream, fd in enumerate(fds):
            os.dup2(fd, stream)
        os.closerange(3, max(fds) + 1)
        os.environ["TVM_NUM_THREADS"] = str(settings["threads"])
        worker.main(settings["core"], parent)
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)

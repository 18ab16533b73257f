"""Lending this machine to tuners elsewhere: TVM's RPC server, started anew whenever it ends.

A candidate that crashes takes the server's process with it. TVM's own command then goes on without serving: the device would
be lost to the farm until somebody looks.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from loopwright.autotune.measure.process import die_with
from loopwright.sched.runtime.hardware import cpu_features

# Before it is started again: long enough not to burn a core where it ends at once.
PAUSE_SECONDS = 0.5


def lend(tracker: tuple[str, int], key: str, host: str, say: Callable[[str], None]) -> None:
    """Serve until this process is ended.

    Args:
        tracker: where the tracker listens.
        key: what this machine is lent as.
        host: the address that tuners reach it by; "" for the one that the tracker sees.
        say: told what happens, in a line.
    """
    command = [sys.executable, "-m", __name__, *map(str, tracker), key, host, str(os.getpid())]
    while True:
        say(f"lent as {key} by the tracker at {tracker[0]}:{tracker[1]}")
        process = subprocess.Popen(command, start_new_session=True)
        try:
            process.wait()
        finally:
            _end(process)
        say("the server ended, as it does when a candidate crashes; it is started again")
        time.sleep(PAUSE_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server, and the session it serves."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _serve(tracker: tuple[str, int], key: str, host: str) -> None:
    """TVM's server, in this process, until it fails."""
    from tvm.rpc.server import _listen_loop

    cpu_features()  # asks the system for the registers that kernels may use: sessions are forks of this process
    with socket.create_server(("", 0)) as listening:
        port = listening.getsockname()[1]
        _listen_loop(listening, port, key, tracker, "", host or None)


if __name__ == "__main__":
    address, number, name, reached, parent = sys.argv[1:]
    die_with(int(parent))
    _serve((address, int(number)), name, reached)

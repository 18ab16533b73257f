"""A farm of devices on this machine: a tracker, and servers that can be stopped, ended and started again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from loopwright.autotune.measure.rpc import Farm
from loopwright.sched.errors import TuneError

TRACKER = """
from tvm.rpc.tracker import PopenTrackerServerState
print(PopenTrackerServerState("127.0.0.1", 9190, 9890, silent=True).port, flush=True)
"""
LENDER = """
import sys
from loopwright.autotune.measure.lend import lend
lend(("127.0.0.1", int(sys.argv[1])), sys.argv[2], "127.0.0.1", print)
"""


class Tracker:
    """A tracker of TVM's."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", TRACKER], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def farm(self, key: str) -> Farm:
        return Farm("127.0.0.1", self.port, key)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Device:
    """A machine that is lent."""

    def __init__(self, farm: Farm, log: Path) -> None:
        self.farm, self.log = farm, log
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", LENDER, str(self.farm.port), self.farm.key]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def signal(self, number: int) -> None:
        """Send a signal to all processes that a machine without power would lose."""
        own = psutil.Process(self.process.pid)
        for process in (own, *own.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # its session was over meanwhile
                process.send_signal(number)

    def suspend(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def vanish(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()


def wait_for(farm: Farm, devices: int) -> None:
    """Until the tracker knows so many devices."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if farm.count() == devices:
                return
        except TuneError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{farm} has not got {devices} devices")

"""Devices that a tracker of TVM's lends: where it is, what it has, and borrowing one."""

from __future__ import annotations

import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from loopwright.sched.errors import TuneError

FORM = "rpc://HOST:PORT/KEY, such as rpc://farm:9190/rpi5"
# How long a tracker, and a device that it names, may take to answer.
ANSWER_SECONDS = 15.0
# When a device is said not to have answered yet.
SOON_SECONDS = 1.0
# Between looks whether a device is free: at first, and at most.
LOOK_SECONDS, MOST_LOOK_SECONDS = 0.01, 0.5


@dataclass(frozen=True)
class Farm:
    """Devices of one kind, which a tracker lends under one key.

    Attributes:
        host, port: where the tracker listens.
        key: what the devices are lent as.
    """

    host: str
    port: int
    key: str

    @classmethod
    def parse(cls, text: object) -> Farm:
        """Read ``rpc://host:port/key``.

        Raises:
            TuneError: it is none.

        Example:
            >>> Farm.parse("rpc://farm:9190/rpi5")
            Farm(host='farm', port=9190, key='rpi5')
        """
        try:
            parts = urlsplit(text if isinstance(text, str) else "")
            host, port, key = parts.hostname, parts.port, parts.path.removeprefix("/")
        except ValueError:  # a port that is no number
            host, port, key = None, None, ""
        plain = key.replace("-", "").replace("_", "").replace(".", "").isalnum()
        if not (host and port and plain and parts.scheme == "rpc"):
            raise TuneError(f"device={text!r}: expected {FORM}")
        return cls(host, port, key)

    def __str__(self) -> str:
        return f"rpc://{self.host}:{self.port}/{self.key}"

    def count(self) -> int:
        """How many devices there are, lent or free.

        Raises:
            TuneError: nothing listens, what listens is no tracker, or it has none of that key.
        """
        try:
            found = [info["key"] for info in self._summary()["server_info"]]
        except OSError as error:
            raise TuneError(
                f"{self}: no tracker answers at {self.host}:{self.port} ({error.strerror or error}); start one there: "
                f"python -m tvm.exec.rpc_tracker --host 0.0.0.0 --port {self.port}"
            ) from None
        number = found.count(f"server:{self.key}")
        if not number:
            others = ", ".join(sorted({key.removeprefix("server:") for key in found})) or "none"
            raise TuneError(
                f"{self}: the tracker has no device of that key (it has: {others}); on the device, run: "
                f"loopwright lend --tracker {self.host}:{self.port} --key {self.key}"
            )
        return number

    def _summary(self) -> dict[str, Any]:
        """What the tracker has.

        Raises:
            OSError: nothing listens, or it is no tracker.
        """
        from tvm.rpc import base

        with socket.create_connection((self.host, self.port), timeout=ANSWER_SECONDS) as connection:
            connection.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
            magic = connection.recv(4, socket.MSG_WAITALL)
            if magic != struct.pack("<i", base.RPC_TRACKER_MAGIC):
                raise OSError("what listens there is no tracker")
            base.sendjson(connection, [base.TrackerCode.SUMMARY])
            status, summary = base.recvjson(connection)
        if status != base.TrackerCode.SUCCESS:
            raise OSError("the tracker refused to say what it has")
        found: dict[str, Any] = summary
        return found

    def _obstacle(self) -> str | None:
        """Why no device can be borrowed now; None if one can."""
        try:
            queue = self._summary()["queue_info"].get(self.key, {})
        except OSError as error:
            return f"no tracker answers ({error.strerror or error})"
        return None if queue.get("free") else "no device is free, or none is there"


@contextmanager
def borrowed(farm: Farm, seconds: float) -> Iterator[Any]:
    """A session on a device, which nobody else has meanwhile; waits for one, however long that takes.

    What it waits for goes to standard error: the tuner shows the last line of that if it gives up, at whatever moment.

    Args:
        farm: whose devices.
        seconds: when the device ends the session by itself.
    """
    session, said, pause = None, "", LOOK_SECONDS
    while session is None:
        obstacle = farm._obstacle()
        if obstacle is None:
            session = _requested(farm, seconds)
            obstacle = "a device was lent, and does not answer"
        if session is None:
            if obstacle != said:
                _say(farm, obstacle)
                said = obstacle
            time.sleep(pause)
            pause = min(2 * pause, MOST_LOOK_SECONDS)
    yield session


def _requested(farm: Farm, seconds: float) -> Any:
    """A session on the next free device; None if it does not come about in time.

    TVM waits without end for a device that is lent and hangs. It does so in a thread here, which is left behind then.
    """
    from tvm.rpc import connect_tracker

    found: list[Any] = []

    def request() -> None:
        try:
            found.append(
                connect_tracker(farm.host, farm.port).request(farm.key, session_timeout=seconds, max_retry=1)
            )
        except Exception as error:  # TVM raises classes of its own; another try follows
            _say(farm, str(error).strip().splitlines()[-1])

    thread = threading.Thread(target=request, name="rpc-request", daemon=True)
    thread.start()
    thread.join(SOON_SECONDS)
    if thread.is_alive():
        _say(farm, "a device that the tracker calls free was asked for, and has not answered yet")
    thread.join(ANSWER_SECONDS)
    return found[0] if found else None


def _say(farm: Farm, words: str) -> None:
    print(f"{farm}: {words}", file=sys.stderr, flush=True)

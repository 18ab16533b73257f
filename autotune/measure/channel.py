"""JSON lines over pipes: how the tuner and a worker talk."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

MARK = b"\x1e"  # begins every message, so that a stray print in the worker's start-up is not taken for one


def encode(message: dict[str, Any]) -> bytes:
    """One message as a line."""
    return MARK + json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any] | None:
    """The message of a line; None for anything else."""
    _, found, text = line.rpartition(MARK)
    if not found:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class Channel:
    """The worker's end. It takes standard output for itself; what anything else prints goes to standard error."""

    def __init__(self) -> None:
        self._reader: BinaryIO = os.fdopen(os.dup(0), "rb")
        self._writer = os.dup(1)
        os.dup2(2, 1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        sys.stdout = sys.stderr

    def receive(self) -> dict[str, Any] | None:
        """The next message; None when the tuner is gone."""
        while True:
            line = self._reader.readline()
            if not line:
                return None
            message = decode(line)
            if message is not None:
                return message

    def send(self, **message: Any) -> None:
        """Send a message. Ends the process if nobody listens any more."""
        data = encode(message)
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except BrokenPipeError:
            os._exit(0)

"""What a worker process does before anything else: its core, its limits, and dying with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1


def settle(core: int | None, parent: int) -> None:
    """Pin this process to a core (None: leave it free), write no core dumps, and do not outlive ``parent``."""
    die_with(parent)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Ctrl-C in a terminal reaches the whole group: the tuner decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if core is not None and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {core})


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends, however it ends."""
    die_with_parent()
    # The parent may have gone before the request; and the request is tied to the thread that started us, and is not there
    # on other systems. A thread that looks now and then covers all of that.
    threading.Thread(target=_watch, args=(parent,), name="parent-watch", daemon=True).start()


def die_with_parent() -> None:
    """Ask the system to kill this process when its parent ends; only Linux does."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)

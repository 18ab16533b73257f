"""Facts about this host that measuring depends on."""

from __future__ import annotations

import os


def usable_cores() -> tuple[int, ...]:
    """The cores this process may run on; empty where the system does not say.

    Example:
        >>> len(usable_cores()) <= (os.cpu_count() or 1)
        True
    """
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return ()


def memory_limit() -> int:
    """How much memory a candidate may take: a quarter of the machine's, at most 8 GiB."""
    import psutil

    return min(8 << 30, int(psutil.virtual_memory().total) // 4)

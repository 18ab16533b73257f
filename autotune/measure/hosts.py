"""Facts about this host that measuring depends on."""

from __future__ import annotations

import os
import platform
from functools import cache
from typing import TYPE_CHECKING

from loopwright.sched.runtime.device.target import DeviceTarget

if TYPE_CHECKING:
    from loopwright.sched.runtime.target import Target


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


def measured_on(target: Target) -> str:
    """What candidates for a target are measured on, in words: this host's processor, or the device with its driver."""
    if isinstance(target, DeviceTarget):
        from loopwright.sched.runtime.device.opencl import device_text

        return device_text(target)
    return device_name()


@cache
def device_name() -> str:
    """The processor's name, as the system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()

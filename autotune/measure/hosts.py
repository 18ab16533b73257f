"""Facts about this host that measuring depends on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.hardware import processor_name

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
        from loopwright.sched.runtime.device import cuda_runtime, opencl

        return (cuda_runtime if target.kind == "cuda" else opencl).device_text(target)
    return processor_name()

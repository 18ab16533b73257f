"""What a CUDA kernel takes of a GPU, as NVIDIA's compiler counts it; no GPU is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loopwright.sched.errors import TargetError
from loopwright.sched.runtime.device.cuda_compiler import report
from loopwright.sched.runtime.device.target import DeviceTarget

_NAME = re.compile(r"Compiling entry function '([^']+)'")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class Resources:
    """Of one kernel: registers of a thread, bytes of shared memory of a block, bytes that a thread spills (stored, loaded)."""

    kernel: str
    registers: int
    shared: int
    spills: tuple[int, int]


def resources_of(source: str, target: DeviceTarget, exact: bool) -> tuple[Resources, ...]:
    """Compile CUDA source as it would be run, and read what the compiler says of each kernel; see :func:`cubin` for ``exact``.

    Raises:
        TargetError: the target is no CUDA, or there is no ``nvcc``.
        BuildError: ``nvcc`` refused, or took more than five minutes.
    """
    if target.kind != "cuda":
        raise TargetError(f"resources are counted of kernels for cuda, not for {target.kind}")
    return tuple(_read(report(source, target.mcpu, exact)))


def _read(said: str) -> list[Resources]:
    """The compiler's report, a paragraph for each kernel."""
    found = []
    for part in said.split("Compiling entry function")[1:]:
        name = _NAME.search(f"Compiling entry function{part}")
        used, shared, spills = _USED.search(part), _SHARED.search(part), _SPILLS.search(part)
        stored, loaded = (int(spills[1]), int(spills[2])) if spills else (0, 0)
        registers, bytes_ = int(used[1]) if used else 0, int(shared[1]) if shared else 0
        found.append(Resources(name[1] if name else "", registers, bytes_, (stored, loaded)))
    return found

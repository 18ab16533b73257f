"""What a CUDA kernel takes of a GPU, as NVIDIA's compiler counts it; no GPU is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from loopwright.sched.errors import BuildError, TargetError
from loopwright.sched.runtime.device.target import DeviceTarget

SECONDS = 300
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


def resources_of(source: str, target: DeviceTarget) -> tuple[Resources, ...]:
    """Compile CUDA source to machine code, which is thrown away, and read what the compiler says of each kernel.

    Raises:
        TargetError: the target is no CUDA, or there is no ``nvcc`` on the path.
        BuildError: ``nvcc`` refused, or took more than five minutes.
    """
    if target.kind != "cuda":
        raise TargetError(f"resources are counted of kernels for cuda, not for {target.kind}")
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise TargetError("resources are counted by NVIDIA's compiler, and there is no nvcc on the path")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.cu"
        path.write_text(source)
        command = [
            nvcc,
            f"-arch={target.mcpu}",
            "--fmad=false",
            "-cubin",
            "-Xptxas=-v",
            "-o",
            "out.cubin",
            path.name,
        ]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise BuildError(f"nvcc took more than {SECONDS} seconds") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or ["no reason given"]
        raise BuildError(f"nvcc refused: {lines[0]}")
    return tuple(_read(done.stderr))


def _read(report: str) -> list[Resources]:
    """The compiler's report, a paragraph for each kernel."""
    found = []
    for part in report.split("Compiling entry function")[1:]:
        name = _NAME.search(f"Compiling entry function{part}")
        used, shared, spills = _USED.search(part), _SHARED.search(part), _SPILLS.search(part)
        stored, loaded = (int(spills[1]), int(spills[2])) if spills else (0, 0)
        registers, bytes_ = int(used[1]) if used else 0, int(shared[1]) if shared else 0
        found.append(Resources(name[1] if name else "", registers, bytes_, (stored, loaded)))
    return found

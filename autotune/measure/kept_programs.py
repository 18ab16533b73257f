"""The programs that candidates were screened in, by schedule: a driver that keeps what it compiled has them at once again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from loopwright.autotune.measure.run_device import Candidate
from loopwright.sched.lowering.device.emit import KernelFunction
from loopwright.sched.lowering.stmt import Buffer
from loopwright.sched.runtime.device.opencl import OpenClProgram, compiled
from loopwright.sched.runtime.device.target import DeviceTarget


class KeptPrograms:
    """Sources in a folder that all workers of a run have.

    A finalist is compiled by another worker than the one that screened it, by itself. PoCL keeps its code by the source, which
    was that of several candidates together: asked for with the same source, nothing is compiled, nor lowered.
    """

    def __init__(self, folder: Path, target: DeviceTarget) -> None:
        self.folder, self.target = folder, target
        folder.mkdir(exist_ok=True)

    def keep(self, schedules: Sequence[str], several: Sequence[Candidate]) -> None:
        """Note in which program each candidate is, and how its kernels are run; not where the disk is full."""
        with suppress(OSError):
            for schedule, candidate in zip(schedules, several, strict=True):
                self._keep(schedule, candidate)

    def _keep(self, schedule: str, candidate: Candidate) -> None:
        program = candidate.program
        assert isinstance(program, OpenClProgram)
        source = program.source.encode()
        text = self.folder / f"{_digest(source)}.cl"
        if not text.exists():
            text.write_bytes(source)
        note = self._note(schedule)
        # A reader sees all of it or nothing.
        whole = note.with_suffix(".new")
        whole.write_text(json.dumps({"source": text.name, **_launches(program.kernels, candidate.arrays)}))
        whole.replace(note)

    def find(self, schedule: str) -> Candidate | None:
        """The candidate of a schedule as it was kept; None if it was not."""
        note = self._note(schedule)
        if not note.exists():
            return None
        kept = json.loads(note.read_text())
        source = (self.folder / kept["source"]).read_text()
        buffers = [
            Buffer(name, tuple(shape), dtype, "global", name) for name, shape, dtype in kept["buffers"]
        ]
        kernels = [_kernel(kernel, buffers) for kernel in kept["kernels"]]
        program = OpenClProgram(compiled(source, self.target), source, kernels, self.target)
        return Candidate(buffers[: kept["arrays"]], program)

    def _note(self, schedule: str) -> Path:
        return self.folder / f"{_digest(schedule.encode())}.json"


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def _launches(kernels: Sequence[KernelFunction], arrays: Sequence[Buffer]) -> dict[str, Any]:
    """How kernels are run, as JSON; of the buffers, the first are the candidate's ``arrays``."""
    buffers = list(dict.fromkeys([*arrays, *(buffer for kernel in kernels for buffer in kernel.arrays)]))
    return {
        "buffers": [[b.name, b.shape, b.dtype] for b in buffers],
        "arrays": len(arrays),
        "kernels": [
            {"name": k.name, "arrays": [buffers.index(b) for b in k.arrays], "grid": k.grid, "block": k.block}
            for k in kernels
        ],
    }


def _kernel(kept: Mapping[str, Any], buffers: Sequence[Buffer]) -> KernelFunction:
    """A kernel that is compiled already."""
    arrays = tuple(buffers[n] for n in kept["arrays"])
    return KernelFunction(kept["name"], None, arrays, tuple(kept["grid"]), tuple(kept["block"]), exact=False)

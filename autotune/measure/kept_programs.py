"""The programs that candidates were screened in, by their code: a driver that keeps what it compiled has them at once again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from loopwright.autotune.measure.run_device import Candidate
from loopwright.sched.runtime.device.build import DeviceLowered
from loopwright.sched.runtime.device.opencl import OpenClProgram, compiled
from loopwright.sched.runtime.device.target import DeviceTarget


class KeptPrograms:
    """Sources in a folder that all workers of a run have.

    A finalist is compiled by another worker than the one that screened it, by itself. PoCL keeps its code by the source, which
    was that of several candidates together: asked for with the same source, nothing is compiled.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def keep(self, several: Sequence[Candidate]) -> None:
        """Note in which program each candidate is, and under which names its kernels; not where the disk is full."""
        with suppress(OSError):
            for candidate in several:
                self._keep(candidate)

    def _keep(self, candidate: Candidate) -> None:
        program = candidate.program
        assert isinstance(program, OpenClProgram)
        source = program.source.encode()
        text = self.folder / f"{hashlib.sha256(source).hexdigest()[:16]}.cl"
        if not text.exists():
            text.write_bytes(source)
        note = {"source": text.name, "kernels": [kernel.name for kernel in program.kernels]}
        # A reader sees all of it or nothing.
        whole = self.folder / f"{candidate.lowered.code}.new"
        whole.write_text(json.dumps(note))
        whole.replace(self._note(candidate.lowered))

    def find(self, lowered: DeviceLowered) -> Candidate | None:
        """A candidate as it was kept; None if it was not."""
        note = self._note(lowered)
        if not note.exists():
            return None
        kept = json.loads(note.read_text())
        source = (self.folder / kept["source"]).read_text()
        kernels = [
            replace(kernel, name=name) for kernel, name in zip(lowered.func, kept["kernels"], strict=True)
        ]
        assert isinstance(lowered.target, DeviceTarget)
        program = OpenClProgram(compiled(source, lowered.target), source, kernels, lowered.target)
        return Candidate(lowered, program)

    def _note(self, lowered: DeviceLowered) -> Path:
        return self.folder / f"{lowered.code}.json"

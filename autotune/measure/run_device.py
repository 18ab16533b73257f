"""What running candidates on OpenCL and on CUDA devices has in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loopwright.autotune.measure.runner import Setting
from loopwright.sched.runtime.device.build import DeviceLowered, programs_of

if TYPE_CHECKING:
    from loopwright.sched.lowering.stmt import Buffer
    from loopwright.sched.runtime.build import Lowered
    from loopwright.sched.runtime.device.cuda import CudaProgram, CudaSteps
    from loopwright.sched.runtime.device.opencl import OpenClProgram, Steps

# Calls in a sample, at most: each is a command that waits in the device's queue.
MOST_CALLS = 100
# What a cache holds, where the device does not say.
CACHE_BYTES = 1 << 24


class Candidate:
    """A compiled candidate: called with the arrays on the device, it has them worked on, and does not wait for that."""

    def __init__(self, arrays: Sequence[Buffer], program: OpenClProgram | CudaProgram) -> None:
        self.arrays, self.program = tuple(arrays), program  # inputs, then outputs
        self._steps: Steps | CudaSteps | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Have it run once; its events, if the device has them for each call."""
        return self.steps(arguments).enqueue()

    def steps(self, arguments: Sequence[Any]) -> Any:
        """Its kernels with a task's arguments, which are the same for all calls."""
        if self._steps is None:
            places = dict(zip(self.arrays, arguments, strict=True))
            self._steps = self.program.bound({b: place for b, place in places.items() if place is not None})
        return self._steps


def compiled_together(several: Sequence[Lowered]) -> list[Candidate]:
    """Candidates, all in one program."""
    lowered = [low for low in several if isinstance(low, DeviceLowered)]
    programs: Sequence[OpenClProgram | CudaProgram] = programs_of(lowered)
    arrays = [(*low.program.inputs, *low.program.outputs) for low in lowered]
    return [Candidate(own, program) for own, program in zip(arrays, programs, strict=True)]


def keep_nothing(setting: Setting) -> None:
    """Have drivers and pyopencl keep no code of candidates, of which few are ever run again, or keep it in a folder that
    goes with the run."""
    os.environ.update(
        PYOPENCL_NO_CACHE="1", CUDA_CACHE_DISABLE="1", POCL_CACHE_DIR=str(setting.folder.parent / "code")
    )

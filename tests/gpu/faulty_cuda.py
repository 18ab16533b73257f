"""A GPU that goes wrong on demand: what a candidate's `fault` knob says, happens while it is built or run.

Started as a worker's command line by the tests; see tests/autotune/faulty_worker.py.
"""

import ctypes
from functools import partial
from typing import Any

from loopwright.autotune.measure import forking
from loopwright.autotune.measure.run_cuda import CudaRunner
from loopwright.sched.errors import DeviceError
from loopwright.sched.runtime.device.cuda_compiler import cubin
from loopwright.sched.runtime.device.cuda_runtime import runtime


def main() -> None:
    """The usual workers, with a broken compiler, and kernels that do more than they should."""
    screened = CudaRunner.compile_screened

    def compile_screened(runner: CudaRunner, several: Any) -> Any:
        faults = [lowered.schedule.chosen.get("fault") for lowered in several]
        if 2 in faults:
            cubin("__colonel__ void f() {}", "sm_90", exact=False)
        return list(map(partial(Broken, runner), screened(runner, several), faults))

    CudaRunner.compile_screened = compile_screened  # type: ignore[method-assign]
    forking.main()


class Broken:
    """A candidate's function with its fault."""

    def __init__(self, runner: CudaRunner, function: Any, fault: int) -> None:
        self._runner, self._function, self._fault = runner, function, fault

    def __call__(self, *arrays: Any) -> None:
        if self._fault != 4:
            self._function(*arrays)
        address = self._runner.strips[0].address
        if self._fault == 3:
            runtime().library.emulated_failure()
        if self._fault == 5:
            other = (ctypes.c_char * 1)(b"x")
            runtime().copy(address - 1, ctypes.addressof(other), 1)
        if self._fault == 6:
            raise DeviceError("CUDA: out of memory")

    def steps(self, arrays: Any) -> Any:
        """What is timed."""
        return self._function.steps(arrays)


if __name__ == "__main__":
    main()

"""A device that goes wrong on demand: what a candidate's `fault` knob says, happens while it is built or run.

Started as a worker's command line by the tests; see tests/autotune/faulty_worker.py.
"""

import ctypes
import time
from functools import partial
from typing import Any

import numpy as np

from loopwright.autotune.measure import forking
from loopwright.autotune.measure.run_opencl import OpenClRunner
from loopwright.sched.runtime.device import opencl


def main() -> None:
    """The usual workers, with a broken compiler, and kernels that do more than they should."""
    screened = OpenClRunner.compile_screened

    def compile_screened(runner: OpenClRunner, several: Any) -> Any:
        faults = [lowered.schedule.chosen.get("fault") for lowered in several]
        if 2 in faults:
            opencl.compiled("__colonel void f() {}", several[0].target)
        return list(map(partial(broken, runner), screened(runner, several), faults))

    OpenClRunner.compile_screened = compile_screened  # type: ignore[method-assign]
    forking.main()


def broken(runner: OpenClRunner, function: Any, fault: int) -> Any:
    """A candidate's function with its fault."""
    whole, start, output = runner._strips[0]

    def run(*arrays: Any) -> Any:
        if fault == 3:
            ctypes.string_at(0)
        if fault == 4:
            time.sleep(1000)
        if fault == 5:
            runner.queue.finish()
            raise RuntimeError("the device is lost")
        events = [] if fault == 6 else function(*arrays)
        if fault == 7:
            runner.cl.enqueue_copy(runner.queue, output, np.ones(1, np.float32))
        if fault == 8:
            after = start + runner.outputs[0].start + runner.outputs[0].array.nbytes
            runner.cl.enqueue_copy(runner.queue, whole, np.ones(1, np.float32), dst_offset=after)
        if fault == 9:
            raise runner.cl.MemoryError("the device has no more")
        return events

    def steps(arguments: Any) -> Any:
        if fault == 10:
            ctypes.string_at(0)
        if fault == 11:
            raise runner.cl.MemoryError("the device has no more")
        return function.steps(arguments)

    run.steps = steps  # type: ignore[attr-defined]
    return run


if __name__ == "__main__":
    main()

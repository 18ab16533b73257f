"""A device that goes wrong on demand: what a candidate's `fault` knob says, happens while it is built or run.

Started as a worker's command line by the tests; see tests/autotune/faulty_worker.py.
"""

import os
import signal
import time
from typing import Any

import numpy as np

from loopwright.autotune.measure import forking
from loopwright.autotune.measure.run_opencl import OpenClRunner
from loopwright.sched.runtime.device import opencl


def main() -> None:
    """The usual workers, with a broken compiler, and kernels that do more than they should."""
    finalist, program = OpenClRunner.compile_finalist, opencl.OpenClProgram

    def compile_finalist(runner: OpenClRunner, lowered: Any) -> Any:
        fault = lowered.schedule.chosen.get("fault")
        if fault == 2:
            program(lowered.text.replace("__kernel", "__colonel"), lowered.func, lowered.target)
        return broken(runner, finalist(runner, lowered), fault)

    OpenClRunner.compile_finalist = compile_finalist  # type: ignore[method-assign]
    forking.main()


def broken(runner: OpenClRunner, function: Any, fault: int) -> Any:
    """A candidate's function with its fault."""
    whole, start, output = runner._strips[0]

    def run(*arrays: Any) -> Any:
        if fault == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
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

    return run


if __name__ == "__main__":
    main()

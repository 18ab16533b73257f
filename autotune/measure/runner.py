"""What compiles, runs and times candidates in a worker: this host, a device, or whatever else is a :class:`Runner`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from loopwright.autotune.measure.timing import Stopwatch
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target

if TYPE_CHECKING:
    from loopwright.autotune.verify import Guarded
    from loopwright.sched.runtime.build import Lowered

# A compiled candidate: takes the arrays, in whatever form its runner keeps them, and runs once.
Function = Callable[..., Any]


class Lost(Exception):
    """The device, or the process on it, ended while a candidate was there. Whosever fault it is, the
    candidate is tried once more."""


@dataclass(frozen=True)
class Setting:
    """What a runner is made for: one task, in one worker.

    Attributes:
        target: what candidates are compiled for.
        inputs: the arrays that they read.
        outputs: the arrays of this process in which their results are looked at.
        folder: a folder of the run, which is deleted in the end; all workers of a task are given the same.
        cold: whether caches are emptied before each timed call.
        device: where candidates run, if not here: ``rpc://host:port/key``.
        session_seconds: how long they may have a device there, at most.
    """

    target: Target
    inputs: Sequence[Any]
    outputs: Sequence[Guarded]
    folder: Path
    cold: bool
    device: str | None = None
    session_seconds: float = 0.0


class Runner(Protocol):
    """Compiles, runs and times the candidates of one task. A worker makes one for each task, by :func:`runner_for`.

    To measure somewhere else, write a class with these attributes and methods and have :func:`runner_for` return it for its
    targets; nothing else of the tuner needs to know. What a method raises becomes the failure of the candidate it was called
    for, and the next one is tried: out of ``compile_*`` a ``compile-error``, out of :meth:`prime`, :meth:`run` and the stopwatch
    a ``run-crash``. The tuner watches the time: a worker that goes over a limit is killed, whatever it waits for, and another
    one begins anew; so nothing here needs a time-out. A device that is gone for good is no candidate's fault: end the process
    (``raise SystemExit``), and the candidate is a ``worker-lost``.
    """

    def building(self) -> AbstractContextManager[None]:
        """Entered while candidates are lowered and compiled; waits where that would disturb what others time."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Entered while a candidate runs; waits for what must not run beside it."""
        ...

    def in_a_row(self) -> AbstractContextManager[None]:
        """Entered while candidates run one after the other, each of them :meth:`alone`: where these wait for what others
        compile, they wait once for all."""
        ...

    def compile_screened(self, several: Sequence[Lowered]) -> list[Function]:
        """Functions for candidates that are compared and thrown away; quickly compiled, if that says enough of them."""
        ...

    def compile_finalist(self, schedule: str, lower: Callable[[], Lowered]) -> Function:
        """A function compiled as it will be deployed: of a schedule, as JSON text, which ``lower`` lowers."""
        ...

    def prime(self, function: Function) -> None:
        """Have made, beside others that build, what a function's first run would make; most have nothing left to make."""
        ...

    def run(self, function: Function) -> Any:
        """Run once on the inputs, and on the outputs as they were filled; then these hold what was computed.

        Returns:
            None, or the answer of an entry that calls C functions (``loopwright.sched.runtime.failure``).
        """
        ...

    def stopwatch(self, sample_seconds: float) -> Stopwatch:
        """What times functions on the task's arrays, in samples of at least so many seconds."""
        ...


def runner_for(setting: Setting) -> Runner:
    """The runner for a task: devices that a tracker lends; else of CUDA and OpenCL, the device; of a CPU, this host."""
    if setting.device is not None:
        from loopwright.autotune.measure.run_rpc import RpcRunner

        return RpcRunner(setting)
    if setting.target.kind == "cuda":
        from loopwright.autotune.measure.run_cuda import CudaRunner

        return CudaRunner(setting)
    if isinstance(setting.target, DeviceTarget):
        from loopwright.autotune.measure.run_opencl import OpenClRunner

        return OpenClRunner(setting)
    from loopwright.autotune.measure.run_host import HostRunner

    return HostRunner(setting)

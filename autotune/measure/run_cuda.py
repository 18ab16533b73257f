"""Candidates on a GPU through CUDA: their arrays lie there, and its own events time them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any

from loopwright.autotune.measure.run_device import MOST_CALLS, compiled_together, keep_nothing
from loopwright.autotune.measure.runner import Function, Setting
from loopwright.autotune.measure.timing import Flush, Stopwatch
from loopwright.autotune.measure.turns import Turns
from loopwright.sched.errors import DeviceError
from loopwright.sched.runtime.device.cuda import Memory
from loopwright.sched.runtime.device.cuda_runtime import cache_bytes, opened, runtime
from loopwright.sched.runtime.device.target import DeviceTarget

if TYPE_CHECKING:
    from loopwright.autotune.verify import Guarded
    from loopwright.sched.runtime.build import Lowered

# Where an array may begin, in bytes: what TVM and CUDA promise each other of memory.
ALIGNMENT = 256
NO_MEMORY = ("out of memory", "cudaErrorMemoryAllocation")


class CudaRunner:
    """A :class:`~loopwright.autotune.measure.runner.Runner` for this machine's GPU.

    Outputs lie between strips of known bytes there too, which come back with them. A kernel that reaches beyond all memory can
    leave the GPU of no more use to this process: then the process ends, with that candidate, and another takes its place.
    """

    def __init__(self, setting: Setting) -> None:
        assert isinstance(setting.target, DeviceTarget)
        keep_nothing(setting)
        opened(setting.target)
        turns = Turns(setting.folder.parent / "device", disturbing=False)
        self.building, self.alone, self.in_a_row = turns.building, turns.alone, turns.alone
        self.outputs = setting.outputs
        self.inputs = [_copied(array) for array in setting.inputs]
        self.strips = [_Strips(guarded) for guarded in self.outputs]
        given = [None if memory is None else memory.address for memory in self.inputs]
        self.arguments = [*given, *(strips.address for strips in self.strips)]
        self._flush = _flusher(cache_bytes()) if setting.cold else None

    def compile_screened(self, several: Sequence[Lowered]) -> list[Function]:
        """All in one program."""
        return [*compiled_together(several)]

    def compile_finalist(self, schedule: str, lower: Callable[[], Lowered]) -> Function:
        """As it will be deployed."""
        return compiled_together([lower()])[0]

    def prime(self, function: Function) -> None:
        """Nothing: a function is ready."""

    def run(self, function: Function) -> None:
        """Run once; the outputs go there and come back, with the strips around them."""
        with _watched():
            for strips in self.strips:
                strips.send()
            function(*self.arguments)
            runtime().finish()
            for strips in self.strips:
                strips.fetch()

    def stopwatch(self, sample_seconds: float) -> Stopwatch:
        """By the GPU's events."""
        return _CudaStopwatch(self.arguments, self._flush, sample_seconds)


class _Strips:
    """Memory for an output and the strips around it."""

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        self._start = -guarded.start % ALIGNMENT
        self._memory = Memory(self._start + guarded.whole.nbytes)
        begin = self._memory.address + self._start + guarded.start
        self.address = begin if guarded.array.nbytes else None

    def send(self) -> None:
        self._memory.fill(self._guarded.whole, self._start)

    def fetch(self) -> None:
        self._memory.fetch(self._guarded.whole, self._start)


class _CudaStopwatch(Stopwatch):
    """Takes samples by the GPU's events."""

    def calls(self, seconds: float) -> int:
        """As the base; fewer where they are quick."""
        return min(MOST_CALLS, super().calls(seconds))

    def sample(self, function: Function, number: int) -> float:
        """Seconds a call on the GPU, over ``number`` in a row."""
        with _watched():
            if self._flush is not None:
                self._flush()
            return float(function.steps(self._args).seconds(number))  # type: ignore[attr-defined]


@contextmanager
def _watched() -> Iterator[None]:
    """End the process if what ran here has left the GPU of no more use to it."""
    try:
        yield
    except DeviceError as error:
        if any(words in str(error) for words in NO_MEMORY):
            raise MemoryError(str(error)) from error
        try:
            runtime().finish()
        except DeviceError:
            print(f"the GPU takes nothing more from this process: {error}", file=sys.stderr, flush=True)
            raise SystemExit(1) from error
        raise


def _copied(array: Any) -> Memory | None:
    """An input on the GPU; None if it has no elements."""
    if not array.nbytes:
        return None
    memory = Memory(array.nbytes)
    memory.fill(array)
    return memory


def _flusher(cache: int) -> Flush:
    other = Memory(2 * cache)
    return lambda: runtime().call("cudaMemsetAsync", c_void_p(other.address), 0, 2 * cache, None)

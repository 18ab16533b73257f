"""Candidates on an OpenCL device: their arrays lie there, and its own clock times them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.autotune.measure.kept_programs import KeptPrograms
from loopwright.autotune.measure.run_device import (
    CACHE_BYTES,
    MOST_CALLS,
    compiled_together,
    keep_nothing,
)
from loopwright.autotune.measure.runner import Function, Setting
from loopwright.autotune.measure.timing import Flush, Stopwatch
from loopwright.autotune.measure.turns import Turns
from loopwright.sched.runtime.device import pocl
from loopwright.sched.runtime.device.opencl import is_cpu, opened, seconds
from loopwright.sched.runtime.device.target import DeviceTarget

if TYPE_CHECKING:
    from loopwright.autotune.verify import Guarded
    from loopwright.sched.runtime.build import Lowered


class OpenClRunner:
    """A :class:`~loopwright.autotune.measure.runner.Runner` for the device that a target names.

    Outputs lie between strips of known bytes on the device too, which come back with them: what a candidate writes beside its
    array is found there as on a CPU.
    """

    def __init__(self, setting: Setting) -> None:
        assert isinstance(setting.target, DeviceTarget)
        keep_nothing(setting)
        import pyopencl as cl

        self.cl, self.outputs = cl, setting.outputs
        self.context, self.queue = opened(setting.target)
        device = self.queue.device
        self._late = is_cpu(device)
        self._kept = KeptPrograms(setting.folder.parent / "programs", setting.target)
        turns = Turns(setting.folder.parent / "device", disturbing=self._late)
        self.building, self.alone, self.in_a_row = turns.building, turns.alone, turns.alone
        self._strips = [self._placed(guarded) for guarded in self.outputs]
        self._arguments = [*map(self._copied, setting.inputs), *(array for _, _, array in self._strips)]
        self._flush = self._flusher(device.global_mem_cache_size or CACHE_BYTES) if setting.cold else None

    def compile_screened(self, several: Sequence[Lowered]) -> list[Function]:
        """All in one program."""
        found = compiled_together(several)
        if self._late:
            self._kept.keep([low.schedule.to_json() for low in several], found)
        return [*found]

    def compile_finalist(self, schedule: str, lower: Callable[[], Lowered]) -> Function:
        """In the program that it was screened in; in one of its own, if there is none."""
        return self._kept.find(schedule) or self.compile_screened([lower()])[0]

    def prime(self, function: Any) -> None:
        """On a CPU, run one block: PoCL compiles a kernel when its first block is to run, which takes the longer."""
        if self._late:
            with pocl.on_any_core():
                with self._memory():
                    function.steps(self._arguments).enqueue_first()
                self.queue.finish()

    def run(self, function: Function) -> None:
        """Run once; the outputs go there and come back, with the strips around them."""
        for guarded, (whole, start, _) in zip(self.outputs, self._strips, strict=True):
            self.cl.enqueue_copy(self.queue, whole, guarded.whole, dst_offset=start)
        with self._memory():
            function(*self._arguments)
        for guarded, (whole, start, _) in zip(self.outputs, self._strips, strict=True):
            self.cl.enqueue_copy(self.queue, guarded.whole, whole, src_offset=start)
        self.queue.finish()

    def stopwatch(self, sample_seconds: float) -> Stopwatch:
        """By the device's clock."""
        return _DeviceStopwatch(self.queue, self._arguments, self._flush, sample_seconds)

    @contextmanager
    def _memory(self) -> Iterator[None]:
        """A device that has no more memory is told as Python tells it."""
        try:
            yield
        except self.cl.MemoryError as error:
            raise MemoryError(str(error)) from error

    def _copied(self, array: Any) -> Any:
        """An input on the device; None if it has no elements."""
        if not array.nbytes:
            return None
        flags = self.cl.mem_flags.READ_ONLY | self.cl.mem_flags.COPY_HOST_PTR
        return self.cl.Buffer(self.context, flags, hostbuf=array.reshape(-1).view(np.uint8))

    def _placed(self, guarded: Guarded) -> tuple[Any, int, Any]:
        """Memory for an output and its strips; where in it these begin; and the part that is the output itself.

        Parts of a device's memory begin at multiples of its alignment.
        """
        flags, alignment = self.cl.mem_flags.READ_WRITE, max(1, self.queue.device.mem_base_addr_align // 8)
        start = -guarded.start % alignment
        whole = self.cl.Buffer(self.context, flags, guarded.whole.nbytes + start)
        if not guarded.array.nbytes:
            return whole, start, None
        begin = start + guarded.start
        return whole, start, whole[begin : begin + guarded.array.nbytes]

    def _flusher(self, cache: int) -> Flush:
        other = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, 2 * cache)
        pattern = np.zeros(1, np.uint32)
        return lambda: self.cl.enqueue_fill_buffer(self.queue, other, pattern, 0, 2 * cache)


class _DeviceStopwatch(Stopwatch):
    """Takes samples by the device's events."""

    def __init__(self, queue: Any, args: Sequence[Any], flush: Flush | None, sample_seconds: float) -> None:
        super().__init__(args, flush, sample_seconds)
        self._queue = queue

    def calls(self, seconds: float) -> int:
        """As the base; fewer where they are quick."""
        return min(MOST_CALLS, super().calls(seconds))

    def sample(self, function: Function, number: int) -> float:
        """Seconds a call on the device, without what passes between calls."""
        if self._flush is not None:
            self._flush()
        calls = [function(*self._args) for _ in range(number)]
        self._queue.finish()
        return sum(map(seconds, calls)) / number

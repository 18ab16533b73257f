"""Candidates on this host: compiled by LLVM, called with arrays of this process, timed by its clock."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.autotune.measure import build
from loopwright.autotune.measure.runner import Function, Setting
from loopwright.autotune.measure.timing import Flush, Stopwatch
from loopwright.sched.dtypes import stored

if TYPE_CHECKING:
    from loopwright.sched.runtime.build import Lowered


class HostRunner:
    """A :class:`~loopwright.autotune.measure.runner.Runner` for CPUs. Each worker has a core of its own: nobody need wait."""

    def __init__(self, setting: Setting) -> None:
        arrays = (*setting.inputs, *(guarded.array for guarded in setting.outputs))
        # NumPy shares narrow floats only as their bits.
        self._arguments = [array.view(stored(array.dtype.name)) for array in arrays]
        self._flush = flusher(setting.target.l3) if setting.cold else None

    def building(self) -> AbstractContextManager[None]:
        """At once."""
        return nullcontext()

    def alone(self) -> AbstractContextManager[None]:
        """At once."""
        return nullcontext()

    def compile_screened(self, several: Sequence[Lowered]) -> list[Function]:
        """Compiled with fewer of LLVM's passes, all in one module."""
        return build.compile_screened(several)

    def compile_finalist(self, lowered: Lowered) -> Function:
        """Compiled as it will be deployed."""
        function: Function = build.compile_finalist(lowered)
        return function

    def run(self, function: Function) -> Any:
        """Call it."""
        return function(*self._arguments)

    def stopwatch(self, sample_seconds: float) -> Stopwatch:
        """By the clock of the process, around calls in a row."""
        return Stopwatch(self._arguments, self._flush, sample_seconds)


def flusher(cache: int) -> Flush:
    """What empties caches of so many bytes: it writes twice as much."""
    other = np.zeros(max(2 * cache, 1 << 20), np.uint8)
    return lambda: other.fill(1)

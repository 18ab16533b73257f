"""Candidates on this host: compiled by LLVM, called with arrays of this process, timed by its clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.autotune.measure import build
from loopwright.autotune.measure.runner import Function, Setting
from loopwright.autotune.measure.timing import Flush, Stopwatch
from loopwright.sched.dtypes import stored
from loopwright.sched.runtime.weights import Candidate

if TYPE_CHECKING:
    from loopwright.sched.runtime.build import Lowered


# Bytes of packed weights beyond which those of other layouts are packed again where they are needed.
MOST_PACKED = 1 << 28


class HostRunner:
    """A :class:`~loopwright.autotune.measure.runner.Runner` for CPUs. Each worker has a core of its own: nobody need wait."""

    def __init__(self, setting: Setting) -> None:
        self._inputs = list(map(as_bits, setting.inputs))
        self._outputs = [as_bits(guarded.array) for guarded in setting.outputs]
        # What weights were packed to, by the layout: many candidates have the same.
        self._packed: dict[str, tuple[Any, ...]] = {}
        self._flush = flusher(setting.target.l3) if setting.cold else None
        self._took: float | None = None  # the call of the last run

    def building(self) -> AbstractContextManager[None]:
        """At once."""
        return nullcontext()

    def alone(self) -> AbstractContextManager[None]:
        """At once."""
        return nullcontext()

    def in_a_row(self) -> AbstractContextManager[None]:
        """At once."""
        return nullcontext()

    def compile_screened(self, several: Sequence[Lowered]) -> list[Function]:
        """Compiled with fewer of LLVM's passes, all in one module."""
        return build.compile_screened(several)

    def compile_finalist(self, schedule: str, lower: Callable[[], Lowered]) -> Function:
        """Compiled as it will be deployed."""
        function: Function = build.compile_finalist(lower())
        return function

    def prime(self, function: Function) -> None:
        """Nothing: a function is ready."""

    def run(self, function: Function) -> Any:
        """Call it."""
        called, arguments = self.bound(function)
        start = time.perf_counter()
        answer = called(*arguments)
        self._took = time.perf_counter() - start
        return answer

    def bound(self, function: Function) -> tuple[Function, Sequence[Any]]:
        """What is called for a candidate, and with which arguments: its weights are packed already."""
        if not isinstance(function, Candidate):
            return function, [*self._inputs, *self._outputs]
        packed = self._packed.get(function.prepacking.layout)
        if packed is None:
            if sum(array.nbytes for arrays in self._packed.values() for array in arrays) > MOST_PACKED:
                self._packed.clear()
            packed = self._packed[function.prepacking.layout] = function.packed(self._inputs)
        return function.function, [*function.arguments(self._inputs, packed), *self._outputs]

    def stopwatch(self, sample_seconds: float) -> Stopwatch:
        """By the clock of the process, around calls in a row; the last run was such a call, unless caches are to be emptied."""
        return _HostStopwatch(self, self._flush, sample_seconds, self._took if self._flush is None else None)


class _HostStopwatch(Stopwatch):
    def __init__(
        self, runner: HostRunner, flush: Flush | None, sample_seconds: float, before: float | None
    ) -> None:
        super().__init__((), flush, sample_seconds, before=before)
        self._runner = runner

    def bound(self, function: Function) -> tuple[Function, Sequence[Any]]:
        """As the runner calls it, with weights packed."""
        return self._runner.bound(function)


def as_bits(array: Any) -> Any:
    """An array as functions take it that check nothing: NumPy shares narrow floats only as their bits."""
    return array.view(stored(array.dtype.name))


def flusher(cache: int) -> Flush:
    """What empties caches of so many bytes: it writes twice as much."""
    other = np.zeros(max(2 * cache, 1 << 20), np.uint8)
    return lambda: other.fill(1)

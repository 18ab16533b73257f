"""Comparing a candidate's result with the reference's, with the reference evaluated once for each workload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs

Array = np.ndarray[Any, Any]
# Elements compared at a time where the reference allows some rounding.
CHUNK = 1 << 16
# The strips around an output array, in bytes, and what they hold.
STRIP, CANARY = 16384, 0xA5


@dataclass(frozen=True)
class Judge:
    """What a right candidate returns."""

    expected: Expected

    @property
    def values(self) -> tuple[Array, ...]:
        """The reference's outputs."""
        return self.expected.values

    def poison(self, outputs: list[Array]) -> None:
        """Fill arrays with what is wrong everywhere, so that an element a candidate never writes is found.

        Example:
            >>> judge = Judge(Expected(("C",), (np.array([1, 2], "int32"),), (None,)))
            >>> out = [np.array([1, 2], "int32")]
            >>> judge.poison(out)
            >>> print(judge.fault(out))
            C: 2 of 2 elements differ; worst at [1]: -3 instead of 2
        """
        for output, wanted in zip(outputs, self.values, strict=True):
            if dtypes.is_float(output.dtype.name):
                output.fill(np.nan)
            else:
                np.invert(wanted, out=output)

    def fault(self, outputs: list[Array]) -> str | None:
        """One line about what is wrong with the outputs, or None."""
        triples = zip(outputs, self.values, self.expected.slacks, strict=True)
        if all(_agrees(got, wanted, slack) for got, wanted, slack in triples):
            return None
        return self.expected.check(tuple(outputs))

    def save(self, folder: Path) -> None:
        """Write what :meth:`load` reads."""
        for nth, (value, slack) in enumerate(zip(self.values, self.expected.slacks, strict=True)):
            _save(folder / f"wanted{nth}.npy", value)
            if slack is not None and slack.any():
                np.save(folder / f"slack{nth}.npy", slack)

    @classmethod
    def load(cls, work: Workload, folder: Path) -> Judge:
        """Restore a judge of ``work``'s candidates."""
        names = tuple(stage.label for stage in work.outputs)
        values = tuple(
            _load(folder / f"wanted{nth}.npy", stage.dtype) for nth, stage in enumerate(work.outputs)
        )
        slacks = []
        for nth, value in enumerate(values):
            path = folder / f"slack{nth}.npy"
            exact = np.zeros(value.shape, bool if value.dtype == bool else np.float64)
            slacks.append(np.load(path) if path.exists() else exact)
        return cls(Expected(names, values, tuple(slacks)))


def _agrees(got: Array, wanted: Array, slack: Array | None) -> bool:
    """A quick sufficient test; what it doubts is looked at closely."""
    if np.array_equal(got, wanted):
        return True
    if slack is None or wanted.dtype == bool or not slack.any():
        return False
    flat = (array.reshape(-1) for array in (got, wanted, np.broadcast_to(slack, wanted.shape)))
    a, b, s = flat
    with np.errstate(all="ignore"):
        return all(
            bool((_distance(a[n : n + CHUNK], b[n : n + CHUNK]) <= s[n : n + CHUNK]).all())
            for n in range(0, a.size, CHUNK)
        )


def _distance(a: Array, b: Array) -> Array:
    if a.dtype.name in dtypes.NARROW:
        a, b = a.astype(np.float32), b.astype(np.float32)
    return np.abs(a - b)


def _save(path: Path, array: Array) -> None:
    """Write an array; NumPy's file format knows no narrow floats, they go as their bits."""
    np.save(path, array.view(dtypes.stored(array.dtype.name)))


def _load(path: Path, dtype: str) -> Array:
    """Read what :func:`_save` wrote."""
    return np.load(path).view(dtypes.numpy_dtype(dtype))


class Guarded:
    """An output array between two strips of known bytes: a candidate that writes outside it is found out, and does no harm.

    The array lies as NumPy's own do, at 16 bytes beyond a multiple of 64.
    """

    def __init__(self, like: Array) -> None:
        size = like.nbytes
        #: The bytes of the array and its strips, and where among them the array begins.
        self.whole = np.full(size + 2 * STRIP + 64, CANARY, np.uint8)
        self.start = start = STRIP + (16 - (self.whole.ctypes.data + STRIP)) % 64
        self._strips = (self.whole[:start], self.whole[start + size :])
        self.array: Array = self.whole[start : start + size].view(like.dtype).reshape(like.shape)

    @property
    def harmed(self) -> bool:
        """Whether anything was written outside the array."""
        return any(bool((strip != CANARY).any()) for strip in self._strips)

    def mend(self) -> None:
        """Restore the strips."""
        for strip in self._strips:
            strip.fill(CANARY)


def prepare(work: Workload, folder: Path, seed: int = 0) -> None:
    """Write input arrays for ``work`` into ``folder``, and what the reference makes of them."""
    inputs = random_inputs(work, seed)
    for nth, array in enumerate(inputs):
        _save(folder / f"input{nth}.npy", array)
    Judge(Expected.of(work, inputs)).save(folder)


def save_outputs(folder: Path, outputs: list[Array]) -> None:
    """Write what a candidate computes, for :func:`load_outputs`."""
    for nth, array in enumerate(outputs):
        _save(folder / f"output{nth}.npy", array)


def load_outputs(work: Workload, folder: Path) -> list[Array]:
    """What :func:`save_outputs` wrote."""
    return [_load(folder / f"output{nth}.npy", stage.dtype) for nth, stage in enumerate(work.outputs)]


def load_inputs(work: Workload, folder: Path) -> list[Array]:
    """The input arrays that :func:`prepare` wrote, in memory of NumPy's own, aligned as a user's arrays would be."""
    return [_load(folder / f"input{nth}.npy", tensor.dtype) for nth, tensor in enumerate(work.inputs)]

"""Kernels of a GPU as callables over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError
from loopwright.sched.lowering.stmt import Buffer
from loopwright.sched.runtime import arguments
from loopwright.sched.runtime.device.resources import Resources
from loopwright.sched.runtime.kernel import Kernel
from loopwright.sched.runtime.signature import Signature

if TYPE_CHECKING:
    from loopwright.sched.runtime.device.build import DeviceLowered

SOURCES = ("device", "tir")
Arrays: TypeAlias = dict[Buffer, np.ndarray[Any, Any]]


class Loaded(Protocol):
    """Compiled kernels on a device, with arrays of this process copied there and back."""

    def run(self, inputs: Arrays, outputs: Arrays) -> object:
        """Run them once."""

    def times(self, inputs: Arrays, outputs: Arrays, repeats: int) -> list[float]:
        """Run them, and say the seconds that the device took for each of so many runs."""


class DeviceKernel(Kernel):
    """A kernel that runs on a device: called like any other, with arrays of this process, which are copied there and back.

    Raises:
        ArgumentTypeError, ArgumentError: as :class:`Kernel`.
        DeviceError: the GPU failed, or is gone.

    Example::

        kernel = lw.build(work, target="opencl", schedule=schedule)
        c = kernel(a, b)
        kernel.time(a, b)         # seconds on the device, without the copies
        print(kernel.source())
    """

    def __init__(self, signature: Signature, lowered: DeviceLowered, loaded: Loaded, provenance: Any) -> None:
        target, program = lowered.target, lowered.program
        super().__init__(
            signature, self._run, target=target, parallel=False, checked=False, provenance=provenance
        )
        self._code, self._loaded = lowered, loaded
        self._inputs: tuple[Buffer, ...] = program.inputs
        self._outputs_on_device: tuple[Buffer, ...] = program.outputs

    def _run(self, *arrays: Any) -> int:
        """Run on arrays that were checked: inputs, then outputs."""
        self._loaded.run(*self._by_buffer(arrays))
        return 1

    def _by_buffer(self, arrays: Sequence[Any]) -> tuple[Arrays, Arrays]:
        """Inputs and outputs, as the program names them."""
        views = [a if isinstance(a, np.ndarray) else a.array for a in arrays]
        inputs = dict(zip(self._inputs, map(_plain, views), strict=False))
        return inputs, dict(
            zip(self._outputs_on_device, map(_plain, views[len(self._inputs) :]), strict=True)
        )

    def time(self, *arrays: Any, repeats: int = 5) -> float:
        """The seconds that the device takes on these inputs, by its own events, without copies: the median of ``repeats``.

        Raises:
            ArgumentTypeError, ArgumentError: as calling the kernel.
        """
        inputs = arguments.inputs_in_order(self.signature, arrays, {})
        outputs = [np.empty(p.extents, p.numpy) for p in self.signature.outputs]
        loans = arguments.lend(self.signature, [*inputs, *outputs])
        return float(np.median(self._loaded.times(*self._by_buffer(loans), repeats)))

    def source(self, kind: str = "device") -> str:
        """The kernel's code: ``"device"``, in the language of the device (the default), or ``"tir"``.

        Raises:
            BuildError: a kind that does not exist.
        """
        if kind not in SOURCES:
            raise BuildError(f"no source of kind {kind!r}; known: {', '.join(map(repr, SOURCES))}")
        return self._code.text if kind == "device" else self._code.tir()

    def resources(self) -> tuple[Resources, ...]:
        """As :meth:`DeviceLowered.resources`: what each of its kernels takes of a GPU."""
        return self._code.resources()


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with elements that a device knows."""
    kind = dtypes.stored(str(array.dtype)) if str(array.dtype) in dtypes.NARROW else None
    return array.view(kind) if kind else array

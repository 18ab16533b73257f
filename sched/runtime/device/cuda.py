"""Running kernels on a GPU through TVM's CUDA runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import c_void_p
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.lowering.device.emit import KernelFunction
from loopwright.sched.lowering.stmt import Buffer
from loopwright.sched.runtime.device.cuda_compiler import compiling_by, cubin
from loopwright.sched.runtime.device.cuda_runtime import Graph, opened, runtime, said
from loopwright.sched.runtime.device.source import device_functions, module_of, source_of
from loopwright.sched.runtime.device.target import DeviceTarget

# Takes addresses of arrays, and has a kernel run on them.
Launch = Callable[..., None]
# How TVM says with which numbers of blocks and threads a function is launched, and in which order.
_LAUNCH = "tirx.kernel_launch_params"


def compiled(several: Sequence[Sequence[KernelFunction]], target: DeviceTarget) -> list[CudaProgram]:
    """Programs, compiled together; their kernels' names must be different.

    Raises:
        TargetError: there is no such GPU, or no compiler.
        BuildError: the compiler refused one of them.
    """
    opened(target)
    exact = [any(kernel.exact for kernel in program) for program in several]
    launches: dict[str, Launch] = {}
    for kind in sorted(set(exact)):
        alike = (program for program, own in zip(several, exact, strict=True) if own == kind)
        launches |= _launches([kernel for program in alike for kernel in program], target, kind)
    return [CudaProgram([(kernel, launches[kernel.name]) for kernel in program]) for program in several]


def _launches(kernels: Sequence[KernelFunction], target: DeviceTarget, exact: bool) -> dict[str, Launch]:
    """What launches each of some kernels, by name; they are compiled in one go."""
    if not kernels:
        return {}
    code = cubin(source_of(kernels, target), target.mcpu, exact)
    functions = device_functions(kernels, target)
    with compiling_by(lambda _: code):
        module = module_of(functions, target)
    return {
        kernel.name: _sized(module.get_function(kernel.name), kernel, functions[kernel.name].attrs[_LAUNCH])
        for kernel in kernels
    }


def _sized(function: Any, kernel: KernelFunction, order: Sequence[Any]) -> Launch:
    """A launch with the numbers of blocks and threads that it takes after the arrays."""
    axes = [f"{part}.{axis}" for part in ("blockIdx", "threadIdx") for axis in "xyz"]
    counts = dict(zip(axes, (*kernel.grid, *kernel.block), strict=True))
    sizes = [counts[str(axis)] for axis in order]
    return lambda *arrays: function(*arrays, *sizes)


class Memory:
    """Bytes on the GPU, for as long as this lives."""

    def __init__(self, size: int) -> None:
        import tvm

        with said():
            self._bytes = tvm.runtime.empty((max(1, size),), "uint8", tvm.cuda(0))
        self.address = int(self._bytes.data_ptr())

    def fill(self, array: np.ndarray[Any, Any], start: int = 0) -> None:
        """Copy an array of this process there, from byte ``start`` on."""
        runtime().copy(self.address + start, array.ctypes.data, array.nbytes)

    def fetch(self, array: np.ndarray[Any, Any], start: int = 0) -> None:
        """Copy what lies from byte ``start`` on to an array of this process."""
        runtime().copy(array.ctypes.data, self.address + start, array.nbytes)


Arrays = Mapping[Buffer, np.ndarray[Any, Any]]


class CudaProgram:
    """Compiled kernels that run one after the other, and the arrays between them."""

    def __init__(self, launches: Sequence[tuple[KernelFunction, Launch]]) -> None:
        self._launches = tuple(launches)

    def run(self, inputs: Arrays, outputs: Arrays) -> None:
        """Run the kernels once on arrays of this process."""
        self.times(inputs, outputs, 0)

    def times(self, inputs: Arrays, outputs: Arrays, repeats: int) -> list[float]:
        """Run them once, and then ``repeats`` times more; the seconds that the GPU took for each of these."""
        memory = {b: Memory(array.nbytes) for b, array in {**inputs, **outputs}.items() if array.nbytes}
        for buffer in memory.keys() & inputs.keys():
            memory[buffer].fill(inputs[buffer])
        steps = self.bound({buffer: place.address for buffer, place in memory.items()})
        steps.enqueue()
        found = [steps.seconds() for _ in range(repeats)]
        for buffer in memory.keys() & outputs.keys():
            memory[buffer].fetch(outputs[buffer])
        return found

    def bound(self, places: Mapping[Buffer, int]) -> CudaSteps:
        """The kernels with the addresses of the arrays they work on; those that lie nowhere yet get a place."""
        known, made = dict(places), []
        for kernel, _ in self._launches:
            for buffer in kernel.arrays:
                if buffer not in known:
                    elements = buffer.elements
                    assert isinstance(elements, int)
                    made.append(Memory(max(1, elements) * dtypes.itemsize(buffer.dtype)))
                    known[buffer] = made[-1].address
        steps = [
            (launch, [c_void_p(known[buffer]) for buffer in kernel.arrays])
            for kernel, launch in self._launches
        ]
        return CudaSteps(steps, made)


class CudaSteps:
    """Kernels with their arrays, ready to run one after the other."""

    def __init__(self, steps: Sequence[tuple[Launch, Sequence[c_void_p]]], arrays: Sequence[Memory]) -> None:
        self._steps, self._arrays = steps, arrays
        self._graphs: dict[int, Graph] = {}

    def enqueue(self) -> None:
        """Have them run, without waiting for them."""
        with said():
            for launch, arrays in self._steps:
                launch(*arrays)

    def seconds(self, number: int = 1) -> float:
        """How long the GPU takes for them, by its own events: the mean of ``number`` times in a row."""
        if not self._steps:
            return 0.0
        if number not in self._graphs:
            self._graphs[number] = runtime().captured(lambda: self._enqueue_all(number))
        return self._graphs[number].seconds() / number

    def _enqueue_all(self, number: int) -> None:
        for _ in range(number):
            self.enqueue()

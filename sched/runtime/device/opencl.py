"""OpenCL through pyopencl: which device there is, and running kernels on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError, TargetError
from loopwright.sched.lowering.device.emit import KernelFunction
from loopwright.sched.lowering.stmt import Buffer
from loopwright.sched.runtime.device.target import DeviceTarget

NO_PACKAGE = "OpenCL needs the package pyopencl: pip install 'loopwright[opencl]'"
NO_DEVICE = (
    "there is no OpenCL device; on a machine without a GPU, PoCL runs kernels on the CPU:\n"
    "apt-get install pocl-opencl-icd"
)


def devices() -> list[Any]:
    """All devices that pyopencl lists, GPUs first; none where it is not installed."""
    try:
        import pyopencl as cl

        found = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except Exception:  # no package, or no driver: pyopencl has an error for each
        return []
    return sorted(found, key=lambda device: not device.type & cl.device_type.GPU)


@cache
def described(name: str = "") -> DeviceTarget | None:
    """The first device whose name holds ``name``, as a target; None if there is no device at all.

    Raises:
        TargetError: there are devices, but none of that name.
    """
    found = devices()
    if not found:
        return None
    device = _named(found, name)
    sizes: list[int] = list(device.max_work_item_sizes)
    return DeviceTarget(
        "opencl",
        device.name.strip(),
        device.max_compute_units,
        threads=device.max_work_group_size,
        block=(sizes[0], sizes[1], sizes[2]),
        shared=device.local_mem_size,
    )


def _named(found: Sequence[Any], name: str) -> Any:
    for device in found:
        if name in device.name:
            return device
    raise TargetError(
        f"there is no OpenCL device {name!r}; there are {', '.join(d.name.strip() for d in found)}"
    )


@cache
def _queue(name: str) -> tuple[Any, Any]:
    """A context and a queue that takes times, on the device of that name; for the whole process."""
    import pyopencl as cl

    found = devices()
    if not found:
        raise TargetError(NO_DEVICE)
    context = cl.Context([_named(found, name)])
    return context, cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)


class OpenClProgram:
    """Compiled kernels that run one after the other, and the arrays between them."""

    def __init__(self, source: str, kernels: Sequence[KernelFunction], target: DeviceTarget) -> None:
        try:
            import pyopencl as cl
        except ImportError:
            raise TargetError(NO_PACKAGE) from None
        self.cl = cl
        name = "" if target.mcpu == "any" else target.mcpu
        self.context, self.queue = _queue(name)
        try:
            self.program = (
                cl.Program(self.context, source).build(_options(self.queue.device)) if kernels else None
            )
        except cl.RuntimeError as error:
            raise BuildError(f"the OpenCL compiler refused: {_first_error(str(error))}") from None
        self.kernels = tuple(kernels)

    def run(
        self, inputs: dict[Buffer, np.ndarray[Any, Any]], outputs: dict[Buffer, np.ndarray[Any, Any]]
    ) -> float:
        """Run the kernels once on arrays of this process, and return the seconds that the device took for them."""
        cl, memory = self.cl, self.cl.mem_flags
        places: dict[Buffer, Any] = {}
        for buffer, array in inputs.items():
            if array.nbytes:
                places[buffer] = cl.Buffer(
                    self.context, memory.READ_ONLY | memory.COPY_HOST_PTR, hostbuf=array
                )
        events = []
        for kernel in self.kernels:
            # One of its own for each call: its arguments belong to it, and calls may come from several threads.
            step = cl.Kernel(self.program, kernel.name)
            step.set_args(*(self.place(buffer, places) for buffer in kernel.arrays))
            grid = [blocks * threads for blocks, threads in zip(kernel.grid, kernel.block, strict=True)]
            events.append(cl.enqueue_nd_range_kernel(self.queue, step, grid, kernel.block))
        for buffer, array in outputs.items():
            if array.nbytes and buffer in places:
                cl.enqueue_copy(self.queue, array, places[buffer], is_blocking=True)
        self.queue.finish()
        return sum((event.profile.end - event.profile.start) * 1e-9 for event in events)

    def place(self, buffer: Buffer, places: dict[Buffer, Any]) -> Any:
        """The memory of an array on the device, made when it is first asked for."""
        if buffer not in places:
            elements = buffer.elements
            assert isinstance(elements, int)
            size = max(1, elements) * dtypes.itemsize(buffer.dtype)
            places[buffer] = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, size)
        return places[buffer]


def _options(device: Any) -> list[str]:
    """What the device's compiler is told.

    PoCL 3.1 (with LLVM 15) gives wrong sums of integers where work-items wait for each other in a loop
    (tests/gpu/test_kernels.py, "small integers"); they are right without its optimizations.
    """
    return ["-cl-opt-disable"] if device.platform.name == "Portable Computing Language" else []


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = next(
        (line for line in lines if "error:" in line.lower()), lines[0] if lines else "no reason given"
    )
    return found.rpartition("error:")[2].strip()

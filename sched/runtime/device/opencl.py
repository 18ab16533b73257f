"""OpenCL through pyopencl: which device there is, and running kernels on it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError, TargetError
from loopwright.sched.lowering.stmt import Buffer
from loopwright.sched.runtime.device import pocl
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import host_facts

if TYPE_CHECKING:
    from loopwright.sched.lowering.device.emit import KernelFunction

# Where in a file of its own a compiler found something.
_FILE = re.compile(r"^\S+\.cl:\d+:\d+: ")
NO_PACKAGE = "OpenCL needs the package pyopencl: pip install 'loopwright[opencl]'"
NO_DEVICE = (
    "there is no OpenCL device; on a machine without a GPU, PoCL runs kernels on the CPU:\n"
    "apt-get install pocl-opencl-icd"
)


def devices() -> list[Any]:
    """All devices that pyopencl lists, GPUs first; none where it is not installed."""
    pocl.pin_threads()
    try:
        import pyopencl as cl

        found = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except Exception:  # no package, or no driver: pyopencl has an error for each
        return []
    return sorted(found, key=lambda device: not device.type & cl.device_type.GPU)


def lacking(target: DeviceTarget) -> str | None:
    """What keeps OpenCL from being used here, and what would help; None if there is a device.

    Raises:
        TargetError: there are devices, but not the one that the target names.
    """
    found = devices()
    if found:
        _named(found, _name_in(target))
        return None
    return NO_DEVICE if find_spec("pyopencl") else NO_PACKAGE


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
    cpu = is_cpu(device)
    return DeviceTarget(
        "opencl",
        device.name.strip(),
        device.max_compute_units,
        caches=host_facts().caches if cpu else DeviceTarget.caches,
        cpu_vectors=4 * device.native_vector_width_float if cpu else 0,
        threads=device.max_work_group_size,
        block=(sizes[0], sizes[1], sizes[2]),
        shared=device.local_mem_size,
    )


def is_cpu(device: Any) -> bool:
    """Whether a device is a CPU, this machine's own."""
    import pyopencl as cl

    return bool(device.type & cl.device_type.CPU)


def _named(found: Sequence[Any], name: str) -> Any:
    for device in found:
        if name in device.name:
            return device
    raise TargetError(
        f"there is no OpenCL device {name!r}; there are {', '.join(d.name.strip() for d in found)}"
    )


def device_text(target: DeviceTarget) -> str:
    """The device that a target names and its driver, in words; the target's own name if there is none."""
    found = devices()
    if not found:
        return target.mcpu
    device = _named(found, _name_in(target))
    return f"{device.name.strip()}, {device.platform.name} {device.driver_version}"


def opened(target: DeviceTarget) -> tuple[Any, Any]:
    """A context and a queue that takes times, on the device that the target names; one for the whole process.

    Raises:
        TargetError: there is no such device, or no pyopencl.
    """
    return _queue(_name_in(target))


def _name_in(target: DeviceTarget) -> str:
    return "" if target.mcpu == "any" else target.mcpu


@cache
def _queue(name: str) -> tuple[Any, Any]:
    import pyopencl as cl

    found = devices()
    if not found:
        raise TargetError(NO_DEVICE)
    context = cl.Context([_named(found, name)])
    return context, cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)


def compiled(source: str, target: DeviceTarget) -> Any:
    """What the compiler of the target's device makes of the source.

    Raises:
        TargetError: there is no such device, or no pyopencl.
        BuildError: the compiler refused.
    """
    try:
        import pyopencl as cl
    except ImportError:
        raise TargetError(NO_PACKAGE) from None
    context, queue = opened(target)
    if not source:
        return None
    text, options = source, []
    if queue.device.platform.name == pocl.NAME:
        text, options = pocl.with_whole_vectors(source), pocl.options(source)
    try:
        with (
            warnings.catch_warnings()
        ):  # what a compiler remarks on, users of the language can do nothing about
            warnings.simplefilter("ignore", cl.CompilerWarning)
            return cl.Program(context, text).build(options)
    except cl.RuntimeError as error:
        raise BuildError(f"the OpenCL compiler refused: {_first_error(str(error))}") from None


class OpenClProgram:
    """Compiled kernels that run one after the other, and the arrays between them.

    Args:
        program: what :func:`compiled` made of their source, and perhaps of that of others.
        source: all of it.
        kernels: those that are meant.
        target: the device.
    """

    def __init__(
        self, program: Any, source: str, kernels: Sequence[KernelFunction], target: DeviceTarget
    ) -> None:
        import pyopencl as cl

        self.cl, self.program, self.source, self.kernels = cl, program, source, tuple(kernels)
        self.context, self.queue = opened(target)

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
        events = self.bound(places).enqueue()
        for buffer, array in outputs.items():
            if array.nbytes and buffer in places:
                cl.enqueue_copy(self.queue, array, places[buffer], is_blocking=True)
        self.queue.finish()
        return seconds(events)

    def times(
        self,
        inputs: dict[Buffer, np.ndarray[Any, Any]],
        outputs: dict[Buffer, np.ndarray[Any, Any]],
        repeats: int,
    ) -> list[float]:
        """The seconds of so many runs."""
        return [self.run(inputs, outputs) for _ in range(repeats)]

    def bound(self, places: dict[Buffer, Any]) -> Steps:
        """The kernels with the arrays they work on; those that lie nowhere yet get a place."""
        steps = []
        for kernel in self.kernels:
            # One of its own for each call: its arguments belong to it, and calls may come from several threads.
            step = self.cl.Kernel(self.program, kernel.name)
            step.set_args(*(self.place(buffer, places) for buffer in kernel.arrays))
            grid = [blocks * threads for blocks, threads in zip(kernel.grid, kernel.block, strict=True)]
            steps.append((step, grid, kernel.block))
        return Steps(self.cl.enqueue_nd_range_kernel, self.queue, steps, places)

    def place(self, buffer: Buffer, places: dict[Buffer, Any]) -> Any:
        """The memory of an array on the device, made when it is first asked for."""
        if buffer not in places:
            elements = buffer.elements
            assert isinstance(elements, int)
            size = max(1, elements) * dtypes.itemsize(buffer.dtype)
            places[buffer] = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, size)
        return places[buffer]


@dataclass(frozen=True)
class Steps:
    """Kernels with their arrays, which these do not hold by themselves, ready to run one after the other."""

    launch: Callable[..., Any]
    queue: Any
    steps: list[tuple[Any, list[int], tuple[int, int, int]]]
    arrays: dict[Buffer, Any]

    def enqueue(self) -> list[Any]:
        """Have them run, and return their events without waiting for them."""
        return [self.launch(self.queue, step, grid, block) for step, grid, block in self.steps]

    def enqueue_first(self) -> None:
        """Have one block of each run."""
        for step, _, block in self.steps:
            self.launch(self.queue, step, block, block)


def seconds(events: Sequence[Any]) -> float:
    """How long the device took for kernels that are done: from the start of the first to the end of the last."""
    return (events[-1].profile.end - events[0].profile.start) * 1e-9 if events else 0.0


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = next(
        (line for line in lines if "error:" in line.lower()), lines[0] if lines else "no reason given"
    )
    return _FILE.sub("", found.rpartition("error:")[2].strip())

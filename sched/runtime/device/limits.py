"""Whether kernels are within what their target has: threads, blocks, shared memory."""

from __future__ import annotations

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.intrinsics.registry import find
from loopwright.sched.lowering.stmt import Alloc, Launch, Program, Warp, launches_of, walk_statements
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.threads import BLOCKS, THREADS

# What a thread may have of its own: CUDA's limit, on every device since compute capability 2.0.
LOCAL_BYTES = 512 << 10


def check_limits(program: Program, target: DeviceTarget) -> None:
    """Refuse kernels that the target cannot run.

    Raises:
        ScheduleError: too many threads or blocks, or too much shared memory.
    """
    for launch in launches_of(program):
        check_threads(launch, target)
        check_shared(launch, target)
        check_local(launch, target)
        check_warps(launch, target)


def check_threads(launch: Launch, target: DeviceTarget) -> None:
    """A block has so many threads, along each axis and in all; a grid so many blocks."""
    most = dict(zip((*THREADS, *BLOCKS), (*target.block, *target.grid), strict=True))
    threads = 1
    for axis, var in launch.axes.items():
        assert isinstance(var.extent, int)
        threads *= var.extent if axis in THREADS else 1
        if var.extent > most[axis]:
            raise ScheduleError(
                f"the kernel of {launch.stage}: {axis} runs over {var.extent}, and {target.kind} {target.mcpu} takes at most "
                f"{most[axis]};\nsplit the loop, and bind its inner half"
            )
    if threads > target.threads:
        parts = " x ".join(f"{var.extent} of {axis}" for axis, var in launch.axes.items() if axis in THREADS)
        raise ScheduleError(
            f"the kernel of {launch.stage}: a block would have {threads} threads ({parts}), and {target.kind} {target.mcpu} "
            f"takes at most {target.threads};\nsplit with smaller factors"
        )


def check_shared(launch: Launch, target: DeviceTarget) -> None:
    """The shared buffers of a kernel fit the memory of a block, all together."""
    sizes = {b.name: _bytes(b.elements, b.dtype) for b in launch.shared}
    if sum(sizes.values()) > target.shared:
        parts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ScheduleError(
            f"the kernel of {launch.stage}: its shared buffers have {sum(sizes.values())} bytes ({parts}), and a block of "
            f"{target.kind} {target.mcpu} has {target.shared};\nmake the tiles smaller"
        )


def check_local(launch: Launch, target: DeviceTarget) -> None:
    """The buffers of a thread fit what a thread may have of its own."""
    sizes = {
        s.buffer.name: _bytes(s.buffer.elements, s.buffer.dtype)
        for s in walk_statements(launch.body)
        if isinstance(s, Alloc)
    }
    if sum(sizes.values()) > LOCAL_BYTES:
        parts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ScheduleError(
            f"the kernel of {launch.stage}: a thread would have buffers of {sum(sizes.values())} bytes ({parts}), and may have "
            f"{LOCAL_BYTES};\nmake the tiles smaller"
        )


def check_warps(launch: Launch, target: DeviceTarget) -> None:
    """What the threads of a warp do together needs tensor cores, and the language that names them."""
    for s in walk_statements(launch.body):
        if isinstance(s, Warp):
            (least,) = find(s.intrinsic, "tensorize").features
            if not target.has(least):
                raise ScheduleError(
                    f"the kernel of {launch.stage}: the intrinsic {s.intrinsic!r} needs cuda {least} or later, and the target is "
                    f"{target.kind} {target.mcpu}"
                )


def _bytes(elements: object, dtype: str) -> int:
    assert isinstance(elements, int)
    return elements * dtypes.itemsize(dtype)

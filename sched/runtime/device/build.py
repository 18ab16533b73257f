"""From a schedule to the kernels of a GPU: what :mod:`loopwright.sched.runtime.build` does for CPUs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ScheduleError, TargetError
from loopwright.sched.lowering.device.builder import build
from loopwright.sched.lowering.device.emit import KernelFunction, emit_kernels
from loopwright.sched.lowering.edges import with_rolled_edges
from loopwright.sched.lowering.partition import EDGE, divided
from loopwright.sched.lowering.stmt import Launch, Program, Seq
from loopwright.sched.runtime.build import Lowered
from loopwright.sched.runtime.device.limits import check_limits
from loopwright.sched.runtime.device.resources import Resources, resources_of
from loopwright.sched.runtime.device.source import source_of
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.signature import Signature
from loopwright.sched.scheduling.prepacked import prepacked

if TYPE_CHECKING:
    from loopwright.sched.runtime.device.cuda import CudaProgram
    from loopwright.sched.runtime.device.kernel import DeviceKernel
    from loopwright.sched.runtime.device.opencl import OpenClProgram
    from loopwright.sched.scheduling.schedule import Schedule

# Their languages load a vector from any multiple of its elements' size; others want a multiple of its own.
_UNALIGNED_VECTORS = ("opencl",)
# TVM's text for them has seven digits of a number; for CUDA all, in hexadecimal.
_SEVEN_DIGITS = ("opencl", "metal", "webgpu")


@dataclass(frozen=True)
class DeviceLowered(Lowered):
    """A scheduled workload as kernels for a GPU, to be looked at: no device is needed. ``func`` has them in TensorIR.

    >>> import loopwright as lw
    >>> from loopwright import ops
    >>> cuda = lw.lower(ops.relu(X=(64,)), target={"kind": "cuda", "arch": "sm_90"})
    >>> "__global__" in cuda.source()
    True
    """

    @cached_property
    def text(self) -> str:
        """The kernels in the language of the target."""
        assert isinstance(self.target, DeviceTarget)
        return source_of(self.func, self.target)

    @property
    def code(self) -> str:
        """A digest of the kernels: schedules of one workload that come to the same code have the same."""
        return hashlib.sha256(self.tir().encode()).hexdigest()[:16]

    def source(self) -> str:
        """The kernels in the language of the target."""
        return self.text

    def tir(self) -> str:
        """The kernels in TensorIR, as TVMScript text."""
        return "\n".join(str(kernel.func) for kernel in self.func)

    def resources(self) -> tuple[Resources, ...]:
        """What each kernel takes of a GPU: registers, shared memory, spills; of CUDA, where ``nvcc`` is on the path.

        Raises:
            TargetError: the target is no CUDA, or there is no ``nvcc``.
            BuildError: ``nvcc`` refused.
        """
        assert isinstance(self.target, DeviceTarget)
        return resources_of(self.text, self.target, any(kernel.exact for kernel in self.func))


def device_program(schedule: Schedule, target: DeviceTarget) -> Program:
    """The statement tree of a filled schedule, in kernels for one thread, all within the limits of the target.

    Raises:
        ScheduleError: something in it is for CPUs, threads would race, or a kernel is too large for the target.
    """
    if schedule.work.sizes:
        raise ScheduleError(
            f"{schedule.work.name} has symbolic sizes, which are for CPUs; for {target.kind}, call the operator with numbers"
        )
    for stage in prepacked(schedule.nests):
        raise ScheduleError(f"{stage} is prepacked, which is for CPUs; for {target.kind}, leave out prepack")
    program = build(schedule.nests, schedule.work.name)
    check_limits(program, target)
    return alone_divided(program) if target.processor is not None else program


def alone_divided(program: Program) -> Program:
    """The program with the loops of its kernels divided for their steady states, as on a CPU of its own.

    Not those whose threads share memory: they have to come to every barrier together.
    """
    parts = program.body.body if isinstance(program.body, Seq) else (program.body,)
    made = (
        replace(part, body=with_rolled_edges(divided(part.body), EDGE))
        if isinstance(part, Launch) and not part.shared
        else part
        for part in parts
    )
    return replace(program, body=Seq(tuple(made)))


def lower_for_device(schedule: Schedule, target: DeviceTarget) -> DeviceLowered:
    """The kernels of a filled schedule in TensorIR."""
    from loopwright.sched.runtime.build import program_of

    program = program_of(schedule, target)
    kernels: tuple[KernelFunction, ...] = emit_kernels(
        program,
        target.kind in _UNALIGNED_VECTORS,
        target.kind in _SEVEN_DIGITS,
        "int32" if target.processor is None else "int64",
    )
    return DeviceLowered(program, kernels, target, schedule)


def compile_for_device(lowered: Lowered, signature: Signature, provenance: Any) -> DeviceKernel:
    """Compile kernels for the device they run on.

    Raises:
        TargetError: the target is one of which only source is made, or there is no device.
        BuildError: the device's compiler refused.
    """
    from loopwright.sched.runtime.device.kernel import DeviceKernel

    assert isinstance(lowered, DeviceLowered)
    (loaded,) = programs_of([lowered])
    return DeviceKernel(signature, lowered, loaded, provenance)


def programs_of(several: Sequence[DeviceLowered]) -> Sequence[OpenClProgram] | Sequence[CudaProgram]:
    """The kernels of schedules for one target, compiled together: most of that time goes by once for all.

    Raises:
        TargetError: the target is one of which only source is made, or there is no device, or no compiler.
        BuildError: the compiler refused one of them.
    """
    target = several[0].target
    assert isinstance(target, DeviceTarget)
    kernels = named_apart(several)
    if target.kind == "cuda":
        from loopwright.sched.runtime.device import cuda

        return cuda.compiled(kernels, target)
    if target.kind == "opencl":
        return _opencl_programs(kernels, target)
    raise TargetError(
        f"kernels for {target.kind} are made as source here, and not run: lw.lower(work, target={target.kind!r}).source()"
    )


def _opencl_programs(
    several: Sequence[Sequence[KernelFunction]], target: DeviceTarget
) -> list[OpenClProgram]:
    """As :func:`programs_of`; what must be compiled in another way than the rest, because of its barriers, is compiled apart."""
    from loopwright.sched.runtime.device.opencl import OpenClProgram, compiled
    from loopwright.sched.runtime.device.pocl import BARRIER

    texts = [source_of(kernels, target) for kernels in several]
    waiting = [BARRIER in text for text in texts]
    sources = {
        kind: "".join(t for t, k in zip(texts, waiting, strict=True) if k == kind) for kind in set(waiting)
    }
    programs = {kind: compiled(source, target) for kind, source in sources.items()}
    return [
        OpenClProgram(programs[kind], sources[kind], kernels, target)
        for kind, kernels in zip(waiting, several, strict=True)
    ]


def named_apart(several: Sequence[DeviceLowered]) -> list[tuple[KernelFunction, ...]]:
    """The kernels of schedules, under names that no other's have, by its number; as they are called if there is one alone."""
    if len(several) == 1:
        return [several[0].func]
    return [
        tuple(replace(kernel, name=f"{kernel.name}_of_{number}") for kernel in lowered.func)
        for number, lowered in enumerate(several)
    ]

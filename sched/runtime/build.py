"""From a schedule to a kernel, or to its TensorIR to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known as known_extent
from loopwright.sched.lowering.loopnest import build as build_program
from loopwright.sched.lowering.partition import partitioned
from loopwright.sched.lowering.peak import peak_bytes
from loopwright.sched.lowering.prepacking import build_ahead, build_in_calls
from loopwright.sched.lowering.stmt import Program, calls_of
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.kernel import Kernel, compile_function, compile_quickly
from loopwright.sched.runtime.limits import limits_of, shape_of
from loopwright.sched.runtime.signature import INPUT, OUTPUT, WEIGHT, Param, Signature
from loopwright.sched.runtime.symbols import check_symbols
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.triples import host_triple
from loopwright.sched.runtime.trust import check_implementations, check_target
from loopwright.sched.runtime.weights import Candidate, Prepacking
from loopwright.sched.scheduling.prepacked import prepacked

if TYPE_CHECKING:
    from loopwright.sched.language.stage import Input
    from loopwright.sched.language.workload import Workload
    from loopwright.sched.scheduling.schedule import Schedule


@dataclass(frozen=True)
class Lowered:
    """A scheduled workload in TensorIR, to be looked at.

    Attributes:
        program: our own statement tree.
        func: the ``tvm.tirx.PrimFunc``.
        target: what it was lowered for.
        schedule: what was lowered.
        ahead: what packs weights, likewise; None if the schedule prepacks nothing.
    """

    program: Program
    func: Any
    target: Target
    schedule: Schedule
    ahead: Lowered | None = None

    @property
    def code(self) -> str:
        """A digest of the TensorIR: schedules of one workload that come to the same code have the same."""
        from tvm_ffi import structural_hash

        own = f"{structural_hash(self.func) & (1 << 64) - 1:016x}"
        return own if self.ahead is None else own + self.ahead.code

    @property
    def peak_bytes(self) -> int:
        """The most memory, in bytes, that a call takes at one time beside its arguments; see
        :func:`loopwright.sched.lowering.peak.peak_bytes` for what counts.

        Raises:
            ExpressionTypeError: the workload's sizes are symbolic; ask its ``at(...)`` with numbers.
        """
        return peak_bytes(self.program, self.target.cores)

    def source(self) -> str:
        """The TensorIR as TVMScript text; that of packing weights comes last."""
        return str(self.func) if self.ahead is None else f"{self.func}\n\n{self.ahead.func}"

    def __str__(self) -> str:
        return self.source()


def program_of(schedule: Schedule, target: Target, divided: bool = True) -> Program:
    """The statement tree of a filled schedule, its loops ``divided`` for their steady states or as they were scheduled.

    Raises:
        ScheduleError: the schedule still has knobs.
    """
    if schedule.knobs:
        names = ", ".join(schedule.knobs)
        raise ScheduleError(
            f"the schedule still has knobs ({names}): choose values with .fill(...), or tune it"
        )
    if isinstance(target, DeviceTarget):
        from loopwright.sched.runtime.device.build import device_program

        return device_program(schedule, target)
    for nests in schedule.nests.versions():
        check_target(nests, target)
    build = build_in_calls if prepacked(schedule.nests) else build_program
    program = build(schedule.nests, schedule.work.name, target.vector_bytes, target.registers)
    return partitioned(program) if divided else program


def ahead_of(schedule: Schedule, target: Target) -> Program:
    """The statement tree of what a schedule prepacks."""
    work = schedule.work
    return partitioned(build_ahead(schedule.nests, work.name, target.vector_bytes, target.registers))


def signature_of(work: Workload, program: Program) -> Signature:
    """The arrays of a workload's kernel: inputs in the order of declaration, then outputs."""
    inputs = tuple(_param(t) for t in work.inputs)
    outputs = tuple(Param(t.label, shape_of(t), t.dtype, "output") for t in work.outputs)
    limits = limits_of(work, program) if work.sizes else ()
    return Signature(work.name, inputs + outputs, limits, calls_of(program.body))


def _param(tensor: Input) -> Param:
    return Param(tensor.name, shape_of(tensor), tensor.dtype, WEIGHT if tensor.weight else INPUT)


def _ahead(lowered: Lowered, signature: Signature) -> tuple[Any, Prepacking] | None:
    """What packs the weights of a kernel of that signature, and how."""
    if lowered.ahead is None:
        return None
    inputs = zip((t.name for t in lowered.schedule.work.inputs), signature.inputs, strict=True)
    known = dict(inputs)
    packed = [
        Param(_free(b.name, signature), (known_extent(b.elements),), dtypes.stored(b.dtype))
        for b in lowered.program.packed
    ]
    kept = [known[b.name] for b in lowered.program.inputs if b not in lowered.program.packed]
    weights = [known[b.name] for b in lowered.ahead.program.inputs]
    entry = replace(signature, params=(*kept, *packed, *signature.outputs))
    outputs = (replace(p, role=OUTPUT) for p in packed)
    pack = Signature(f"{signature.name}.prepack", (*weights, *outputs))
    return lowered.ahead.func, Prepacking.of(entry, pack, str(lowered.ahead.func))


def _free(name: str, signature: Signature) -> str:
    """The name of a packed array: another where an equal workload calls one of its own so."""
    taken = {p.name for p in signature.params}
    while name in taken:
        name += "_"
    return name


def lower_schedule(schedule: Schedule, target: Target) -> Lowered:
    """The TensorIR of a filled schedule."""
    from loopwright.sched.lowering.emit import emit

    if isinstance(target, DeviceTarget):
        from loopwright.sched.runtime.device.build import lower_for_device

        return lower_for_device(schedule, target)
    program = program_of(schedule, target)
    ahead = None
    if program.packed:
        packing = ahead_of(schedule, target)
        ahead = Lowered(packing, emit(packing, target.fused, target.scale_bytes), target, schedule)
    return Lowered(program, emit(program, target.fused, target.scale_bytes), target, schedule, ahead)


def build_schedule(
    schedule: Schedule,
    target: Target,
    *,
    work: Workload | None = None,
    checks: bool = True,
    provenance: Any = None,
) -> Kernel:
    """Compile a filled schedule.

    Args:
        work: the workload whose names the kernel speaks in, where the schedule is written in those of an equal one.
        checks: compile the argument checks into the kernel; see :func:`loopwright.sched.runtime.kernel.compile_function`.
        provenance: where the schedule comes from; kept by the kernel and the libraries exported from it.

    Raises:
        ScheduleError: the schedule still has knobs.
        BuildError: TVM or LLVM refused, or a C function is missing.
    """
    return compile_lowered(lower_schedule(schedule, target), work=work, checks=checks, provenance=provenance)


def compile_lowered(
    lowered: Lowered,
    *,
    work: Workload | None = None,
    checks: bool = True,
    provenance: Any = None,
) -> Kernel:
    """Compile what :func:`lower_schedule` gave; the arguments are those of :func:`build_schedule`.

    Raises:
        BuildError: TVM or LLVM refused, or a C function is missing.
    """
    signature = _checked(lowered, work)
    if isinstance(lowered.target, DeviceTarget):
        from loopwright.sched.runtime.device.build import compile_for_device

        kernel: Kernel = compile_for_device(lowered, signature, provenance)
    else:
        kernel = compile_function(
            lowered.func,
            signature,
            lowered.target,
            checks=checks,
            provenance=provenance,
            ahead=_ahead(lowered, signature),
        )
    kernel.schedule = lowered.schedule
    return kernel


def compile_candidates(
    several: Sequence[Lowered],
    compiled: Callable[[Sequence[tuple[Any, Signature]], Target], Sequence[Any]] = compile_quickly,
) -> list[Any]:
    """The compiled functions of schedules of one target that are to be compared, made by :func:`compile_quickly` or the like.

    Of a schedule that prepacks, a :class:`~loopwright.sched.runtime.weights.Candidate`.

    Raises:
        BuildError: TVM or LLVM refused one of them, or a C function is missing.
    """
    parts: list[tuple[Any, Signature]] = []
    packing: list[tuple[Prepacking, Signature] | None] = []
    for low in several:
        signature = _checked(low)
        ahead = _ahead(low, signature)
        packing.append(ahead and (ahead[1], signature))
        parts += (
            [(low.func, signature)]
            if ahead is None
            else [(low.func, ahead[1].entry), (ahead[0], ahead[1].pack)]
        )
    functions = iter(compiled(parts, several[0].target))
    return [_candidate(functions, how) for how in packing]


def _candidate(functions: Iterator[Any], packing: tuple[Prepacking, Signature] | None) -> Any:
    """The next candidate of some compiled functions."""
    function = next(functions)
    if packing is None:
        return function
    prepacking, signature = packing
    return Candidate(function, next(functions), prepacking, tuple(p.name for p in signature.inputs))


def _checked(lowered: Lowered, work: Workload | None = None) -> Signature:
    """The signature of what is to be compiled, after a look whether what it calls is there."""
    schedule = lowered.schedule
    if lowered.target.triple == host_triple():  # elsewhere they are found where the program is linked
        check_symbols(schedule.work)
    for nests in schedule.nests.versions():
        check_implementations(nests)
    return signature_of(work or schedule.work, lowered.program)

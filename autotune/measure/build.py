"""How a worker compiles a candidate. Importing this module brings in the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm  # noqa: F401  (imported here, so that no candidate's time includes it)

from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.build import Lowered, compile_candidates, compile_lowered, lower_schedule
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.weights import Candidate
from loopwright.sched.scheduling.schedule import Schedule


def lower_candidate(work: Workload, schedule: str, target: Target) -> Lowered:
    """The TensorIR of a filled schedule, given as JSON text."""
    return lower_schedule(Schedule.from_json(work, schedule), target)


def compile_screened(several: Sequence[Lowered]) -> list[Any]:
    """The compiled functions of candidates that are to be screened: they take inputs, then outputs, and check nothing."""
    return compile_candidates(several)


def compile_finalist(lowered: Lowered) -> Any:
    """The same, compiled as it will be deployed."""
    kernel = compile_lowered(lowered, checks=False)
    if kernel.prepacking is None:
        return kernel.function
    names = tuple(p.name for p in kernel.signature.inputs)
    return Candidate(kernel.function, kernel.pack, kernel.prepacking, names)

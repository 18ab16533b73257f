"""How a worker compiles a candidate. Importing this module brings in the compiler."""

from __future__ import annotations

from typing import Any

import tvm  # noqa: F401  (imported here, so that no candidate's time includes it)

from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.build import build_schedule
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule


def compile_candidate(work: Workload, schedule: str, target: Target) -> Any:
    """The compiled function of a filled schedule, given as JSON text: takes inputs, then outputs, and checks nothing."""
    return build_schedule(Schedule.from_json(work, schedule), target, checks=False).function

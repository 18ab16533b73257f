"""Random schedules for GPUs: what passes the checks must compute what the definition says, and compile for NVIDIA's GPUs.

    python -m tests.gpu.hunt --cases 300 --nvcc

A case is known by its number alone. Schedules are drawn until so many have passed the checks.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.runtime.device.build import DeviceLowered, named_apart
from loopwright.sched.runtime.device.cuda_compiler import cubin
from loopwright.sched.runtime.device.source import source_of
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.schedule import Schedule
from tests.gpu.generate import random_schedule
from tests.sched.workloads import WORKLOADS

ARCHITECTURES = ("sm_80", "sm_90")
# What nvcc compiles in one go: most of its time goes by once for all.
TOGETHER = 25


@dataclass
class Tally:
    """What a hunt has seen: schedules that the checks refused, that ran, and that compiled, by architecture; what went wrong."""

    refused: int = 0
    ran: int = 0
    compiled: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        compiled = "".join(f", {count} compiled for {arch}" for arch, count in self.compiled.items())
        return (
            f"{self.ran} ran{compiled}, {self.refused} refused by the checks, {len(self.failures)} failures"
        )


def drawn(start: int) -> Iterator[tuple[int, Workload, Schedule]]:
    """Cases by their numbers. OpenCL devices need not have float16."""
    works = [make for name, make in WORKLOADS.items() if "float16" not in name]
    for number in itertools.count(start):
        work = works[number % len(works)]()
        yield number, work, random_schedule(work, Random(number).choice)


def hunt(cases: int, start: int = 0, target: object = "opencl", architectures: Sequence[str] = ()) -> Tally:
    """Run cases until so many have passed the checks, and compile them for some architectures of NVIDIA's."""
    tally = Tally(compiled=dict.fromkeys(architectures, 0))
    waiting: dict[int, DeviceLowered] = {}
    for number, work, schedule in drawn(start):
        try:
            lw.lower(work, target=target, schedule=schedule)
            lowered = lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
        except lw.ScheduleError:
            tally.refused += 1
            continue
        wrong = failure(work, schedule, target, number)
        if wrong is not None:
            tally.failures.append(f"case {number}: {wrong}\n{schedule.to_python()}")
        tally.ran += 1
        assert isinstance(lowered, DeviceLowered)
        waiting[number] = lowered
        if len(waiting) == TOGETHER or tally.ran == cases:
            for arch in architectures:
                compile_all(waiting, arch, tally)
            waiting = {}
        print(f"\r{tally}", end="", file=sys.stderr)
        if tally.ran == cases:
            return tally
    raise AssertionError("there is always another case")


def failure(work: Workload, schedule: Schedule, target: object, number: int) -> str | None:
    """What is wrong with the kernels of a schedule, in a line; None if they are right."""
    arrays = random_inputs(work, number)
    try:
        got = lw.build(work, target=target, schedule=schedule)(*arrays)
    except Exception as error:  # whatever it is, it is what the hunt is for
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"
    return Expected.of(work, arrays).check(got)


def compile_all(several: dict[int, DeviceLowered], arch: str, tally: Tally) -> None:
    """Have NVIDIA's compiler make machine code of all; if it refuses, of each by itself."""
    kernels = [kernel for program in named_apart(list(several.values())) for kernel in program]
    try:
        cubin(source_of(kernels, DeviceTarget("cuda", arch)), arch, exact=True)
    except lw.BuildError as error:
        if len(several) == 1:
            (number, lowered), *_ = several.items()
            tally.failures.append(f"case {number}, {arch}: {error}\n{lowered.schedule.to_python()}")
            return
        for number, lowered in several.items():
            compile_all({number: lowered}, arch, tally)
    else:
        tally.compiled[arch] += len(several)


def main() -> int:
    """The command line; the status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300, help="how many schedules shall pass the checks")
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--target", choices=("opencl", "cuda"), default="opencl", help="where they run")
    parser.add_argument("--nvcc", action="store_true", help=f"compile them for {' and '.join(ARCHITECTURES)}")
    options = parser.parse_args()
    began = time.monotonic()
    tally = hunt(options.cases, options.start, options.target, ARCHITECTURES if options.nvcc else ())
    print("", *tally.failures, f"{tally}\n{time.monotonic() - began:.0f} seconds", sep="\n")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())

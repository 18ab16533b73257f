"""Kernels gone through thread by thread: no races, nothing read that is not there, every output stored by one thread."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering import stmt
from loopwright.sched.lowering.device.builder import build
from loopwright.sched.scheduling.schedule import Schedule
from tests.gpu.generate import random_schedule
from tests.gpu.simulator import Race, simulate
from tests.gpu.test_kernels import CASES, tiled
from tests.sched.workloads import WORKLOADS, arrays, matmul

SMALL = (
    "matmul 7x13x5",
    "dense",
    "centred",
    "softmax",
    "normalise",
    "chain",
    "stats",
    "pooled",
    "folded",
)


def check(work: Workload, schedule: Schedule) -> None:
    given = arrays(work)
    want, got = work.reference(*given), simulate(build(schedule.nests), given)
    wants = want if isinstance(want, tuple) else (want,)
    for expected, actual in zip(wants, got, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_threads_do_not_race(name: str) -> None:
    make, schedule = CASES[name]
    work = make()
    check(work, schedule(work))


@pytest.mark.parametrize("name", SMALL)
def test_threads_of_random_schedules_do_not_race(name: str) -> None:
    work = WORKLOADS[name]()
    built = 0
    for seed in range(6):
        schedule = random_schedule(work, random.Random(seed).choice)
        try:
            check(work, schedule)
        except lw.ScheduleError:
            continue
        built += 1
    assert built


def without(s: stmt.Stmt, number: int) -> stmt.Stmt:
    """A statement without its barrier of that number."""
    seen = iter(range(100))

    def change(part: stmt.Stmt) -> stmt.Stmt:
        match part:
            case stmt.Barrier():
                return stmt.Seq(()) if next(seen) == number else part
            case stmt.Seq():
                return stmt.seq(*map(change, part.body))
            case stmt.For() | stmt.Let() | stmt.Launch():
                return replace(part, body=change(part.body))
        return part

    return change(s)


@pytest.mark.parametrize("number", [0, 1])
def test_a_missing_barrier_is_found(number: int) -> None:
    """Both are needed: before a tile is filled again, and before it is read."""
    work = matmul(4, 4, 8)
    program = build(tiled(work, 4, 4).nests)
    barriers = [s for s in stmt.walk_statements(program.body) if isinstance(s, stmt.Barrier)]
    assert len(barriers) == 2
    with pytest.raises(Race):
        simulate(replace(program, body=without(program.body, number)), arrays(work))

"""What tests of recipes share: schedules compared with the reference, nests compared with files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.autotune.verify import Guarded
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.build import build_schedule
from loopwright.sched.runtime.target import Target, host
from loopwright.sched.scheduling.schedule import Schedule

GOLDEN = Path(__file__).parent.parent / "golden"
ONE_CORE = Target("cpu", "znver3", 1, ("avx", "avx2", "fma"), (32768, 524288, 33554432))


def assert_right(schedule: Schedule) -> None:
    """What the schedule computes is what the formula means, and nothing beside its outputs is written."""
    inputs = random_inputs(schedule.work, seed=1)
    expected = Expected.of(schedule.work, inputs)
    outputs = [Guarded(value) for value in expected.values]
    arrays = tuple(guarded.array for guarded in outputs)
    build_schedule(schedule, host())(*inputs, out=arrays if len(arrays) > 1 else arrays[0])
    assert expected.check(arrays) is None, schedule
    assert not any(guarded.harmed for guarded in outputs), schedule


def assert_space_is_right(work: Workload, drawn: int = 40, built: int = 3) -> SearchSpace:
    """The default and some of the candidates compute the right thing; nearly all are legal. The space."""
    assert_right(default_schedule(work, host()))
    space = SearchSpace(sketches(work, host()), host())
    points = space.sample(np.random.default_rng(0), drawn)
    schedules = [schedule for schedule in map(space.schedule, points) if schedule is not None]
    assert len(schedules) >= 0.95 * len(points)
    for schedule in [schedule for schedule in schedules if schedule.chosen][:built]:
        assert_right(schedule)
    return space


def assert_golden(name: str, schedule: Schedule) -> None:
    """The printed nest is that of ``tests/golden``; LOOPWRIGHT_WRITE_GOLDEN=1 renews it."""
    path, text = GOLDEN / f"{name}.txt", f"{schedule}\n"
    if os.environ.get("LOOPWRIGHT_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()

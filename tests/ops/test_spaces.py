"""Every operator under random schedules of its own space: all are built, and all compute the definition."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.runtime.build import compile_lowered, lower_schedule
from loopwright.sched.runtime.target import host
from tests.ops.cases import CASES, EACH, OPERATORS

SCHEDULES = 50


def test_every_operator_has_a_case() -> None:
    assert sorted(CASES) == sorted(OPERATORS)


@pytest.mark.parametrize(("name", "number"), EACH)
def test_random_schedules_compute_the_definition(name: str, number: int) -> None:
    work = OPERATORS[name](**CASES[name][number])
    arrays = random_inputs(work, number)
    expected = Expected.of(work, arrays)
    space = SearchSpace(sketches(work, host()), host())
    # A small space gives some points twice.
    points = dict.fromkeys(space.sample(np.random.default_rng(number), -(-SCHEDULES // len(CASES[name]))))
    assert points
    codes: set[str] = set()
    for point in points:
        schedule = space.schedule(point)
        assert schedule is not None, f"{space.sketches[point.space].name} refuses {point.choice}"
        lowered = lower_schedule(schedule, host())
        if lowered.code in codes:
            continue  # at these sizes several choices come to the same code
        codes.add(lowered.code)
        wrong = expected.check(compile_lowered(lowered)(*arrays))
        assert wrong is None, f"{wrong}\n{schedule.to_python()}"

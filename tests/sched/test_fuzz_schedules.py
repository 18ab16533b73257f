"""The invariant: a schedule that passes the checks computes what the unscheduled workload computes.

Schedules are random; the result is compared with the NumPy evaluator, which shares no code with the lowering.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.generate import schedules
from tests.sched.workloads import WORKLOADS, check_kernel

# For a longer hunt: LOOPWRIGHT_FUZZ=200 pytest tests/sched/test_fuzz_schedules.py
BUILDS = int(os.environ.get("LOOPWRIGHT_FUZZ", "8"))


@pytest.mark.parametrize("name", WORKLOADS)
@settings(max_examples=BUILDS)
@given(data=st.data())
def test_a_legal_schedule_changes_no_result(name: str, data: st.DataObject) -> None:
    work = WORKLOADS[name]()
    schedule = data.draw(schedules(work), label="schedule")
    check_kernel(work, lw.build(work, target="cpu", schedule=schedule))


@pytest.mark.parametrize("name", WORKLOADS)
@settings(max_examples=30)
@given(data=st.data())
def test_schedules_survive_their_forms(name: str, data: st.DataObject) -> None:
    work = WORKLOADS[name]()
    schedule = data.draw(schedules(work), label="schedule")
    again = Schedule.from_json(work, schedule.to_json())
    assert again == schedule
    assert hash(again) == hash(schedule)
    assert Schedule(work, schedule.directives) == schedule
    names: dict[str, object] = {"work": work, "lw": lw}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule
    assert str(schedule).count("\n") >= len(schedule.nests.stages) - 1


@pytest.mark.parametrize("name", WORKLOADS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_loop_name_is_never_given_twice(name: str, data: st.DataObject) -> None:
    work = WORKLOADS[name]()
    schedule = data.draw(schedules(work), label="schedule")
    for nest in schedule.nests.stages.values():
        names = [axis.name for axis in nest.stage.all_axes]
        for relation in nest.relations:
            made = (relation.outer, relation.inner) if hasattr(relation, "factor") else (relation.fused,)
            names += made
        assert len(set(names)) == len(names)
        assert {loop.name for loop in nest.loops} <= set(names)

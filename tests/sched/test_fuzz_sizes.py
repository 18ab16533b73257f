"""The invariant, where sizes are symbolic: one build of a random schedule computes what the definition says, at many sizes."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sched.generate import schedules
from tests.sched.test_sizes import WORKS, check

# For a longer hunt: LOOPWRIGHT_FUZZ=200 pytest tests/sched/test_fuzz_sizes.py
BUILDS = int(os.environ.get("LOOPWRIGHT_FUZZ", "3"))


@pytest.mark.parametrize("name", WORKS)
@settings(max_examples=BUILDS)
@given(data=st.data())
def test_a_legal_schedule_serves_all_sizes(name: str, data: st.DataObject) -> None:
    schedule = data.draw(schedules(WORKS[name]()), label="schedule")
    check(schedule, (0, 1, 2, 7, 9, 16, 33))

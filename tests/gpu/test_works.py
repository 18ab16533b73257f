"""Random workloads of all dtypes, by their default schedules on the first OpenCL device."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.runtime.device.opencl import devices
from tests.fuzz.works import random_work

pytestmark = pytest.mark.skipif(not devices(), reason="there is no OpenCL device")

# Narrow integers that C computes as ints, and that were divided, compared or widened before they were cut; a constant whose
# bits were asked for.
ONCE_WRONG = (51, 99, 119, 129, 208, 276, 394, 594, 1216, 1262)


def wrong(number: int) -> str | None:
    """What is wrong with the results of a workload's default schedule."""
    work = random_work(number)
    inputs = random_inputs(work)
    got = lw.build(work, target="opencl")(*inputs)
    return Expected.of(work, inputs).check(got if isinstance(got, tuple) else (got,))


@pytest.mark.parametrize("number", ONCE_WRONG)
def test_what_was_wrong_once(number: int) -> None:
    assert wrong(number) is None


@pytest.mark.parametrize("first", range(4000, 4080, 20))
def test_random_works(first: int) -> None:
    found, tried = {}, 0
    for number in range(first, first + 20):
        work = random_work(number)
        kinds = {tensor.dtype for tensor in (*work.inputs, *work.stages)}
        # OpenCL devices need not have float16, and no device runs C functions or kernels of open sizes.
        if work.sizes or "float16" in kinds or any(stage.routine for stage in work.stages):
            continue
        found[number], tried = wrong(number), tried + 1
    assert set(found.values()) == {None}, found
    assert tried >= 6

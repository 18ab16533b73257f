"""Sums over a window, and their like, are computed for several neighbours at once, wherever their padding is computed."""

from __future__ import annotations

import pytest

from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.roles import roles_of

from .convolutions import depthwise, nhwc, pool
from .judging import ONE_CORE, assert_golden, assert_space_is_right

WORKLOADS = {
    "channels last": depthwise(9, 11, 10, 3, pad=1),
    "channels last, stride 2": depthwise(9, 11, 16, 3, stride=2, pad=1),
    "channels last, 5x5": depthwise(7, 7, 20, 5, pad=2),
    "channels first": depthwise(9, 19, 4, 3, pad=1, first=True),
    "channels first, stride 2": depthwise(9, 19, 4, 3, stride=2, pad=1, first=True),
    "not padded": depthwise(8, 9, 8, 3),
    "one channel": depthwise(8, 9, 1, 3, pad=1),
    "largest": pool(9, 9, 12, 3, 2),
    "largest, channels first": pool(9, 21, 3, 3, 1, first=True),
    "mean of int32": pool(8, 8, 9, 2, 2, mean=True, dtype="int32"),
    "largest of uint8": pool(9, 7, 40, 3, 1, dtype="uint8"),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_candidate_is_right(name: str) -> None:
    assert_space_is_right(WORKLOADS[name], drawn=20, built=2)


def test_a_window_is_told_from_a_product() -> None:
    def is_window(work: Workload) -> bool:
        return roles_of(work.schedule().nests, "out").window

    assert is_window(depthwise(8, 8, 8, 3))
    assert is_window(depthwise(8, 8, 8, 3, first=True))
    assert is_window(pool(8, 8, 8, 3, 2))
    assert not is_window(nhwc(8, 8, 8, 8, 3))
    assert not is_window(nhwc(8, 8, 8, 8, 1))


@pytest.mark.parametrize(
    ("name", "work"),
    {
        "default_depthwise_last": depthwise(28, 28, 32, 3, pad=1),
        "default_depthwise_first": depthwise(28, 28, 32, 3, pad=1, first=True),
        "default_pool": pool(28, 28, 32, 3, 2),
    }.items(),
)
def test_the_default_of_a_window(name: str, work: Workload) -> None:
    assert_golden(name, default_schedule(work, ONE_CORE))

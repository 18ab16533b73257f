"""The simulation of clusters, on costs that can be added up by hand."""

from __future__ import annotations

import pytest

from benchmarks.cluster_scaling import TASK_SECONDS, Costs, record_seconds, simulate

COSTS = Costs({name: [0.5] for name in "abcd"}, start=2.0)


def test_one_worker_does_one_thing_after_the_other() -> None:
    run = simulate(COSTS, 1, 64, record_seconds=0.01, byte_seconds=0.0, piece=32)
    assert run.seconds == pytest.approx(8 * (2.0 + 32 * 0.5 + 32 * 0.01 + TASK_SECONDS))
    assert run.writing == pytest.approx(8 * (32 * 0.01 + TASK_SECONDS) / run.seconds)


def test_more_workers_are_quicker_until_there_is_nothing_to_share() -> None:
    seconds = [simulate(COSTS, n, 64, 0.0, 0.0, piece=32).seconds for n in (1, 2, 4, 8, 100)]
    assert seconds[0] == pytest.approx(2 * seconds[1], rel=1e-3)
    assert seconds[1] == pytest.approx(2 * seconds[2], rel=1e-3)
    assert seconds[4] == pytest.approx(seconds[3], rel=1e-3)


def test_a_slow_writer_is_the_limit() -> None:
    run = simulate(COSTS, 100, 640, record_seconds=0.1, byte_seconds=0.0, piece=32)
    assert run.writing > 0.8
    assert run.seconds >= 4 * 640 * 0.1


def test_the_writer_can_be_measured() -> None:
    assert 0 < record_seconds(3) < 1

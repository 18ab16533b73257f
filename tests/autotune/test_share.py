"""Several workloads share the time: batches go where they are expected to gain most, and end where nothing is gained."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from loopwright import ops
from loopwright.autotune.budget import Budget
from loopwright.autotune.log import TuningLog
from loopwright.autotune.share import expected_gain
from loopwright.autotune.tune import tune
from loopwright.autotune.tune_many import Item, tune_many
from loopwright.sched.errors import TuneError


def shared_out(costs: list[float], falls: list[float], batches: int) -> list[int]:
    """How many of so many batches each of some workloads gets, whose times fall as the law says."""
    histories: list[list[float | None]] = [[] for _ in costs]
    for _ in range(batches):
        first = max(range(len(costs)), key=lambda n: expected_gain(histories[n]))
        count = len(histories[first]) + 1
        histories[first].append(costs[first] * (1 + falls[first] / count))
    return [len(history) for history in histories]


def test_a_hundred_times_the_time_is_worth_ten_times_the_batches() -> None:
    long, short = shared_out([100.0, 1.0], [0.5, 0.5], 110)
    assert 8 <= long / short <= 12


def test_what_gains_gets_more_and_what_gains_no_more_gets_less() -> None:
    gaining, over = shared_out([1.0, 1.0], [2.0, 0.0], 60)
    assert gaining > 2.5 * over
    assert over >= 2


def test_weights_count_as_time_does() -> None:
    assert expected_gain([3.0, 2.0], weight=5.0) == pytest.approx(5 * expected_gain([3.0, 2.0]))


def test_a_workload_without_a_time_comes_first_but_not_for_ever() -> None:
    assert expected_gain([]) == expected_gain([None]) == math.inf
    assert expected_gain([None, None]) == 0.0


def test_patience_ends_a_budget() -> None:
    budget = Budget(None, None, 0.0, patience=100)
    assert budget.next_batch(500, 2, stale=99) > 0
    assert budget.next_batch(500, 2, stale=100) == 0


def test_a_run_without_gain_is_over(tmp_path: Path) -> None:
    """The space is small and soon known: what is tried after its best cannot improve anything."""
    work, log = ops.matmul(M=24, N=16, K=8), tmp_path / "log.jsonl"
    (result,) = tune_many([Item("one", work)], trials=2000, patience=20, log=log)
    assert 20 <= result.measured < 1000
    assert result.best is not None
    assert TuningLog(log).count(work.key) == result.measured


def test_patience_is_a_number() -> None:
    with pytest.raises(TuneError, match="patience=-1: a whole number of at least 0 is expected"):
        tune(ops.matmul(M=4, N=4, K=4), patience=-1)


def test_the_first_batch_is_short_so_that_the_first_finals_come_soon() -> None:
    budget = Budget(200, None, 0.0)
    assert [budget.next_batch(done, 2) for done in (0, 16, 80)] == [16, 64, 64]


def test_batches_of_a_run_that_was_taught_grow() -> None:
    budget, done, sizes = Budget(200, None, 0.0), 0, []
    while size := budget.next_batch(done, 2, taught=True):
        sizes.append(size)
        done += size
    assert sizes[:4] == [4, 4, 8, 64] and done == 200
    assert budget.next_batch(0, 16, taught=True) == 32  # each core has two

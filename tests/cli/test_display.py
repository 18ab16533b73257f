"""What the tuner's events look like to a person."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import pytest

from loopwright import ops
from loopwright.autotune.events import Improved, Noisy, Planned, Started, Tried
from loopwright.autotune.record import Record
from loopwright.cli.display import LINE_SECONDS, Lines, Progressing
from loopwright.cli.watch import Watch

WORK = ops.matmul(M=4, N=4, K=4)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def record(**other: Any) -> Record:
    values: dict[str, Any] = {"status": "ok", "seconds": 1e-3, "verified": True, "schedule": [], "trial": 7}
    return Record(workload=WORK.key, target={"kind": "cpu"}, **{**values, **other})


def test_the_figures_of_a_run() -> None:
    clock = Clock()
    progress = Progressing(trials=200, seconds=600, clock=clock)
    clock.now = 60.0
    progress.done, progress.best, progress.failures = 90, 1e-3, Counter({"run-timeout": 2})
    assert progress.text() == "90/200 trials  1.5/s  best 1 ms  2 failed  9 min 00 s left"
    assert progress.part == 0.45
    clock.now = 700.0
    assert progress.part == 1.0
    assert progress.text().endswith("0 s left")


def test_lines_come_now_and_then() -> None:
    clock, out = Clock(), io.StringIO()
    progress = Progressing(trials=10, clock=clock)
    lines = Lines(progress, out)
    for _ in range(3):
        clock.now += LINE_SECONDS / 2
        progress.done += 1
        lines.refresh()
    assert out.getvalue() == "     10 s  2/10 trials  0.2/s\n"


def test_a_run_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch(None, 1)
    failure = record(
        status="error", cause="run-timeout", seconds=None, verified=False, schedule=None, message="slow"
    )
    with watch:
        watch(Started(str(WORK), "cpu", 3, 2, None, 1000, ("gemm",)))
        watch(Planned(str(WORK), 0, 2, 0.1, None))
        watch(Tried(str(WORK), record(), 1, 0, 1e-3))
        watch(Tried(str(WORK), failure, 2, 1, 1e-3))
        watch(Improved(str(WORK), record(), 1e-3, 2e-3))
    out = capsys.readouterr().out
    assert f"tuning {WORK} for cpu" in out
    assert "the log has 3 trials; 2 trials to go, in a space of 1,000 schedules from 1 sketch" in out
    assert "trial 7 takes 1 ms, was 2 ms" in out
    assert watch.summary().startswith("2 trials in ")
    assert watch.summary().endswith("failed: 1 run-timeout")
    tally = watch.tally(WORK)
    assert (tally.trials, tally.best, dict(tally.failures)) == (5, 1e-3, {"run-timeout": 1})


def test_several_workloads_share_a_display() -> None:
    watch = Watch(10.0, 2)
    other = ops.matmul(M=8, N=8, K=8)
    for work in (WORK, other):
        watch(Started(str(work), "cpu", 0, 5, 10.0, 10, ()))
    watch(Planned(str(other), 0, 2, 0.1, None))
    watch(Tried(str(other), record(), 1, 0, 1e-3))
    assert watch.tally(other).trials == 1
    assert watch.tally(WORK).trials == 0
    assert "1 trial" in watch.summary()


def test_a_busy_machine_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch(None, 1)
    with watch:
        watch(Started(str(WORK), "cpu", 0, 3, None, 100, ("a", "b")))
        watch(Noisy(str(WORK), 1.4))
        watch(Noisy(str(WORK), 1.6))
    text = capsys.readouterr().out
    assert (
        text.count("the machine is busy: the same kernel took 1.4 times as long in one race as in another")
        == 1
    )

"""Merging, choosing the best, summing up."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from loopwright.autotune.log import TuningLog
from loopwright.autotune.log_stats import stats
from loopwright.autotune.log_tools import best, merge, prune, show
from loopwright.sched.errors import LogError
from tests.autotune.logs import CPU, KEY, WRITER, failed, finish, make, run, trials


@pytest.fixture
def log(tmp_path: Path) -> TuningLog:
    return TuningLog(tmp_path / "tuned.jsonl")


def test_merge_keeps_order_and_unknown_fields_and_drops_doubles(tmp_path: Path) -> None:
    a, b, out = (TuningLog(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "out.jsonl"))
    strange = make(1, extra={"note": "kept"})
    newer = make(2).to_line().replace(b'"v":1', b'"v":2')
    a.path.write_bytes(make(0).to_line() + strange.to_line() + b"junk\n" + newer)
    b.path.write_bytes(strange.to_line() + make(3).to_line() + newer + make(4).to_line()[:-1])
    written = merge([a.path, b.path], out.path)
    expected = [make(0).to_line(), strange.to_line(), newer, make(3).to_line(), make(4).to_line()]
    assert out.path.read_bytes() == b"".join(expected)
    assert (written.records, written.dropped) == (5, 2)
    assert [(p.path.name, p.line) for p in written.problems if not p.newer] == [("a.jsonl", 3)]
    merge([out.path, a.path], out.path)
    assert out.path.read_bytes() == b"".join(expected)
    with pytest.raises(LogError, match="would be lost"):
        merge([a.path], out.path)
    merge([a.path], out.path, overwrite=True)
    assert trials(out) == [0, 1]


def test_merge_into_a_log_in_use_loses_nothing(log: TuningLog) -> None:
    process = run(WRITER, log.path, 1, 200, 3000, KEY)
    merges = 0
    while process.poll() is None:
        if log.path.exists():
            merge([log.path], log.path)
            merges += 1
        time.sleep(0.002)
    finish(process)
    assert merges > 1
    assert trials(log) == list(range(200))


def test_best_keeps_one_record_for_each_workload_and_target(tmp_path: Path) -> None:
    a, out = TuningLog(tmp_path / "a.jsonl"), TuningLog(tmp_path / "best.jsonl")
    other, key = {**CPU, "cores": 8}, KEY[::-1]
    for record in (
        make(0, seconds=2.0),
        make(1, seconds=1.0, extra={"note": "kept"}),
        make(2, seconds=0.5, verified=False),
        make(3, target=other),
        failed(4, workload=key),
    ):
        a.append(record)
    written = best([a.path], out.path)
    assert trials(out) == [1, 3]
    assert out.records()[0].extra == {"note": "kept"}
    assert (written.records, written.dropped) == (2, 3)
    best([a.path], out.path)
    with pytest.raises(LogError, match="lose its other records"):
        best([out.path], out.path)
    foreign = tmp_path / "model.py"
    foreign.write_text("x = 1\n")
    for write in (best, lambda paths, to: merge(paths, to, overwrite=True)):
        with pytest.raises(LogError, match="not a tuning log"):
            write([a.path], foreign)
    with pytest.raises(LogError, match="no tuning log"):
        best([tmp_path / "nothing.jsonl"], out.path)
    with pytest.raises(LogError, match="at least one"):
        best([], out.path)
    assert foreign.read_text() == "x = 1\n"
    assert trials(out) == [1, 3]


def test_prune_keeps_the_best_few_in_order(tmp_path: Path) -> None:
    a, out = TuningLog(tmp_path / "a.jsonl"), TuningLog(tmp_path / "small.jsonl")
    for record in (
        make(0, seconds=3.0, screen=1.0),
        make(1, seconds=1.0, screen=9.0),
        make(2, seconds=None, screen=0.5),
        failed(3),
        make(4, seconds=2.0, verified=False, screen=0.1),
        make(5, seconds=2.0, extra={"note": "kept"}),
        make(6, workload=KEY[::-1]),
    ):
        a.append(record)
    written = prune([a.path], out.path, keep=3)
    assert trials(out) == [0, 1, 5, 6]
    assert out.records()[2].extra == {"note": "kept"}
    assert (written.records, written.dropped) == (4, 3)
    prune([a.path], out.path, keep=5)
    assert trials(out) == [0, 1, 2, 4, 5, 6]
    with pytest.raises(LogError, match="at least 1 record"):
        prune([a.path], out.path, keep=0)
    with pytest.raises(LogError, match="lose its other records"):
        prune([out.path], out.path, keep=1)


def test_stats_count(log: TuningLog) -> None:
    def at(moment: str) -> str:
        return f"2026-01-02T{moment}+00:00"

    for record in (
        make(0, time=at("10:00:00"), code="a", device="one", versions={"tvm": "1"}),
        make(1, time=at("10:00:02"), code="b", seconds=None, screen=1.0, device="one"),
        failed(2, time=at("10:00:04"), message="it hung"),
        failed(3, time=at("12:00:00"), message=None, workload=KEY[::-1]),
        make(4, time=at("12:00:06"), code="a", verified=False),
        make(5, time="yesterday"),
    ):
        log.append(record)
    with log.path.open("ab") as file:
        file.write(b"junk\n")
    found = stats(log.path)
    assert (found.records, found.workloads, found.ok, found.verified, found.finals) == (6, 2, 4, 3, 3)
    assert found.twins == 1
    assert found.busy.total_seconds() == 10
    assert found.rate == 0.6
    assert found.devices == {"one": 2, "not said": 4}
    assert found.versions == {"tvm 1": 1, "not said": 5}
    (failure,) = found.failures.values()
    assert (failure.count, failure.message) == (2, "it hung")
    assert [problem.line for problem in found.problems] == [7]
    with pytest.raises(LogError, match="no tuning log"):
        stats(log.path.with_name("nothing.jsonl"))


def test_show_sums_up(log: TuningLog) -> None:
    for record in (
        make(0, seconds=2e-3, screen=4e-3),
        failed(1),
        failed(2, "wrong-result", screen=1e-3),
        make(3, seconds=1e-3, verified=False, screen=3e-3),
        make(4, workload=KEY[::-1], name="norm", args={}),
    ):
        log.append(record)
    with log.path.open("ab") as file:
        file.write(b"junk\n")
    report = show(log.path)
    first, second = report.rows
    assert (first.label, first.target_label) == ("matmul(M=64)", "cpu znver3, 2 cores")
    assert (first.trials, first.ok, dict(first.failures)) == (4, 2, {"run-timeout": 1, "wrong-result": 1})
    assert (first.best_seconds, first.best_screen) == (2e-3, 3e-3)
    assert (second.label, second.trials, second.best_screen) == ("norm()", 1, None)
    assert (report.records, report.sound) == (5, False)
    assert [problem.line for problem in report.problems] == [6]

"""The log as a file: what it survives, and what it refuses."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from loopwright.autotune.log import TuningLog
from loopwright.autotune.log_read import read_log
from loopwright.autotune.log_tools import check
from tests.autotune.logs import CPU, KEY, WRITER, failed, finish, make, run, trials


@pytest.fixture
def log(tmp_path: Path) -> TuningLog:
    return TuningLog(tmp_path / "tuned.jsonl")


# ---- torn lines, other writers, sudden death


def test_a_line_torn_at_any_byte_costs_that_line_only(tmp_path: Path) -> None:
    lines = [make(n).to_line() for n in range(3)]
    for cut in range(len(lines[1]) + 1):
        log = TuningLog(tmp_path / f"{cut}.jsonl")
        log.path.write_bytes(lines[0] + lines[1][:cut])
        whole = cut >= len(lines[1]) - 1
        assert trials(log) == ([0, 1] if whole else [0])
        assert [problem.line for problem in log.problems] == ([] if whole or not cut else [2])
        log.append(make(2))
        assert trials(log) == ([0, 1, 2] if whole else [0, 2])
        assert [problem.line for problem in log.problems] == ([] if whole or not cut else [2])
        assert log.path.read_bytes().endswith(lines[2])


def test_a_first_line_torn_at_any_byte_is_still_a_log(tmp_path: Path) -> None:
    line = make(0).to_line()
    for cut in range(len(line) - 1):
        log = TuningLog(tmp_path / f"{cut}.jsonl")
        log.path.write_bytes(line[:cut])
        assert trials(log) == []
        log.append(make(1))
        assert trials(log) == [1]


def test_a_torn_line_is_explained(log: TuningLog) -> None:
    log.path.write_bytes(make(0).to_line() + make(1).to_line()[:90])
    assert trials(log) == [0]
    assert "cut short" in str(log.problems[0])
    log.append(make(2))
    assert trials(log) == [0, 2]
    assert str(log.problems[0]) == f"{log.path}:2: the line is cut short: its writer was stopped"


def test_many_writers_at_once_lose_nothing(log: TuningLog) -> None:
    writers, count = 4, 150
    processes = [run(WRITER, log.path, writer, count, 20_000, KEY) for writer in range(writers)]
    for process in processes:
        finish(process)
    records = log.records()
    assert not log.problems
    assert len(records) == writers * count
    for writer in range(writers):
        assert [record.trial for record in records if record.seed == writer] == list(range(count))


def test_kill_9_tears_at_most_the_line_being_written(log: TuningLog) -> None:
    rng, kills = random.Random(0), 6
    for kill in range(kills):
        process = run(WRITER, log.path, kill, 10**9, 3_000_000, KEY)
        deadline = time.monotonic() + 30
        while not (log.path.exists() and log.count(KEY) > 2 * kill):
            assert time.monotonic() < deadline, process.stderr
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(rng.random() * 0.03)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        log.append(make(10**6 + kill))
    records = log.records()
    assert len(log.problems) <= kills
    for kill in range(kills):
        mine = [record.trial for record in records if record.seed == kill]
        assert mine == list(range(len(mine)))
    assert sum(record.ok for record in records) == kills


# ---- lines of other origins


def test_bad_lines_are_skipped_and_reported(log: TuningLog) -> None:
    lines = [
        b"\xef\xbb\xbf" + make(0).to_line(),
        b"\n",
        b"\0\0\0\0\n",
        make(1).to_line().replace(b"\n", b"\r\n"),
        b'{"input": 3}\n',
        make(2).to_line().replace(b'"v":1', b'"v":9'),
        json.dumps(json.loads(make(3).to_line()), indent=None, sort_keys=True).encode() + b"\n",
        make(4).to_line().replace(b'"status":"ok"', b'"status":"good"'),
        make(5).to_line()[:-1],
    ]
    log.path.write_bytes(b"".join(lines))
    assert trials(log) == [0, 1, 3, 5]
    assert [(problem.line, problem.newer) for problem in log.problems] == [
        (3, False),
        (5, False),
        (6, True),
        (8, False),
    ]
    assert check(log.path) == log.problems
    assert [entry.line for entry in read_log(log.path).entries(KEY)] == [1, 4, 7, 9]
    assert log.count(KEY) == 4


def test_count_and_best(log: TuningLog) -> None:
    other = {**CPU, "cores": 8}
    for record in (
        make(0, seconds=3e-3),
        failed(1),
        make(2, seconds=2e-3, space="ab12"),
        make(3, seconds=1e-3, verified=False),
        make(4, seconds=1e-4, target=other),
        make(5, seconds=None, screen=1e-5),
        make(6, workload=KEY[::-1]),
    ):
        log.append(record)
    assert log.count(KEY) == 6
    assert log.count(KEY, CPU) == 5
    assert log.count(KEY, other) == 1
    assert log.count(KEY, CPU, space="ab12") == 1
    assert log.count("f" * 64, CPU) == 0
    for space, trial in ((None, 2), ("auto", 0), ("none", None)):
        found = log.best(KEY, CPU, space)
        assert (found.trial if found else None) == trial


def test_reading_needs_no_package(log: TuningLog) -> None:
    code = """
        import sys
        for name in ("tvm", "numpy", "xgboost", "filelock", "psutil"):
            sys.modules[name] = None
        from loopwright.autotune.log import TuningLog
        from loopwright.autotune.lookup import lookup
        print(len(TuningLog(sys.argv[1]).records()), lookup(sys.argv[1], sys.argv[2], {"kind": "cpu"}).hit)
        assert "loopwright.autotune.log_write" not in sys.modules
    """
    log.append(make(target={"kind": "cpu"}))
    assert finish(run(code, log.path, KEY)).split() == ["1", "True"]

"""Tuning and measuring from the command line, on operators small enough for a test."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loopwright.cli import main

OPERATORS = """
import numpy as np
import loopwright as lw

def halved(x, out=None):
    return np.multiply(x, np.float32(0.5), out=out)

def wrong(x):
    return x * np.float32(0.25)

@lw.operator(numpy=halved)
def half(N: int):
    x = lw.input("x", (N, N))
    return lw.compute("y", (N, N), lambda i, j: x[i, j] * 0.5)

@lw.operator(numpy=wrong)
def half_wrong(N: int):
    x = lw.input("x", (N,))
    return lw.compute("y", (N,), lambda i: x[i] * 0.5)

@lw.operator
def third(N: int):
    x = lw.input("x", (N,))
    return lw.compute("y", (N,), lambda i: x[i] * 0.25)
print("a module may print")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tuning")
    (path / "my_ops.py").write_text(OPERATORS)
    return path


@pytest.fixture(scope="module")
def log(folder: Path) -> Path:
    """A log that the command line wrote."""
    path = folder / "tuned.jsonl"
    words = ["tune", f"{folder}/my_ops.py:half", "N=64", "--trials", "4", "--log", str(path)]
    assert main(words) == 0
    return path


def test_tune_keeps_every_trial_and_needs_no_more(
    log: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = log.read_bytes()
    assert len(before.splitlines()) == 4
    assert main(["tune", f"{folder}/my_ops.py:half", "N=64", "--trials", "4", "--log", str(log)]) == 0
    out = capsys.readouterr().out
    assert "no trials were needed" in out
    assert re.search(r"^workload +default +tuned +speed-up +trials +failed$", out, re.MULTILINE)
    assert re.search(r"^half\(N=64\) .* 4 +0$", out, re.MULTILINE)
    assert log.read_bytes() == before


def test_bench_compares_and_writes_what_it_found(
    log: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", f"{folder}/my_ops.py:half", "N=64", "--log", str(log), "--rounds", "3"]
    files = ["--json", str(folder / "bench.json"), "--markdown", str(folder / "bench.md")]
    assert main([*words, *files]) == 0
    out = capsys.readouterr().out
    assert "half(N=64)" in out
    assert "NumPy us" in out
    assert "reference" not in out
    data = json.loads((folder / "bench.json").read_text())
    assert set(data["rows"][0]["rounds"]) == {"default", "tuned", "numpy"}
    assert all(len(times) == 3 and min(times) > 0 for times in data["rows"][0]["rounds"].values())
    assert data["rows"][0]["operations"] == 64 * 64
    assert "| half(N=64) |" in (folder / "bench.md").read_text()


def test_bench_of_what_was_never_tuned(log: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", f"{folder}/my_ops.py:third", "N=8", "--log", str(log), "--rounds", "1"]) == 0
    out, err = capsys.readouterr()
    assert "reference us" in out
    assert "reference/default" in out
    assert "not tuned: default schedule for third(N=8)" in err


def test_bench_times_nothing_that_computes_something_else(
    log: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", f"{folder}/my_ops.py:half_wrong", "N=8", "--log", str(log)]) == 2
    err = capsys.readouterr().err
    assert "the NumPy function computes something else" in err


def test_a_set_is_tuned_and_measured(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / "set.jsonl"
    of_set = ["--workloads", "bert-base", "--only", "*pooler", "--log", str(log)]
    assert main(["tune", *of_set, "--trials", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^name +workload", out, re.MULTILINE)
    assert re.search(r"^b1-pooler .* 2 ", out, re.MULTILINE)
    assert re.search(r"^b8-pooler .* 2 ", out, re.MULTILINE)
    assert main(["bench", *of_set, "--rounds", "1", "--markdown", str(folder / "set.md")]) == 0
    assert "geometric mean" in capsys.readouterr().out
    assert "the pooler, on the first token" in (folder / "set.md").read_text()


def test_a_pattern_that_matches_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "tune",
        "--workloads",
        "bert-base",
        "--only",
        "nosuch",
        "--trials",
        "1",
        "--log",
        str(folder / "x"),
    ]
    assert main(words) == 2
    assert "nothing in bert-base matches --only nosuch; it has: b1-projection" in capsys.readouterr().err


def test_an_interrupted_run_keeps_what_it_found(folder: Path) -> None:
    log = folder / "interrupted.jsonl"
    words = ["tune", "ops.matmul", "M=64", "N=64", "K=64", "--trials", "100000", "--log", str(log)]
    process = subprocess.Popen(
        [sys.executable, "-m", "loopwright", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and not (log.exists() and log.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert re.fullmatch(rf"interrupted; \d+ trials? in .*, all in {log}: .*\n", err)
    assert main(["log", "check", str(log)]) == 0


def test_a_terminal_sees_a_bar(folder: Path) -> None:
    words = ["tune", f"{folder}/my_ops.py:third", "N=64", "--trials", "2", "--log", str(folder / "bar.jsonl")]
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen([sys.executable, "-m", "loopwright", *words], stdout=slave, env=environment)
    os.close(slave)
    seen = b""
    while True:
        try:
            data = os.read(master, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not data:
            break
        seen += data
    os.close(master)
    assert process.wait(timeout=60) == 0
    text = seen.decode()
    assert "2/2 trials" in text
    assert "━" in text
    assert "speed-up" in text

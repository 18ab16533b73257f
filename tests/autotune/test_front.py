"""Time against memory: what is worth having, and what a log gives when it is asked for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.front import SLACK, chosen, cost_of, front, layers, smallest
from loopwright.autotune.log import Record, TuningLog
from loopwright.autotune.log_tools import best, best_records
from loopwright.autotune.lookup import lookup
from loopwright.autotune.report.contents import contents
from loopwright.autotune.report.page import page
from loopwright.cli import main
from loopwright.sched.errors import LogError

from .logs import CPU, KEY, make, trials

Cost = tuple[float, float]


def beats(one: Cost, other: Cost) -> bool:
    return one[0] <= other[0] and one[1] <= other[1] and one != other


def grid(seed: int) -> list[Cost]:
    rng = np.random.default_rng(seed)
    return [(float(a), float(b)) for a, b in rng.integers(1, 12, (int(rng.integers(1, 40)), 2))]


@pytest.mark.parametrize("seed", range(40))
def test_the_front_is_what_nothing_beats(seed: int) -> None:
    costs = grid(seed)
    unbeaten = {cost for cost in costs if not any(beats(other, cost) for other in costs)}
    assert front(costs, lambda cost: cost) == sorted(unbeaten)


@pytest.mark.parametrize("seed", range(40))
def test_layers_are_fronts_of_what_is_left(seed: int) -> None:
    costs = grid(seed)
    expected, left, number = {}, set(costs), 0
    while left:
        number += 1
        unbeaten = {cost for cost in left if not any(beats(other, cost) for other in left)}
        expected |= dict.fromkeys(unbeaten, number)
        left -= unbeaten
    assert layers(costs) == [expected[cost] for cost in costs]


@pytest.mark.parametrize("seed", range(40))
def test_the_smallest_is_on_the_front_and_not_too_slow(seed: int) -> None:
    costs = grid(seed)
    bar = SLACK * min(cost[0] for cost in costs)
    found = smallest(costs, lambda cost: cost)
    assert found == min((cost for cost in costs if cost[0] <= bar), key=lambda cost: cost[::-1])
    assert found in front(costs, lambda cost: cost)


# Trials of one workload: the fastest, one that is smaller and not too slow, the smallest, and what one of these beats.
TRADE = (
    make(0, seconds=1.0, peak_bytes=9000),
    make(1, seconds=1.9, peak_bytes=100),
    make(2, seconds=2.5, peak_bytes=0),
    make(3, seconds=2.6, peak_bytes=100),
    make(4, seconds=0.1, peak_bytes=0, verified=False),
)
OLD = (make(5, seconds=0.9), make(6, seconds=0.95))


def written(path: Path, *records: Record) -> Path:
    path.write_bytes(b"".join(record.to_line() for record in records))
    return path


def test_a_look_up_takes_an_objective(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", *TRADE)

    def found(**how: Any) -> tuple[Any, str]:
        answer = lookup(log, KEY, CPU, **how)
        assert answer.record is not None
        return answer.record.trial, str(answer.provenance)

    assert found()[0] == found(objective="time")[0] == 0
    trial, provenance = found(objective="memory")
    assert trial == 1
    assert "1.9 s, 100 B of memory" in provenance
    assert "memory" not in found()[1]


def test_records_that_do_not_say_their_memory(tmp_path: Path) -> None:
    """Old ones are left out where memory matters; where there are no others, the fastest is taken."""
    assert [record.trial for record in chosen([*OLD, *TRADE[:3]], "memory")] == [1]
    assert [record.trial for record in chosen([*OLD, *TRADE[:3]], "both")] == [0, 1, 2]
    assert [record.trial for record in chosen([*OLD, *TRADE[:3]], "time")] == [5]
    assert chosen(OLD, "memory") == chosen(OLD, "both") == chosen(OLD, "time") == [OLD[0]]
    assert chosen([], "memory") == chosen([], "both") == chosen([], "time") == []
    assert cost_of(OLD[0]) == (0.9, float("inf"))
    found = lookup(written(tmp_path / "log.jsonl", *OLD), KEY, CPU, objective="memory")
    assert "memory not said" in found.provenance


def test_the_best_of_a_log(tmp_path: Path) -> None:
    other = make(7, workload=KEY[::-1], seconds=1.0, peak_bytes=5)
    log, out = written(tmp_path / "log.jsonl", *TRADE, other), TuningLog(tmp_path / "out.jsonl")
    for objective, expected in (("time", [0, 7]), ("memory", [1, 7]), ("both", [0, 1, 2, 7])):
        result = best([log], out.path, objective)  # type: ignore[arg-type]
        assert trials(out) == expected
        assert (result.records, result.dropped) == (len(expected), 6 - len(expected))
        assert [r.trial for r in best_records([log], objective)[0]] == expected  # type: ignore[arg-type]
    assert lookup(out, KEY, CPU).record == TRADE[0]


def test_a_front_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = written(tmp_path / "log.jsonl", *TRADE), tmp_path / "out.jsonl"
    assert main(["log", "best", str(log), "--objective", "both"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["workload", "target", "trial", "time", "memory", "schedule"]
    assert [line.split()[-4:-1] for line in lines[1:]] == [
        ["s", "8.79", "KiB"],
        ["s", "100", "B"],
        ["s", "0", "B"],
    ]
    assert main(["log", "best", str(log), "--objective", "both", "-o", str(out)]) == 0
    assert "wrote 3 records" in capsys.readouterr().out
    assert main(["log", "best", str(log), "--objective", "space"]) == 2
    assert "'space' is not one of 'time', 'memory', 'both'" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["speed", "", 3, None, ["time"]])
def test_another_objective_is_refused(tmp_path: Path, wrong: Any) -> None:
    log = written(tmp_path / "log.jsonl", *TRADE)
    with pytest.raises(LogError, match="objective=.*: one of 'time', 'memory' is expected"):
        lookup(log, KEY, CPU, objective=wrong)
    with pytest.raises(LogError, match="objective=.*: one of 'time', 'memory', 'both' is expected"):
        best([log], tmp_path / "out.jsonl", wrong)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_build_takes_one_schedule_of_a_log() -> None:
    work = ops.matmul(M=4, N=4, K=4)
    with pytest.raises(
        LogError, match="objective='memory' says which record of a log is best, and no log is given"
    ):
        lw.build(work, objective="memory")


def test_a_report_says_what_was_searched_for(tmp_path: Path) -> None:
    """What was predicted by another objective is no prediction of times."""
    records = [replace(r, objective="both", screen=r.seconds, predicted=0.5, batch=0) for r in TRADE]
    html = page(contents(written(tmp_path / "log.jsonl", *records)))
    assert "trial 0 of the automatic space, 1 s, 8.79 KiB of memory; searched for both: " in html
    assert "the front has 3, the smallest at most twice as slow takes 1.9 s with 100 B of memory" in html
    assert "Predicted and measured" not in html

"""The benchmark beside MetaSchedule: what it keeps, and what its tables say. Nothing is tuned here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.metaschedule import CASES, Results, Settings, part, report
from benchmarks.metaschedule_peer import DEFINITIONS


def test_both_know_the_same_workloads() -> None:
    assert [case.name for case in CASES] == list(DEFINITIONS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_mean_the_same_arrays(case: Any) -> None:
    work = case.work()
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in DEFINITIONS[case.name]()]
    assert shapes == [stage.shape for stage in (*work.inputs, *work.outputs)]


def test_a_step_is_measured_once(tmp_path: Path) -> None:
    out, case = tmp_path / "results.json", CASES[0]
    Results(out, Settings()).step(case, 0, "rate", lambda folder: {"seconds": 10.0, "trials": 200})
    again = Results(out, Settings())
    again.step(case, 0, "rate", lambda folder: pytest.fail("measured again"))
    assert again.run(case, 0) == {"rate": {"seconds": 10.0, "trials": 200}}
    assert json.loads(out.read_text())["settings"]["trials"] == 64
    with pytest.raises(SystemExit, match="made with other settings"):
        Results(out, Settings(rounds=3))


def test_the_tables_have_medians(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", Settings())
    for number, (waited, reached) in enumerate(((100.0, 4.0), (200.0, None), (100.0, 8.0))):
        for name, step in {
            "theirs": {"seconds": waited, "trials": 64},
            "rate": {"seconds": 20.0, "trials": 200},
            "compared": {"reached": reached, "final": [0.8, 0.9, 1.0], "ours": 9e-6, "theirs": 1e-5},
        }.items():
            results.step(CASES[1], number, name, lambda folder, step=step: step)  # type: ignore[misc]
    assert [part(results.run(CASES[1], number)) for number in range(3)] == [0.04, float("inf"), 0.08]
    text = report(results)
    assert "matmul 1024                   10.0          0.64    15.6" in text
    assert "geometric mean 0.0800" in text
    assert "0.90 (0.80-1.00)" in text

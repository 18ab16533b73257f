"""Whatever is handed to a public function: a named error of ours, in a few lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import loopwright as lw
from loopwright import ops

WORK = ops.matmul(M=4, N=4, K=4)
SCHEDULE = WORK.schedule()
HALF = {"name": "x", "args": {}, "inputs": [], "stages": [{}], "outputs": []}

CALLS: dict[str, Callable[[], Any]] = {
    "from_te of a number": lambda: lw.from_te(3),
    "from_tir of a number": lambda: lw.from_tir(3),
    "a schedule from nested brackets": lambda: lw.Schedule.from_json(WORK, "[" * 100_000),
    "a schedule from a number": lambda: lw.Schedule.from_json(WORK, 3),
    "a workload from nothing": lambda: lw.Workload.from_json({}),
    "a workload from a number": lambda: lw.Workload.from_json(3),
    "a workload from half of one": lambda: lw.Workload.from_json(HALF),
    "tile of a number": lambda: SCHEDULE.tile("C", 3),
    "fill of a number": lambda: SCHEDULE.fill(3),
    "add of a number": lambda: SCHEDULE.add(3),
    "diff with a number": lambda: SCHEDULE.diff(3),
    "a text as a constant": lambda: lw.const("x", "int8"),
    "a stage that is no function": lambda: lw.compute("x", (3,), 3),
    "a stage without a value": lambda: lw.compute("x", (3,), lambda i: None),
    "a sum over a number": lambda: lw.sum(lw.const(3, "int32"), over=3),
    "argmax over a number": lambda: lw.argmax(lw.const(3, "int32"), over=3),
    "a default schedule of a number": lambda: lw.default_schedule(3),
    "a build of a number": lambda: lw.build(3),
    "a build of an operator": lambda: lw.build(ops.matmul),
    "an operator that is a number": lambda: lw.operator(3),
    "a target that is a number": lambda: lw.build(WORK, target=3),
    "an update that is no function": lambda: lw.compute("x", (3,), lambda i: i).update(3),
    "a boundary of a number": lambda: lw.repeat_edge(3),
    "a reducer that is no function": lambda: lw.reducer(3, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_bad_argument_is_named(name: str) -> None:
    with pytest.raises(lw.LoopwrightError) as caught:
        CALLS[name]()
    assert 1 <= len(str(caught.value).splitlines()) <= 6


@pytest.mark.parametrize(
    "options",
    [
        {"limits": 3},
        {"progress": 3},
        {"worker_command": 3},
        {"worker_command": []},
        {"trials": -1},
        {"repeats": 3},
    ],
)
def test_a_bad_argument_of_tune_is_named(options: dict[str, Any], tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(lw.TuneError, match=next(iter(options))):
        lw.tune(WORK, target="cpu", log=log, **options)
    assert not log.exists()

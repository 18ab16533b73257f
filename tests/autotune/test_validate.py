"""A test of the user's own: it sees what finalists compute, and what it rejects never becomes the best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.log import TuningLog
from loopwright.autotune.tune import tune
from loopwright.autotune.tune_many import tune_many
from loopwright.autotune.validate import rejection
from loopwright.sched.errors import TuneError

Arrays = Sequence[np.ndarray[Any, Any]]
WORK = ops.matmul(M=24, N=32, K=16)


def test_it_sees_the_inputs_and_the_outputs(tmp_path: Path) -> None:
    seen: list[float] = []

    def close(inputs: Arrays, outputs: Arrays) -> bool:
        a, b = inputs
        (c,) = outputs
        seen.append(float(np.abs(c - a @ b).max()))
        return seen[-1] < 1e-4

    result = tune(WORK, trials=8, validate=close, log=tmp_path / "log.jsonl")
    assert result.best is not None
    assert not result.failures
    assert seen
    assert max(seen) < 1e-4


def test_what_it_rejects_is_no_best(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    (result,) = tune_many([("one", WORK)], trials=8, validate=lambda *_: "not round enough", log=log)
    assert result.best is None
    assert result.failures.keys() == {"rejected"}
    rejected = [record for record in TuningLog(log).records() if record.cause == "rejected"]
    assert {(record.message, record.verified) for record in rejected} == {("not round enough", False)}


def test_narrow_floats_and_several_outputs() -> None:
    @lw.operator
    def both(N: int) -> Any:
        x = lw.input("x", (N,), "bfloat16")
        return lw.compute("y", (N,), lambda i: x[i] * 2), lw.compute("z", (N,), lambda i: x[i] > 0)

    kinds: set[tuple[str, ...]] = set()

    def note(inputs: Arrays, outputs: Arrays) -> None:
        kinds.add(tuple(array.dtype.name for array in (*inputs, *outputs)))

    assert tune(both(100), trials=4, validate=note).best is not None
    assert kinds == {("bfloat16", "bfloat16", "bool")}


def test_reasons() -> None:
    assert rejection(lambda *_: bool(np.bool_(True)), [], []) is None
    assert rejection(lambda *_: False, [], []) == "validate returned False"
    assert rejection(lambda *_: "", [], []) == "validate returned an empty text"

    def fails(*_: object) -> bool:
        raise ValueError("three\nlines\nof it")

    assert rejection(fails, [], []) == "validate raised ValueError: three"


def test_what_is_no_function() -> None:
    with pytest.raises(TuneError, match="validate=3: a function of inputs and outputs is expected"):
        tune(WORK, trials=1, validate=3)  # type: ignore[arg-type]

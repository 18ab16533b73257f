"""One callable of all that several tunings of a workload with symbolic sizes found: by the nearest, and right at every size."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright.autotune.log import Record, TuningLog
from loopwright.sched.errors import ArgumentError, DefinitionError
from loopwright.sched.scheduling.schedule import Schedule


@lw.operator
def halves(n: int, m: int) -> object:
    x = lw.input("x", (n, m))
    return lw.compute("y", (n, m), lambda i, j: x[i, j] / 2)


WORK = halves(lw.size("n"), 4)


def record(schedule: Schedule, seconds: float, **extra: object) -> Record:
    target = lw.Target.parse("cpu").to_json()
    return Record(
        workload=schedule.work.key, target=target, status="ok", seconds=seconds, verified=True,
        schedule=schedule.to_json(), name="halves", extra=dict(extra),
    )  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What three tunings leave: at 1 and 100 with a schedule each, and at 1000 with that of 100."""
    log = TuningLog(tmp_path / "tuned.jsonl")
    one, many = WORK.schedule().unroll("y.j"), WORK.schedule().vectorize("y.j", 4)
    log.append(record(one, 1e-6, at={"n": 1}))
    log.append(record(many, 2e-6, at={"n": 1}))
    log.append(record(many, 1e-5, at={"n": 100}))
    log.append(record(many, 1e-4, at={"n": 1000}))
    alone = WORK.at({"n": 100})
    log.append(record(alone.schedule().parallel("y.i"), 1e-5))
    return log.path


def test_each_size_goes_to_its_nearest_and_all_are_right(log: Path, tmp_path: Path) -> None:
    made = lw.dispatch(WORK, log=log)
    exact, one, many = made.kernels
    assert exact.signature.inputs[0].shape == (100, 4)
    assert (one.at, many.at) == (({"n": 1},), ({"n": 100}, {"n": 1000}))
    assert [kernel.provenance.tuned for kernel in made.kernels] == [True] * 3
    loaded = lw.load(made.export(tmp_path / "halves.so"))
    for n in [*range(40), 99, 100, 101, 1000]:
        x = np.random.default_rng(n).random((n, 4), dtype="float32")
        for callee in (made, loaded):
            np.testing.assert_array_equal(callee(x), x / 2)
            expected = 0 if n == 100 else 1 if n < 14 else 2
            assert callee.choose(x) is callee.kernels[expected]


def test_what_the_log_does_not_have(log: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = lw.dispatch(WORK)
    assert len(made.kernels) == 1
    other = halves(lw.size("n"), 5)
    with pytest.warns(lw.UntunedWarning):
        made = lw.dispatch(other, log=log, at=[{"n": 3}])
    assert [str(kernel.signature) for kernel in made.kernels] == [
        "halves(x: float32[3, 5]) -> y: float32[3, 5]", "halves(x: float32[n, 5]) -> y: float32[n, 5]"
    ]  # fmt: skip


def test_sizes_may_be_called_otherwise(log: Path) -> None:
    made = lw.dispatch(halves(lw.size("rows"), 4), log=log)
    assert [kernel.at for kernel in made.kernels] == [(), ()]
    x = np.ones((7, 4), "float32")
    np.testing.assert_array_equal(made(x), x / 2)


def test_what_is_refused() -> None:
    with pytest.raises(DefinitionError, match="dispatch takes a workload with symbolic sizes"):
        lw.dispatch(halves(3, 4))
    with pytest.raises(DefinitionError, match="dispatch takes a workload with symbolic sizes"):
        lw.dispatch(halves)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        lw.dispatch(WORK, at=[{"k": 3}])

"""Tuning around a schedule of the user's: it is measured first, and everything near it is legal and right."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopwright import ops
from loopwright.autotune.log import TuningLog
from loopwright.autotune.sketch.around import sketches_around
from loopwright.autotune.space import SearchSpace
from loopwright.autotune.tune import tune
from loopwright.sched.errors import TuneError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import knob
from loopwright.sched.scheduling.schedule import Schedule


def work() -> Workload:
    return ops.matmul(M=60, N=70, K=50)


def packed() -> Schedule:
    """A register tile, with its second operand packed to fit."""
    return (
        work()
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 16))
        .reorder("C", "jo io k ii ji")
        .unroll("C.ii")
        .cache_read("B", name="packed", at="C.jo")
        .split("packed.j", ("jo", "ji"), 16)
        .transform_layout("packed", "k jo ji")
        .vectorize("packed.ji")
        .vectorize("C.ji", 8)
        .parallel("C.jo")
    )


def test_equal_factors_of_an_axis_stay_equal() -> None:
    written, around = sketches_around(packed())
    assert written.schedule == packed()
    assert {name: list(values) for name, values in around.knobs.items()} == {
        "i.4": [1, 2, 3, 4, 6, 8, 16],
        "j.16": [4, 8, 12, 16, 24, 32, 64],
        "ji.8": [2, 4, 6, 8, 12, 16, 32],
    }
    assert around.seeds == ({"i.4": 4, "j.16": 16, "ji.8": 8},)
    assert around.schedule.fill(around.seeds[0]) == packed()


def test_what_has_no_numbers_is_measured_as_it_is() -> None:
    plain = work().schedule().parallel("C.i")
    assert [sketch.schedule for sketch in sketches_around(plain)] == [plain]


def test_the_start_is_measured_first(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    result = tune(work(), start=packed(), trials=12, log=log, seed=3)
    records = TuningLog(log).records(work().key, Target.parse("cpu"))
    assert result.measured == len(records) == 12
    assert not result.failures
    first = [record.schedule_json for record in records if record.trial is not None and record.trial < 4]
    assert packed().to_json() in first
    assert tune(work(), start=packed(), trials=12, log=log).measured == 0


def test_around_the_start_beside_a_template() -> None:
    template = work().schedule().split("C.i", ("io", "ii"), knob("t", [2, 4]))
    result = tune(work(), start=packed(), space=template, trials=8)
    assert result.measured == 8


def test_every_neighbour_is_right() -> None:
    from tests.recipes.judging import assert_right

    space = SearchSpace(sketches_around(packed()), Target.parse("cpu"))
    schedules = [space.schedule(point) for point in space.all_points()]
    legal = [schedule for schedule in schedules if schedule is not None]
    assert len(legal) >= 0.9 * len(schedules)
    for schedule in legal[:: len(legal) // 12]:
        assert_right(schedule)


def test_what_is_no_start() -> None:
    with pytest.raises(TuneError, match=r"start= takes a schedule, not 3"):
        tune(work(), start=3, trials=1)  # type: ignore[arg-type]
    with pytest.raises(TuneError, match="which computes something else than"):
        tune(work(), start=ops.matmul(M=8, N=8, K=8).schedule(), trials=1)
    with pytest.raises(
        TuneError, match=r"start= is one schedule, and this has knobs \(t\); give it as space="
    ):
        tune(work(), start=work().schedule().split("C.i", ("io", "ii"), knob("t", [2, 4])), trials=1)

"""What a search is after: memory, both, and functions of the user's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.aim import Aim, Leaders
from loopwright.autotune.contender import Contender
from loopwright.autotune.events import Event, Improved
from loopwright.autotune.front import chosen, cost_of, timed
from loopwright.autotune.log import TuningLog
from loopwright.autotune.objective import Objective, Sample, Trial, objective_of
from loopwright.autotune.search.anneal import AnnealSearch
from loopwright.autotune.share import expected_gain
from loopwright.autotune.space import Point, SearchSpace, Sketch
from loopwright.autotune.tune import tune
from loopwright.autotune.tune_many import tune_many
from loopwright.sched.errors import TuneError
from loopwright.sched.scheduling.schedule import Schedule

from .logs import make
from .spaces import AVX2

WORK = ops.matmul(M=512, N=512, K=512)


@lw.operator
def blur(n: int) -> Any:
    a = lw.input("a", (n + 2, n + 2))
    b = lw.compute("b", (n + 2, n), lambda y, x: a[y, x] + a[y, x + 1] + a[y, x + 2])
    return lw.compute("c", (n, n), lambda y, x: b[y, x] + b[y + 1, x] + b[y + 2, x])


def templates() -> list[Schedule]:
    """The stage between stored whole, computed for some rows at a time, or not stored: 1.0 MiB, 20 to 68 KiB, nothing."""
    rows = blur(512).schedule().split("c.y", ("yo", "yi"), lw.knob("rows", [8, 32]))
    return [rows, rows.compute_at("b", "c.yo"), rows.compute_inline("b")]


# --- choosing ---------------------------------------------------------------------------------------------------------------


def samples(*costs: tuple[float, float]) -> list[Sample]:
    return [Sample(seconds, size) for seconds, size in costs]


TRADE = samples((1.0, 9000), (1.9, 100), (2.5, 0), (2.6, 100), (1.2, 9000))


@pytest.mark.parametrize(
    ("name", "wanted", "costs", "figure"),
    [
        ("time", [0], [1.0, 1.9, 2.5, 2.6, 1.2], 1.0),
        ("memory", [1], [2, 1, 4, 5, 3], 100),
        ("both", [0, 1, 2], [1, 1, 1, 2, 2], math.sqrt(1.9 * 4196)),
    ],
)
def test_what_an_objective_makes_of_trials(
    name: str, wanted: list[int], costs: list[float], figure: float
) -> None:
    objective = objective_of(name)
    assert objective.wanted(TRADE) == [TRADE[n] for n in wanted]
    assert objective.figure(TRADE) == pytest.approx(figure)
    assert objective.costs(TRADE) == costs
    assert TRADE[0] in objective.leaders(TRADE)  # the fastest's time is always of interest


def aim_of(objective: Objective, *screened: tuple[float, int]) -> tuple[Aim, list[Contender]]:
    """Candidates that were screened so, in one batch."""
    aim, done = Aim(objective, WORK, 2, []), []
    for number, (score, size) in enumerate(screened):
        point, schedule = Point(0, (number,)), WORK.schedule()
        record = make(number, seconds=None, screen=score, peak_bytes=size)
        aim.screen(point, schedule, score, size)
        done.append(Contender(point, schedule, "", 1.0, trial=number, record=record))
    return aim, done


def finals(aim: Aim, done: list[Contender]) -> list[int]:
    return [contender.trial for contender in aim.finalists(done)]


def test_finals_are_among_those_that_may_lead() -> None:
    screened = [(1.0, 9000), (1.1, 9000), (2.5, 0), (2.6, 100), (9.0, 9000), (1.5, 500)]
    assert finals(*aim_of(objective_of("time"), *screened)) == [0, 1]
    assert finals(*aim_of(objective_of("both"), *screened)) == [0, 5, 2, 1, 3]
    # First the smallest of those that are fast enough; were the fastest slower than it looks, others would be, too.
    assert finals(*aim_of(objective_of("memory"), *screened)) == [5, 0, 1, 2, 3]


def test_what_fails_on_all_cores_leads_no_longer() -> None:
    aim, done = aim_of(objective_of("memory"), (1.0, 9000), (1.2, 100), (1.5, 5000))
    assert finals(aim, done) == [1, 0]
    aim.fail(done[1].point)
    assert finals(aim, done) == [2, 0]
    assert aim.costs([])[1] == [2.0, None, 1.0]


def test_records_without_memory_are_not_judged_by_it() -> None:
    aim = Aim(objective_of("memory"), WORK, 2, [make(seconds=1.0)])
    aim.screen(Point(0, ()), WORK.schedule(), 1.0, None)
    assert aim.costs([Point(0, ())]) == ([], [])
    assert (aim.known.best, aim.known.figure) == (None, None)
    aim = Aim(objective_of("time"), WORK, 2, [make(seconds=1.0)])
    assert aim.known.figure == 1.0


# --- searching --------------------------------------------------------------------------------------------------------------


def space() -> SearchSpace:
    """Tiles of all three loops: 1,000 schedules."""
    tiles, schedule = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], WORK.schedule()
    for loop in ("i", "j", "k"):
        schedule = schedule.split(f"C.{loop}", (f"{loop}o", f"{loop}i"), lw.knob(loop, tiles))
    return SearchSpace((Sketch("tiles", schedule),), AVX2)


def driven(objective: Objective) -> list[list[int]]:
    """The bytes of four batches of a search whose candidates all take the same time."""
    where = space()
    aim, search, batches = Aim(objective, WORK, 2, []), AnnealSearch(where, 0), list[list[int]]()
    for _ in range(4):
        schedules = {point: where.schedule(point) for point in search.propose(24)}
        good = {point: schedule for point, schedule in schedules.items() if schedule is not None}
        for point, schedule in good.items():
            aim.screen(point, schedule, 1.0, size_of(schedule))
        quality = search.learn(*aim.costs(list(good)))
        assert quality is None or quality.samples == len(good)  # those that it had not seen
        batches.append([size_of(schedule) for schedule in good.values()])
    return batches


def size_of(schedule: Schedule) -> int:
    """Bytes that knobs decide."""
    return 1 + sum(value for value in schedule.chosen.values() if isinstance(value, int))


@pytest.mark.parametrize("objective", ["memory", "both", "own"])
def test_the_search_goes_where_the_objective_is(objective: str) -> None:
    def own(trial: Trial) -> float:
        assert trial.estimated
        assert (trial.seconds, trial.flops) == (0.5, 2 * 512**3)
        return -1e9 / trial.peak_bytes

    first, *_, last = driven(objective_of(own if objective == "own" else objective))
    assert np.median(last) < 0.7 * np.median(first)


# --- from end to end --------------------------------------------------------------------------------------------------------


def test_the_front_of_a_run(tmp_path: Path) -> None:
    """Against all that was measured; then the same log, asked for another objective."""
    log, events = tmp_path / "log.jsonl", list[Event]()
    result = tune(blur(512), space=templates(), trials=6, log=log, objective="both", progress=events.append)
    records = TuningLog(log).records()
    assert sorted(record.peak_bytes or 0 for record in records) == [0, 0, 20480, 69632, 1052672, 1052672]
    assert {record.objective for record in records} == {"both"}
    finished = timed(records)
    costs = [cost_of(record) for record in finished]
    unbeaten = {
        one for one in costs if not any(o[0] <= one[0] and o[1] <= one[1] and o != one for o in costs)
    }
    assert [cost_of(one.record) for one in result.front] == sorted(unbeaten)
    assert result.front[-1].peak_bytes == 0
    assert result.best == result.front[0]
    assert (f"front of {len(result.front)}" in str(result)) == (len(result.front) > 1)
    improved = [event for event in events if isinstance(event, Improved)]
    assert {event.objective for event in improved} == {"both"}
    assert all(front.record in [event.record for event in improved] for front in result.front)

    again = tune(blur(512), space=templates(), trials=6, log=log, objective="memory")
    assert (again.measured, again.objective) == (0, "memory")
    assert again.best is not None
    assert [again.best.record] == chosen(finished, "memory")
    assert again.figure == again.best.peak_bytes
    assert "of memory" in str(again)
    kernel = lw.build(blur(512), log=log, objective="memory")
    assert kernel.provenance.record == again.best.record
    assert lw.lower(blur(512), log=log, objective="memory").peak_bytes == again.best.peak_bytes


def test_a_function_of_the_users_chooses(tmp_path: Path) -> None:
    asked: list[Trial] = []

    def widest(trial: Trial) -> float:
        asked.append(trial)
        return -float(trial.chosen["rows"])

    log = tmp_path / "log.jsonl"
    (result,) = tune_many([("blur", blur(64))], trials=1, objective="memory")
    assert result.objective == "memory"
    rows = blur(64).schedule().split("c.y", ("yo", "yi"), lw.knob("rows", [2, 4, 8, 16]))
    result = tune(blur(64), space=rows, trials=4, log=log, objective=widest)
    assert result.best is not None
    assert result.best.chosen == {"rows": 16}
    assert (result.objective, result.figure) == ("widest", -16.0)
    assert "; widest: -16" in str(result)
    assert {trial.estimated for trial in asked} == {True, False}
    assert all(trial.peak_bytes == 4 * 66 * 64 and trial.schedule.work.key == blur(64).key for trial in asked)


@pytest.mark.parametrize("wrong", ["speed", "", 3, None, ["time"]])
def test_what_is_no_objective_is_refused(wrong: Any) -> None:
    for call in (tune, lambda work, **how: tune_many([("one", work)], **how)):
        with pytest.raises(
            TuneError, match="objective=.*: 'time', 'memory', 'both', or a function of a trial"
        ):
            call(WORK, trials=1, objective=wrong)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (float("nan"), "returned nan: a finite number is expected"),
        (float("inf"), "returned inf"),
        (None, "returned None"),
        ("3", "returned '3'"),
        (True, "returned True"),
        (ZeroDivisionError("by nothing"), "raised ZeroDivisionError: by nothing"),
    ],
)
def test_a_function_that_gives_no_number_is_named(answer: Any, said: str) -> None:
    def score(trial: Trial) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    schedule = WORK.schedule().split("C.i", ("io", "ii"), lw.knob("tile", [4])).fill({"tile": 4})
    with pytest.raises(TuneError) as caught:
        objective_of(score).value(lambda: Trial(0.25, 4096, schedule))
    assert "objective=score, for the candidate of matmul(" in str(caught.value)
    assert "with {'tile': 4} (0.25 s, 4096 bytes)" in str(caught.value)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_run_ends_with_the_function_and_keeps_what_it_measured(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = blur(64).schedule().split("c.y", ("yo", "yi"), lw.knob("rows", [4]))
    with pytest.raises(TuneError, match="returned nan"):
        tune(blur(64), space=rows, trials=1, log=log, objective=lambda trial: math.nan)
    assert TuningLog(log).count(blur(64).key) == 1


def test_savings_of_any_unit() -> None:
    assert expected_gain([0.0, 0.0]) == 0.0
    assert expected_gain([-4.0, -6.0]) > expected_gain([-6.0, -6.0]) > 0
    assert expected_gain([8e6, 4e6]) == pytest.approx(1e6 * expected_gain([8.0, 4.0]))


def test_leaders_of_records() -> None:
    leaders = Leaders(objective_of("memory"), WORK, [make(0, seconds=1.0, peak_bytes=9000)])
    assert leaders.figure == 9000
    assert leaders.add(make(1, seconds=1.5, peak_bytes=10))
    assert not leaders.add(make(2, seconds=3.0, peak_bytes=0))
    assert not leaders.add(make(3, seconds=0.1, peak_bytes=0, verified=False))
    assert leaders.best is not None
    assert leaders.best.trial == 1
    assert not leaders.add(
        make(4, seconds=0.7, peak_bytes=20000)
    )  # but what was the smallest is too slow now
    assert leaders.best.trial == 0

"""`tune` from end to end, on small workloads."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.aim import Aim
from loopwright.autotune.contender import Contender
from loopwright.autotune.events import Event, Finished, Improved, Planned, Started, Tried
from loopwright.autotune.log import LogError, TuningLog
from loopwright.autotune.objective import TIME
from loopwright.autotune.result import TuneResult
from loopwright.autotune.space import Point
from loopwright.autotune.tune import tune
from loopwright.autotune.tune_many import tune_many
from loopwright.sched.errors import TargetError, TuneError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import host_facts
from loopwright.sched.scheduling.schedule import Schedule
from tests.autotune.logs import make
from tests.sched.programs import run as run_program

TRIALS = 14


def work() -> Workload:
    return ops.matmul(M=48, N=32, K=40)


def template(values: list[int] = [2, 4, 8]) -> Schedule:  # noqa: B006
    return work().schedule().split("C.i", ("io", "ii"), lw.knob("tile", values)).parallel("C.io")


class Run:
    """One tuning run that several tests look at."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.events: list[Event] = []
        self.result: TuneResult = tune(work(), trials=TRIALS, log=log, progress=self.events.append)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("tune") / "log.jsonl")


def test_the_log_has_every_trial(run: Run) -> None:
    records = TuningLog(run.log).records()
    assert run.result.measured == len(records) == TRIALS
    assert [record.trial for record in sorted(records, key=lambda r: r.trial or 0)] == list(range(TRIALS))
    assert all(record.ok and record.verified and record.screen for record in records)
    assert {record.space for record in records} == {"auto"}
    assert len({record.schedule_json for record in records}) == TRIALS


def test_the_best_is_a_verified_time_on_all_cores(run: Run) -> None:
    best, found = run.result.best, run.result.found
    assert best is not None
    assert found is not None
    assert best.record == found.record
    assert best.record.verified
    assert best.record.spread is not None
    assert best.seconds == min(r.seconds for r in TuningLog(run.log).records() if r.seconds)
    assert best.schedule.knobs == {}
    assert best.schedule.chosen == best.chosen == best.record.chosen
    assert f"{TRIALS} trials" in str(run.result)


def test_the_default_schedule_is_timed_on_all_cores(run: Run) -> None:
    """What tuning gains is measured: the first candidate, without knobs, is in the finals even where it is not among the best."""
    (default,) = [record for record in TuningLog(run.log).records() if record.chosen == {}]
    assert default.trial == 0
    assert default.seconds is not None


def test_who_takes_part_in_finals() -> None:
    """The few best that are near the best; the default schedule as well, unless it is far behind."""
    aim = Aim(TIME, work(), 2, [])

    def contender(screen: float, default: bool = False) -> Contender:
        record = make(screen=screen, seconds=None)
        point, schedule = Point(0, (round(1000 * screen),)), work().schedule()
        aim.screen(point, schedule, screen, None)
        return Contender(point, schedule, "", 1.0, default=default, record=record)

    near, slow = [contender(1.0 + n / 100) for n in range(6)], contender(2.0)
    standard, hopeless = contender(3.0, default=True), contender(30.0, default=True)
    assert aim.finalists([slow, standard, *reversed(near)]) == [*near[:4], standard]
    assert aim.finalists([hopeless, slow]) == []


def test_events_tell_the_story(run: Run) -> None:
    kinds = [type(event) for event in run.events]
    assert kinds[0] is Started
    assert kinds[-1] is Finished
    assert kinds.count(Tried) == TRIALS
    assert Planned in kinds
    improved = [event for event in run.events if isinstance(event, Improved)]
    assert run.result.best is not None
    assert improved[-1].seconds == run.result.best.seconds


def test_the_same_again_measures_nothing(run: Run) -> None:
    before = run.log.read_bytes()
    again = tune(work(), trials=TRIALS, log=run.log)
    assert again.measured == 0
    assert again.best is not None
    assert run.result.best is not None
    assert again.best.seconds == run.result.best.seconds
    assert again.found is not None
    assert again.found.record == again.best.record
    assert run.log.read_bytes() == before
    assert "nothing to measure" in str(again)


def test_another_name_finds_the_records(run: Run) -> None:
    @lw.operator
    def product(rows: int, columns: int, depth: int) -> Any:
        left, right = lw.input("left", (rows, depth)), lw.input("right", (depth, columns))
        t = lw.reduce_axis("t", depth)
        return lw.compute("out", (rows, columns), lambda p, q: lw.sum(left[p, t] * right[t, q], over=t))

    again = tune(product(rows=48, columns=32, depth=40), trials=TRIALS, log=run.log)
    assert again.measured == 0
    assert again.best is not None
    assert again.best.schedule.knobs == {}


def test_records_say_what_was_expected_of_them(tmp_path: Path) -> None:
    """Of the first batches nothing; then, by a model that had not seen them."""
    log = tmp_path / "log.jsonl"
    result = tune(work(), trials=36, log=log)
    records = TuningLog(log).records()
    assert {record.batch for record in records} == set(range(len(result.batches)))
    known = {record.batch: record.predicted is not None for record in records}
    assert [known[number] for number in range(len(known))] == sorted(known.values())
    assert known[len(known) - 1]
    assert all((record.predicted is not None) == known[record.batch] for record in records)


def test_cold_times_are_marked(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    result = tune(work(), trials=3, cold=True, log=log)
    assert result.best is not None
    assert all(record.cold for record in TuningLog(log).records())


def test_a_run_goes_on_where_an_interruption_left_it(tmp_path: Path) -> None:
    log, seen = tmp_path / "log.jsonl", []

    def interrupting(event: Event) -> None:
        seen.append(event)
        if sum(isinstance(e, Tried) for e in seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(work(), trials=10, log=log, progress=interrupting)
    kept = TuningLog(log).count(work().key)
    assert 3 <= kept <= 5
    result = tune(work(), trials=10, log=log)
    assert result.measured == 10 - kept
    schedules = [record.schedule_json for record in TuningLog(log).records()]
    assert len(set(schedules)) == len(schedules) == 10


def test_a_template_is_measured_whole_and_counts_for_itself(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first = tune(work(), space=template(), trials=50, log=log)
    assert first.measured == 3
    assert first.found is not None
    assert first.found.chosen.keys() == {"tile"}
    again = tune(work(), space=[template()], trials=50, log=log)
    assert again.measured == 0
    assert again.found is not None
    assert again.found.record == first.found.record
    auto = tune(work(), trials=6, log=log)
    assert auto.measured == 3
    assert auto.best is not None
    assert auto.found is not None
    assert auto.best.seconds == min(auto.found.seconds, first.found.seconds)
    more = tune(work(), space=template([2, 4, 8, 16]), more=1, log=log)
    assert more.measured == 1


def test_what_the_log_knows_of_a_code_is_not_measured_again(tmp_path: Path) -> None:
    """Another template, which says the same in other words."""
    log = tmp_path / "log.jsonl"

    def halved(outer: str, inner: str) -> Schedule:
        return work().schedule().split("C.i", (outer, inner), lw.knob("tile", [2, 4])).unroll(f"C.{inner}")

    tune(work(), space=halved("a", "b"), trials=2, log=log)
    first = {record.code: record.screen for record in TuningLog(log).records()}
    result = tune(work(), space=halved("x", "y"), trials=2, log=log)
    assert result.measured == 2
    assert {record.code: record.screen for record in TuningLog(log).records()[2:]} == first


def test_without_a_log_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = tune(work(), trials=3)
    assert result.measured == 3
    assert result.best is not None
    assert list(tmp_path.iterdir()) == []


def test_a_set_shares_workers_and_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    small, large = ops.matmul(M=16, N=16, K=16), ops.matmul(M=64, N=64, K=64)
    results = tune_many([("a", small), ("b", large, 2.0), ("again", small)], trials=4, log=log)
    assert [result.measured for result in results] == [4, 4, 4]
    assert results[0] is results[2]
    assert TuningLog(log).count(small.key) == TuningLog(log).count(large.key) == 4
    assert [r.measured for r in tune_many([("a", small), ("b", large)], trials=4, log=log)] == [0, 0]


def test_minutes_end_a_run(tmp_path: Path) -> None:
    result = tune(work(), minutes=0.05, log=tmp_path / "log.jsonl")
    assert result.seconds < 30


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"work": ops.matmul}, TuneError, "call it with its sizes first"),
        ({"trials": -1}, TuneError, "trials=-1"),
        ({"trials": 2.5}, TuneError, "trials=2.5"),
        ({"trials": 5, "more": 5}, TuneError, "give one of them"),
        ({"minutes": 0}, TuneError, "minutes=0"),
        ({"minutes": float("nan")}, TuneError, "minutes=nan"),
        ({"seed": "x"}, TuneError, "seed='x'"),
        ({"search": "genetic"}, TuneError, "there are 'anneal', 'evolve', 'random', 'grid'"),
        ({"space": []}, TuneError, "no schedule in it"),
        ({"space": 3}, TuneError, "takes a schedule"),
        ({"space": ops.matmul(M=2, N=2, K=2).schedule()}, TuneError, "computes something else"),
        ({"target": "quantum"}, TargetError, "quantum"),
        ({"target": {"kind": "cpu", "features": ["sve2"]}}, TargetError, "unknown CPU feature 'sve2'"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], said: str
) -> None:
    given = {"work": work(), "trials": 4, "log": tmp_path / "log.jsonl", **arguments}
    with pytest.raises(error, match=said):
        tune(**given)
    assert not (tmp_path / "log.jsonl").exists() or not (tmp_path / "log.jsonl").read_bytes()


def test_a_target_that_this_machine_cannot_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, *others = host_facts().features
    monkeypatch.setattr(
        "loopwright.autotune.tune.host", lambda: replace(host_facts(), features=tuple(others))
    )
    with pytest.raises(TuneError, match=f"this machine lacks {one}"):
        tune(work(), trials=4, log=tmp_path / "log.jsonl")
    assert not (tmp_path / "log.jsonl").exists()


def test_a_log_that_cannot_be_written_is_found_out_first(tmp_path: Path) -> None:
    events: list[Event] = []
    with pytest.raises(LogError):
        tune(work(), trials=4, log=tmp_path / "nowhere" / "log.jsonl", progress=events.append)
    foreign = tmp_path / "notes.txt"
    foreign.write_text("dear diary\n")
    with pytest.raises(LogError):
        tune(work(), trials=4, log=foreign, progress=events.append)
    assert foreign.read_text() == "dear diary\n"
    assert events == []


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(TuneError, match="no workloads"):
        tune_many([], trials=1)
    with pytest.raises(TuneError, match="weight"):
        tune_many([("a", work(), 0.0)], trials=1)


def test_tuning_from_standard_input(tmp_path: Path) -> None:
    """As at a prompt: there is no main module that a worker could import, and a file beside it must not be."""
    (tmp_path / "random.py").write_text("raise SystemExit('imported the user\\'s file')")
    program = (
        "import loopwright as lw\nfrom loopwright import ops\n"
        "r = lw.tune(ops.matmul(M=16, N=16, K=16), target='cpu', trials=3, log='log.jsonl')\n"
        "print(r.measured, r.best.seconds > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.path.pop(0); exec(sys.stdin.read())"],
        input=program,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.stdout == "3 True\n", done.stderr


def test_only_the_workers_import_the_compiler() -> None:
    """The tuner's own process plans meanwhile."""
    program = """
    import json, sys
    from loopwright import ops
    from loopwright.autotune.tune import tune
    result = tune(ops.relu(X=(64, 64)), "cpu", trials=2)
    print(json.dumps([result.measured, "tvm" in sys.modules]))
    """
    assert run_program(program) == [2, False]

"""Recorded spaces: written, resumed, refused, and searched as the device would have been."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from loopwright import ops
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.recorded.cache import Cache
from loopwright.autotune.recorded.record import Recorder
from loopwright.autotune.recorded.replay import Replay
from loopwright.autotune.recorded.tuning import tune_recorded
from loopwright.autotune.search.strategies import SEARCHES
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import Point, Sketch
from loopwright.sched.errors import LogError, TuneError
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import knob
from tests.autotune.spaces import AVX2, space_of


def small() -> tuple[Sketch, ...]:
    schedule = ops.matmul(M=16, N=16, K=16).schedule()
    tiled = schedule.split("C.i", ("io", "ii"), knob("rows", [1, 2, 4, 8]))
    tiled = tiled.split("C.j", ("jo", "ji"), knob("columns", [4, 8, 16])).vectorize("C.ji")
    return Sketch("as written", schedule, seeds=({},)), Sketch(
        "tiles", tiled, seeds=({"rows": 2, "columns": 8},)
    )


@pytest.fixture
def cache() -> Cache:
    """A pretended recording of a hundred points or so."""
    work = ops.matmul(M=96, N=64, K=64)
    space = space_of(work)
    made = Cache.of(work, AVX2, space.sketches)
    rng = np.random.default_rng(0)
    points = space.sample(rng, 150)
    for point, row in zip(points, space.rows(points), strict=True):
        made.add(point, float(2.0 ** row[0] * 1e-9 * rng.uniform(1.0, 1.2)))
    return made


def test_a_recording_is_read_as_it_was_written(cache: Cache, tmp_path: Path) -> None:
    failed = Point(1, tuple(size - 1 for size in cache.sketches[1].sizes))
    cache.times.pop(failed, None)
    cache.add(failed, "compile-timeout")
    cache.save(tmp_path / "a.jsonl.gz")
    again = Cache.read(tmp_path / "a.jsonl.gz")
    assert (again.times, again.failures, again.facts) == (cache.times, cache.failures, cache.facts)
    assert again.work.key == cache.work.key and again.target == cache.target
    assert [s.schedule for s in again.sketches] == [s.schedule for s in cache.sketches]
    again.save(tmp_path / "b.jsonl.gz")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_of_several_times_the_median_counts(cache: Cache) -> None:
    point = next(iter(cache.times))
    first = cache.times[point]
    cache.add(point, 2 * first)
    cache.add(point, first / 2)
    assert cache.times[point] == first
    cache.add(point, 2 * first)
    assert cache.times[point] == 1.5 * first


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_propose_what_is_recorded_and_nothing_else(cache: Cache, name: str) -> None:
    replay = Replay(cache)
    trials = replay.trials(SEARCHES[name](replay.space, 0), most=10_000)
    assert sorted(trials) == sorted(replay.scores.values())


def test_a_replay_stops_when_it_is_good_enough(cache: Cache) -> None:
    replay = Replay(cache)
    trials = replay.trials(SEARCHES["random"](replay.space, 0), most=10_000, enough=replay.best * 1.5)
    assert len(trials) < len(replay.points)
    assert min(trials) <= replay.best * 1.5


def test_a_lesson_of_another_shape_is_taken_in(cache: Cache) -> None:
    replay = Replay(cache)
    search = SEARCHES["anneal"](replay.space, 0)
    assert len(replay.trials(search, most=40, lessons=[replay.lesson()])) == 40


def test_the_same_seed_gives_the_same_trials_in_the_same_order(cache: Cache, tmp_path: Path) -> None:
    def trials(name: str, seed: int) -> list[tuple[int | None, str]]:
        log = tmp_path / f"{name}.jsonl"
        result = tune_recorded(cache, trials=72, log=log, seed=seed)
        assert result.measured == 72 and result.best is not None
        records = sorted(TuningLog(log).records(), key=lambda record: record.trial or 0)
        return [(record.trial, record.schedule_json) for record in records]

    first = trials("first", 0)
    assert first == trials("second", 0)
    assert first != trials("third", 1)


def test_bad_arguments_of_tuning_over_a_recording(cache: Cache) -> None:
    with pytest.raises(TuneError, match="trials=-1"):
        tune_recorded(cache, trials=-1)
    with pytest.raises(TuneError, match="there is no search 'anneall'"):
        tune_recorded(cache, search="anneall")


def test_a_recorder_that_was_killed_goes_on(tmp_path: Path) -> None:
    target, path = Target.parse("cpu"), tmp_path / "small.jsonl"
    empty = Cache.of(ops.matmul(M=16, N=16, K=16), target, small())
    points = [Point(0, ()), *(Point(1, (rows, columns)) for rows in range(4) for columns in range(3))]
    with Nursery() as nursery, Bench(nursery, None, target) as bench:
        Recorder(empty, path).record(points[:5], bench)
        whole = path.read_text()
        path.write_text(whole + "[1,7,0.00")  # killed in the middle of a line
        second = Recorder(Cache.of(empty.work, target, small()), path)
        assert second.cache.times.keys() == set(points[:5])
        second.record([point for point in points if not second.cache.counts[point]], bench)
    assert path.read_text().startswith(whole)
    found = Cache.read(path)
    assert found.times.keys() == set(points) and set(found.counts.values()) == {1}


def test_a_recording_of_something_else_is_refused(cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(cache.header())
    with pytest.raises(LogError, match=r"other\.jsonl is a recording of another space"):
        Recorder(Cache.of(cache.work, cache.target, cache.sketches[:2]), path)
    work = ops.matmul(M=8, N=8, K=8)
    with pytest.raises(LogError, match="another space"):
        Recorder(Cache.of(work, AVX2, sketches(work, AVX2)), path)


def test_files_that_are_no_recordings(cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    for text, message in (
        ("", "is not a recorded space"),
        ("hello\n", "is not a recorded space"),
        ('{"v":1}\n', "is not a recorded space"),
        (json.dumps({**json.loads(cache.header()), "recorded space": 99}), "format 99 is newer"),
        (cache.header() + "[0]\n", r"some\.jsonl:2: not a measurement: \[0\]"),
        (cache.header() + "[99,0,1.0]\n", "not a measurement"),
        (cache.header() + "[0,0,-1.0]\n", "not a measurement"),
        (cache.header() + "[1,99999999999,1.0]\n", "not a measurement"),
    ):
        path.write_text(text)
        with pytest.raises(LogError, match=message):
            Cache.read(path)
    with pytest.raises(LogError, match="cannot be read"):
        Cache.read(tmp_path / "none.jsonl")
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(cache.header().encode())[:-20])
    with pytest.raises(LogError, match="cannot be read"):
        Cache.read(tmp_path / "torn.jsonl.gz")


def test_a_benchmark_says_what_is_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import record_cache, search_quality

    monkeypatch.setattr("sys.argv", ["search_quality", "--folder", str(tmp_path), "--only", "softmax"])
    search_quality.main()
    said = capsys.readouterr().out
    assert "softmax    not recorded: python -m benchmarks.record_cache softmax softmax-1" in said
    monkeypatch.setattr("sys.argv", ["record_cache", "softmaxx"])
    with pytest.raises(SystemExit, match="there is no recording 'softmaxx'; there are conv, depthwise"):
        record_cache.main()

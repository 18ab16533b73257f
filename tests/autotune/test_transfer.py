"""What a log says of other shapes: from features in its records, without the formula, and only of the same operator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from loopwright import ops
from loopwright.autotune.features.program import NAMES
from loopwright.autotune.log import TuningLog
from loopwright.autotune.model import rank_correlation
from loopwright.autotune.record import Record
from loopwright.autotune.search.anneal import AnnealSearch
from loopwright.autotune.space import SearchSpace, Sketch
from loopwright.autotune.transfer import MOST_TRIALS, VERSION, features_of, lessons
from loopwright.autotune.tune import tune
from loopwright.sched.scheduling.knobs import knob
from tests.autotune.logs import CPU, failed, make

from .spaces import AVX2, space_of

WORK = ops.matmul(M=512, N=512, K=512)


def sampled(space: SearchSpace, count: int, seed: int) -> tuple[list, np.ndarray]:  # type: ignore[type-arg]
    """Points, and times that follow their features in a way that is not the model's own estimate."""
    points = space.sample(np.random.default_rng(seed), count)
    rows = space.rows(points)
    chains, traffic = rows[:, NAMES.index("chains")], rows[:, NAMES.index("traffic2")]
    return points, 1e-3 * (1 + 0.1 * np.abs(chains - 9) + 0.2 * traffic**2)


def other_shape(M: int, count: int = 200) -> list[Record]:
    work = ops.matmul(M=M, N=256, K=256)
    space = space_of(work)
    points, times = sampled(space, count, M)
    return [
        make(n, workload=work.key, args=work.args, screen=float(time), features=features_of(row))
        for n, (row, time) in enumerate(zip(space.rows(points), times, strict=True))
    ]


def test_other_shapes_teach_the_model() -> None:
    taught = lessons(WORK, AVX2, [*other_shape(256), *other_shape(300)])
    assert [len(lesson.rows) for lesson in taught] == [MOST_TRIALS, MOST_TRIALS]
    space = space_of(WORK)
    search = AnnealSearch(space, 0)
    assert search.expected(space.seeds()) is None
    search.teach(taught)
    points, times = sampled(space, 200, 7)
    expected = search.expected(points)
    assert expected is not None
    assert (rank_correlation(expected, -times) or 0) > 0.5
    # And then its own measurements count beside them.
    search.learn(points[:64], times[:64].tolist())
    better = search.expected(points[64:])
    assert better is not None
    assert (rank_correlation(better, -times[64:]) or 0) > 0.6


def test_only_what_can_be_compared_teaches() -> None:
    good = features_of(np.zeros(len(NAMES), np.float32))
    records = [
        make(0, features=good, screen=1e-3, workload=WORK.key),  # itself
        make(1, features=good, screen=1e-3, name="softmax"),
        make(2, features=good, screen=1e-3, target={**CPU, "kind": "cuda"}),
        make(3, features={**good, "v": VERSION + 1}, screen=1e-3),
        make(4, features={"v": VERSION, "row": [1.0, 2.0]}, screen=1e-3),
        make(5, features={"v": VERSION, "row": ["x"] * len(NAMES)}, screen=1e-3),
        make(6, screen=1e-3),
    ]
    assert lessons(WORK, AVX2, records) == []
    (lesson,) = lessons(WORK, AVX2, [make(7, features=good, screen=1e-3), failed(8, features=good)])
    assert lesson.times.tolist() == [1e-3, np.inf]


def test_a_run_learns_from_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    tune(ops.matmul(M=40, N=40, K=40), trials=20, log=log)
    assert all(record.features is not None for record in TuningLog(log).records())
    work = ops.matmul(M=48, N=32, K=40)
    tune(work, trials=4, log=log)
    assert all(record.predicted is not None for record in TuningLog(log).records(work.key))


def test_knobs_of_one_name_are_the_same_choice_in_other_shapes() -> None:
    work = ops.matmul(M=64, N=64, K=64)
    template = (
        work.schedule()
        .split("C.i", ("io", "ii"), knob("rows", [2, 4]))
        .reorder("C", knob("order", ["io ii k j", "io k ii j"]))
    )
    space = SearchSpace((Sketch("t", template),), AVX2)
    known = np.arange(4 * len(NAMES), dtype=np.float32).reshape(4, -1)
    chosen = [
        {"rows": 8, "order": "io k ii j"},
        {"rows": 2, "order": "an order that is not here", "depth": 5},
        {"rows": True},
        {},
    ]
    rows = dict(zip(space.feature_names, space.rows_of_others(known, chosen).T, strict=True))
    np.testing.assert_array_equal(rows["knob:rows"], [3.0, 1.0, np.nan, np.nan])
    np.testing.assert_array_equal(rows["knob:order"], [1.0, np.nan, np.nan, np.nan])
    assert np.isnan(rows["sketch"]).all() and np.isnan(rows["outer1"]).all()
    np.testing.assert_array_equal(rows["lanes"], known[:, NAMES.index("lanes")])

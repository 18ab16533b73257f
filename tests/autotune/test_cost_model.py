"""Cost models in files: what comes back is what was saved, and what does not fit is refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

import loopwright as lw
from loopwright import ops
from loopwright.autotune.cost_model import CostModel
from loopwright.autotune.features.program import NAMES
from loopwright.autotune.log import Record, TuningLog
from loopwright.autotune.model import AnalyticModel, RandomModel, XGBModel, rank_correlation
from loopwright.autotune.search.anneal import AnnealSearch
from loopwright.autotune.search.models import MODELS
from loopwright.autotune.search.strategies import guided
from loopwright.autotune.transfer import features_of
from loopwright.cli import main
from loopwright.sched.errors import TuneError
from loopwright.sched.runtime.target import Target
from tests.autotune.logs import CPU, make

from .spaces import AVX2, space_of

SMALL = ops.matmul(M=24, N=32, K=16)


def times_of(rows: np.ndarray) -> np.ndarray:
    """Times that follow features in a way that is not the model's own estimate."""
    chains, traffic = rows[:, NAMES.index("chains")], rows[:, NAMES.index("traffic2")]
    return 1e-3 * (1 + 0.1 * np.abs(chains - 9) + 0.2 * traffic**2)


def trials_of(M: int, count: int) -> list[Record]:
    """Made-up trials of a product."""
    work = ops.matmul(M=M, N=256, K=256)
    space = space_of(work)
    rows = space.rows(space.sample(np.random.default_rng(M), count))
    return [
        make(n, workload=work.key, args=work.args, screen=float(time), features=features_of(row))
        for n, (row, time) in enumerate(zip(rows, times_of(rows), strict=True))
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "log.jsonl"
    records = [*trials_of(256, 120), *trials_of(320, 40), make(0, name="softmax")]
    path.write_bytes(b"".join(record.to_line() for record in records))
    return path


@pytest.fixture(scope="module")
def saved(log: Path) -> Path:
    path = log.with_name("model.json")
    CostModel.fit(log).save(path)
    return path


def test_a_round_trip_gives_the_same_predictions(log: Path, saved: Path) -> None:
    fitted, loaded = CostModel.fit(log), CostModel.load(saved)
    assert loaded.origin == fitted.origin
    assert (loaded.origin.operators, loaded.origin.trials) == (("matmul",), 160)
    space = space_of(ops.matmul(M=512, N=512, K=512))
    rows = space.rows(space.sample(np.random.default_rng(1), 100))
    assert np.array_equal(fitted.predict(rows), loaded.predict(rows))
    assert (rank_correlation(loaded.predict(rows), -times_of(rows)) or 0) > 0.3
    again = saved.with_name("again.json")
    loaded.save(again)
    assert again.read_bytes() == saved.read_bytes()


def test_the_file_is_xgboosts_own(saved: Path) -> None:
    booster = xgboost.Booster(model_file=str(saved))
    assert booster.feature_names == list(NAMES)
    assert json.loads(booster.attr("loopwright"))["target"]["kind"] == "cpu"


def test_a_search_begins_with_it_and_goes_on(saved: Path) -> None:
    space = space_of(ops.matmul(M=512, N=512, K=512))
    search = guided("anneal", saved, AVX2)(space, 0)
    points = space.sample(np.random.default_rng(2), 200)
    times = times_of(space.rows(points))
    times[::2] *= 1.5  # something that the file does not know
    expected = search.expected(points)
    assert expected is not None
    assert np.array_equal(expected, CostModel.load(saved).predict(space.rows(points)))
    search.learn(points[:100], times[:100].tolist())
    later = search.expected(points)
    assert later is not None
    assert not np.array_equal(expected, later)
    assert (rank_correlation(later[100:], -times[100:]) or 0) > 0.4


@pytest.mark.parametrize(
    ("name", "kind"), [("xgboost", XGBModel), ("analytic", AnalyticModel), ("random", RandomModel)]
)
def test_models_by_name(name: str, kind: type) -> None:
    assert list(MODELS) == ["xgboost", "analytic", "random"]
    search = guided("anneal", name, AVX2)(space_of(SMALL), 3)
    assert isinstance(search, AnnealSearch)
    assert isinstance(search.model, kind)
    assert len(search.propose(8)) == 8


def test_a_model_of_ones_own() -> None:
    made: list[int] = []

    def mine(seed: int) -> AnalyticModel:
        made.append(seed)
        return AnalyticModel()

    guided("anneal", mine, AVX2)(space_of(SMALL), 7)
    assert made == [7]


def rewritten(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    """A model's file with another description of what it was fitted to."""

    def of(data: bytes) -> bytes:
        model = json.loads(data)
        about = json.loads(model["learner"]["attributes"]["loopwright"])
        change(about)
        model["learner"]["attributes"]["loopwright"] = json.dumps(about)
        return json.dumps(model, separators=(",", ":")).encode()

    return of


def renamed(data: bytes) -> bytes:
    return data.replace(b'"lanes"', b'"lines"')


def without_trees(data: bytes) -> bytes:
    model = json.loads(data)
    del model["learner"]["gradient_booster"]
    return json.dumps(model, separators=(",", ":")).encode()


WRONG: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "not a model in XGBoost's JSON"),
    "torn": (lambda data: data[: len(data) // 2], "not a model in XGBoost's JSON"),
    "a log": (lambda data: make(0).to_line(), "not a model in XGBoost's JSON"),
    "binary": (lambda data: b"\x80\x04\x95" + data, "not a model in XGBoost's JSON"),
    "nested": (lambda data: b"[" * 100_000, "not a model in XGBoost's JSON"),
    "another's model": (
        lambda data: data.replace(b'"loopwright"', b'"other"'),
        "does not say what it was fitted to",
    ),
    "newer schema": (rewritten(lambda about: about.update(v=3)), "a description of version 3, not 2"),
    "other version": (rewritten(lambda about: about.update(features=0)), "features of version 0, not"),
    "other features": (renamed, "it has other features; fit it anew"),
    "no target": (rewritten(lambda about: about.pop("target")), "does not say on what target"),
    "no trees": (without_trees, "cannot read this model"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_does_not_fit_is_refused(name: str, saved: Path, tmp_path: Path) -> None:
    change, words = WRONG[name]
    path = tmp_path / "wrong.json"
    path.write_bytes(change(saved.read_bytes()))
    with pytest.raises(TuneError, match=words) as caught:
        CostModel.load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_target_of_another_kind_is_refused(saved: Path) -> None:
    with pytest.raises(TuneError, match="fitted on a target of the kind cpu, not opencl"):
        CostModel.load(saved).require(Target("opencl", "", 2, (), ()))


def test_an_empty_log_teaches_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    records = [*trials_of(256, 10), make(0, target={**CPU, "kind": "cuda"})]
    log.write_bytes(b"".join(record.to_line() for record in records))
    with pytest.raises(TuneError, match="has 10 trials for cpu .* at least 16 are needed"):
        CostModel.fit(log)


def test_only_a_cost_model_is_overwritten(saved: Path, tmp_path: Path) -> None:
    model = CostModel.load(saved)
    other = tmp_path / "notes.txt"
    other.write_text("dear")
    for path, words in (
        (other, "a file of this name that is no cost model"),
        (tmp_path, "no regular file"),
        (tmp_path / "nosuch" / "m.json", "no directory"),
    ):
        with pytest.raises(TuneError, match=words):
            model.save(path)
    assert other.read_text() == "dear"
    model.save(tmp_path / "model.json")
    model.save(tmp_path / "model.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "notes.txt"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "xgbost"}, "no such cost model .*'xgboost', 'analytic', 'random'"),
        ({"model": 3}, "no such cost model"),
        ({"model": "analytic", "search": "random"}, "only search='anneal' asks a cost model"),
        ({"save_model": "nosuch/model.json"}, "no directory nosuch"),
        ({"save_model": 3}, "save_model: a path is expected"),
    ],
)
def test_tune_refuses_before_it_measures(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(TuneError, match=words):
        lw.tune(SMALL, trials=2, log=log, **options)
    assert not log.exists()


def test_from_one_run_to_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, log = tmp_path / "model.json", tmp_path / "log.jsonl"
    words = ["tune", "ops.matmul", "M=24", "N=32", "K=16", "--log", str(log), "--save-model", str(model)]
    assert main([*words, "--trials", "16", "--model", "analytic"]) == 0
    assert CostModel.load(model).origin.trials == 16
    other = tmp_path / "other.jsonl"
    lw.tune(ops.matmul(M=32, N=24, K=16), trials=3, log=other, model=model)
    assert all(record.predicted is not None for record in TuningLog(other).records())
    assert main([*words, "--trials", "16", "--model", str(log)]) == 2
    assert "is no cost model" in capsys.readouterr().err


def test_nothing_is_pickled(root: Path) -> None:
    """A pickle runs code when it is read, and does not outlive a change of the classes in it."""
    pickled = re.compile(
        r"^\s*(?:import|from)\s+(?:pickle|cloudpickle|dill|joblib|marshal|shelve)\b", re.MULTILINE
    )
    for folder in ("sched", "ops", "autotune", "loopwright", "benchmarks"):
        for path in (root / folder).rglob("*.py"):
            assert not pickled.search(path.read_text()), path

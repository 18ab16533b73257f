"""Cost models rank; how well is measured."""

from __future__ import annotations

import numpy as np

from loopwright.autotune.model import AnalyticModel, RandomModel, XGBModel, rank_correlation, recall_at


def samples(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.random((count, 12)).astype(np.float32)
    return rows, np.clip(rows[:, 1] * 0.7 + rows[:, 2] ** 2 * 0.3, 0, 1)


def test_xgboost_learns_an_order() -> None:
    model = XGBModel()
    assert not model.ready
    model.fit(*samples(200))
    assert model.ready
    rows, scores = samples(100, seed=1)
    correlation = rank_correlation(model.predict(rows), scores)
    assert correlation is not None
    assert correlation > 0.85


def test_until_it_has_learnt_it_trusts_the_estimate() -> None:
    rows, _ = samples(10)
    assert np.array_equal(XGBModel().predict(rows), AnalyticModel().predict(rows))


def test_few_or_equal_samples_teach_nothing() -> None:
    model = XGBModel()
    rows, scores = samples(5)
    model.fit(rows, scores)
    model.fit(samples(50)[0], np.zeros(50))
    assert not model.ready


def test_the_same_samples_give_the_same_model() -> None:
    rows, scores = samples(120)
    first, second = XGBModel(seed=3), XGBModel(seed=3)
    first.fit(rows, scores)
    second.fit(rows, scores)
    assert np.array_equal(first.predict(rows), second.predict(rows))


def test_missing_features_are_fine() -> None:
    rows, scores = samples(100)
    rows[::3, 5] = np.nan
    model = XGBModel()
    model.fit(rows, scores)
    assert np.isfinite(model.predict(rows)).all()


def test_random_model_ranks_at_random() -> None:
    rows, scores = samples(300)
    correlation = rank_correlation(RandomModel(1).predict(rows), scores)
    assert correlation is not None
    assert abs(correlation) < 0.3


def test_quality_figures() -> None:
    up = np.arange(20.0)
    assert rank_correlation(up, up * 3) == 1.0
    assert rank_correlation(up, -up) == -1.0
    assert rank_correlation(up[:2], up[:2]) is None
    assert rank_correlation(np.zeros(5), np.arange(5.0)) is None
    assert recall_at(up, up, 5) == 1.0
    assert recall_at(-up, up, 5) == 0.0
    assert recall_at(up[:5], up[:5], 8) is None

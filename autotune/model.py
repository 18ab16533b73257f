"""Cost models: what ranks candidates that have not been measured.

A model learns from feature rows and scores, and predicts scores of other rows; higher is better, and only the order counts.
All of them sit behind :class:`Model`; the search does not know which one it talks to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from loopwright.autotune.features.program import NAMES

if TYPE_CHECKING:
    from loopwright.autotune.cost_model import CostModel

Array = np.ndarray[Any, Any]

# Regression on scores, which are comparable between workloads. (Against a pairwise ranking objective, fitted to 256 trials: of
# the best 8 of 512 others 0.78 to 1.0 are among the 64 liked most, instead of 0.58 to 0.88; docs/search_quality.md.)
XGBOOST = {
    "objective": "reg:squarederror",
    "max_depth": 4,
    "eta": 0.05,
    "gamma": 1e-3,
    "min_child_weight": 0.5,
    "subsample": 0.9,
    "colsample_bytree": 0.2,
    "tree_method": "hist",
    "max_bin": 64,
    "verbosity": 0,
    # More threads wait for each other longer than they work, at these sizes, and ten times longer on a busy machine.
    "nthread": 1,
}
ROUNDS = 300
# With fewer samples than this, trees only repeat the noise.
FEWEST = 16


class Model(Protocol):
    """Learns to rank candidates."""

    @property
    def ready(self) -> bool:
        """Whether it has learnt enough for its predictions to mean something."""

    def fit(self, rows: Array, scores: Array, weights: Array | None = None) -> None:
        """Learn from all measurements so far: a row of features for each, and how near it is to the best of its workload: 1
        for that, 0 for a failure. ``weights`` has how often each counts; without it each counts once.
        """

    def predict(self, rows: Array) -> Array:
        """Scores of candidates; only their order means anything."""


class RandomModel:
    """Knows nothing: every order is as good as another."""

    ready = False

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def fit(self, rows: Array, scores: Array, weights: Array | None = None) -> None:
        """Learn nothing."""

    def predict(self, rows: Array) -> Array:
        """Arbitrary scores."""
        return self._rng.random(len(rows))


class AnalyticModel:
    """Trusts the machine model's estimate, which is the first feature; it needs no measurements."""

    ready = True

    def fit(self, rows: Array, scores: Array, weights: Array | None = None) -> None:
        """Learn nothing."""

    def predict(self, rows: Array) -> Array:
        """The less the estimated time, the better.

        Example:
            >>> AnalyticModel().predict(np.array([[3.0, 0.0], [2.0, 0.0]])).tolist()
            [-3.0, -2.0]
        """
        return -rows[:, 0]


class XGBModel:
    """Gradient-boosted trees that predict scores; until it has samples it ranks as the analytic model does.

    Args:
        seed: decides which samples and features each tree sees.
        rounds: how many trees there are.
        base: what was learnt elsewhere. It ranks until there are samples, and the trees then correct it.
    """

    def __init__(self, seed: int = 0, rounds: int = ROUNDS, base: CostModel | None = None) -> None:
        self._parameters = {**XGBOOST, "seed": seed}
        self._rounds = rounds
        self._base = base
        self.booster: Any = None  # XGBoost's own model, once it is fitted

    @property
    def ready(self) -> bool:
        """Whether it has learnt anything, from samples or elsewhere."""
        return self.booster is not None or self._base is not None

    def fit(self, rows: Array, scores: Array, weights: Array | None = None) -> None:
        """Fit anew to all samples: a fraction of a second for a thousand."""
        if len(rows) < FEWEST or float(np.ptp(scores)) == 0.0:
            return
        import xgboost

        # Of the columns that a tree may use, as many are to be knobs as others, however few they are.
        likely = np.ones(rows.shape[1])
        likely[len(NAMES) :] = len(NAMES) / max(1, rows.shape[1] - len(NAMES))
        data = xgboost.DMatrix(
            rows, label=scores, weight=weights, missing=float("nan"), nthread=1, feature_weights=likely
        )
        if self._base is not None:
            data.set_base_margin(self._base.predict(rows))
        self.booster = xgboost.train(self._parameters, data, num_boost_round=self._rounds)

    def predict(self, rows: Array) -> Array:
        """The scores that the trees expect."""
        base = self._base.predict(rows) if self._base is not None else None
        if self.booster is None:
            return AnalyticModel().predict(rows) if base is None else base
        scores: Array = self.booster.inplace_predict(
            rows, predict_type="margin", missing=float("nan"), base_margin=base
        )
        return scores


def rank_correlation(predicted: Array, measured: Array) -> float | None:
    """Spearman's rank correlation; None for fewer than three samples, or if either is constant.

    Example:
        >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 90.0]))
        1.0
    """
    if len(predicted) < 3:
        return None
    a, b = _ranks(predicted), _ranks(measured)
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return None if norm == 0.0 else round(float((a * b).sum()) / norm, 6)


def _ranks(values: Array) -> Array:
    """Ranks, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2.0)[inverse]


def recall_at(predicted: Array, measured: Array, count: int) -> float | None:
    """The share of the ``count`` best measured candidates that are among the ``count`` best predicted."""
    if len(predicted) <= count:
        return None
    best = set(np.argsort(-measured, kind="stable")[:count].tolist())
    return len(best & set(np.argsort(-predicted, kind="stable")[:count].tolist())) / count

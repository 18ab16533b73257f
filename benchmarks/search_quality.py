"""How many trials a search needs, and how well its model ranks: on recorded spaces, without a device.

Run: ``python -m benchmarks.search_quality``. Recordings are made by ``record_cache``; docs/search_quality.md says what is
measured. Bars: the tuner's search needs at most half of random search's trials to be within 2% of the best that is recorded; of
512 trials the model has not seen, the best 8 are among the 64 it likes most, at 0.8 of them; a log of three other shapes halves
the trials again; and the same seed makes the same trials.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loopwright.autotune.model import XGBModel
from loopwright.autotune.recorded.replay import Replay
from loopwright.autotune.search.strategies import SEARCHES
from loopwright.autotune.transfer import Lesson

SPACES = ("conv", "depthwise", "softmax", "attention")
SEEDS = range(5)
NEAR = 0.98
FITTED, HELD_OUT, BEST, TOP = 256, 512, 8, 64


def trials_needed(replay: Replay, strategy: str, seed: int, lessons: Sequence[Lesson] = ()) -> int:
    """Trials until one is within reach of the best; all points if none is."""
    enough = replay.best / NEAR
    scores = replay.trials(SEARCHES[strategy](replay.space, seed), len(replay.points), enough, lessons)
    return next((n for n, score in enumerate(scores, 1) if score <= enough), len(replay.points))


def recall(replay: Replay, seed: int) -> float:
    """The share of the best few held-out trials that are among those a fitted model likes most."""
    drawn = np.random.default_rng(seed).permutation(len(replay.points))
    fitted, held = drawn[:FITTED], drawn[FITTED : FITTED + HELD_OUT]
    model = XGBModel(seed)
    model.fit(replay.rows[fitted], replay.values[fitted].min() / replay.values[fitted])
    liked = held[np.argsort(-model.predict(replay.rows[held]), kind="stable")[:TOP]]
    best = held[np.argsort(replay.values[held], kind="stable")[:BEST]]
    return len(set(liked.tolist()) & set(best.tolist())) / BEST

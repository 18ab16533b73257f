"""How many trials a search needs, and how well its model ranks: on recorded spaces, without a device.

Run: ``python -m benchmarks.search_quality``. Recordings are made by ``record_cache``; docs/search_quality.md says what is
measured. Bars: the tuner's search needs at most half of random search's trials to be within 2% of the best that is recorded; of
512 trials the model has not seen, the best 8 are among the 64 it likes most, at 0.8 of them; a log of three other shapes halves
the trials again; and the same seed makes the same trials.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import mean, median

import numpy as np

from benchmarks.record_cache import FOLDER
from loopwright.autotune.log import TuningLog
from loopwright.autotune.model import XGBModel
from loopwright.autotune.recorded.cache import Cache
from loopwright.autotune.recorded.replay import Replay
from loopwright.autotune.recorded.tuning import tune_recorded
from loopwright.autotune.search.base import scored
from loopwright.autotune.search.strategies import SEARCHES
from loopwright.autotune.transfer import Lesson

SPACES = ("conv", "depthwise", "softmax", "attention")
OTHERS = ("1", "2", "3")
SEEDS = 5
# A trial is good enough within so much of the best; bars for the trials to that, for recall, and for a warm start.
NEAR = 0.98
HALF, LEAST_RECALL = 0.5, 0.8
FITTED, HELD_OUT, BEST, TOP = 256, 512, 8, 64
CHECKED = 100


def trials_needed(replay: Replay, strategy: str, seed: int, lessons: Sequence[Lesson] = ()) -> int:
    """Trials until one is good enough."""
    enough = replay.best / NEAR
    scores = replay.trials(SEARCHES[strategy](replay.space, seed), len(replay.points), enough, lessons)
    return 1 + next(n for n, score in enumerate(scores) if score <= enough)


def recall(replay: Replay, seed: int) -> float:
    """The share of the best few held-out trials that are among those a fitted model likes most."""
    drawn = np.random.default_rng(seed).permutation(len(replay.points))
    fitted, held = drawn[:FITTED], drawn[FITTED : FITTED + HELD_OUT]
    model = XGBModel(seed)
    model.fit(replay.rows[fitted], scored(replay.values[fitted]))
    liked = held[np.argsort(-model.predict(replay.rows[held]), kind="stable")[:TOP]]
    best = held[np.argsort(replay.values[held], kind="stable")[:BEST]]
    return len(set(liked.tolist()) & set(best.tolist())) / BEST


def same_trials(replay: Replay) -> bool:
    """Whether tuning twice with one seed makes the same trials, in the same order."""
    made = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            log = TuningLog(Path(folder) / "tuned.jsonl")
            tune_recorded(replay.cache, trials=CHECKED, log=log)
            made.append(sorted((record.trial or 0, record.schedule_json) for record in log.records()))
    return made[0] == made[1]


@dataclass
class Row:
    """What was found of one space."""

    name: str
    points: int
    near: int
    needed: dict[str, list[int]]
    recalled: list[float]
    same: bool

    def ratio(self, a: str, b: str) -> float:
        """How many times as many trials one needs as another."""
        return median(self.needed[a]) / median(self.needed[b])

    def __str__(self) -> str:
        cells = [f"{median(each):5g} ({min(each)}-{max(each)})" for each in self.needed.values()]
        text = f"{self.name:10}{self.points:7}{self.near:6}  " + "".join(f"{cell:16}" for cell in cells)
        text += f"{self.ratio('anneal', 'random'):7.2f}{self.ratio('warm', 'anneal'):7.2f}"
        return f"{text}{mean(self.recalled):8.2f}  {'yes' if self.same else 'NO'}"


def unrecorded(name: str, folder: Path) -> list[str]:
    """The recordings that a row needs and that are not there."""
    needed = (name, *(f"{name}-{n}" for n in OTHERS))
    return [each for each in needed if not (folder / f"{each}.jsonl.gz").exists()]


def measure(name: str, folder: Path, seeds: int) -> Row:
    """Search one space, from nothing and after its other shapes, with seeds 0, 1, ..."""
    replay = Replay(Cache.read(folder / f"{name}.jsonl.gz"), seeded=False)
    lessons = [Replay(Cache.read(folder / f"{name}-{n}.jsonl.gz")).lesson() for n in OTHERS]
    needed = {
        strategy: [trials_needed(replay, strategy, seed) for seed in range(seeds)]
        for strategy in ("random", "grid", "evolve", "anneal")
    }
    needed["warm"] = [trials_needed(replay, "anneal", seed, lessons) for seed in range(seeds)]
    return Row(
        name,
        len(replay.points),
        int((replay.values <= replay.best / NEAR).sum()),
        needed,
        [recall(replay, seed) for seed in range(seeds)],
        same_trials(replay),
    )


def main() -> None:
    """Print a row for each space, and how many bars are reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*", help="spaces whose name matches, such as 'conv'")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where recordings lie")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help=f"how often each search is run; {SEEDS} by default"
    )
    options = parser.parse_args()
    print(f"trials to 98% of the best recorded: median of {options.seeds} seeds (least-most)")
    heads = ("random", "grid", "evolve", "anneal", "warm start")
    print(
        f"{'space':10}{'points':>7}{'near':>6}  "
        + "".join(f"{head:16}" for head in heads)
        + "  a/r    w/a   recall  same"
    )
    rows = []
    for name in SPACES:
        if not fnmatch(name, options.only):
            continue
        missing = unrecorded(name, options.folder)
        if missing:
            print(
                f"{name:10} not recorded: python -m benchmarks.record_cache {' '.join(missing)} --folder {options.folder}"
            )
            continue
        rows.append(measure(name, options.folder, options.seeds))
        print(rows[-1], flush=True)
    for text, reached in (
        (
            f"annealing needs at most {HALF:g} of random's trials",
            [row.ratio("anneal", "random") <= HALF for row in rows],
        ),
        (f"a warm start at most {HALF:g} of those", [row.ratio("warm", "anneal") <= HALF for row in rows]),
        (f"recall at least {LEAST_RECALL:g}", [mean(row.recalled) >= LEAST_RECALL for row in rows]),
        ("one seed, one order of trials", [row.same for row in rows]),
    ):
        print(f"{text:50}{sum(reached)} of {len(rows)}")


if __name__ == "__main__":
    main()

"""How many trials a second the tuner makes: search, building, checking, timing and the log, all included.

Run: ``python -m benchmarks.tuning_rate``.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from loopwright import ops
from loopwright.autotune.tune import tune

SIZE, TRIALS = 512, 200


def measure_tuning_rate(seed: int = 0) -> dict[str, float]:
    """Tune a matrix multiplication once, from nothing, into a log of its own.

    Returns:
        ``trials_per_second``: over the whole call, the start of the workers too; ``seconds``: how long it took;
        ``best_seconds``: the best kernel's time; ``failed``: how many trials failed.
    """
    work = ops.matmul(M=SIZE, N=SIZE, K=SIZE)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = tune(work, "cpu", trials=TRIALS, log=Path(folder) / "tuned.jsonl", seed=seed)
        seconds = time.perf_counter() - start
    assert result.measured == TRIALS, "the space has been used up"
    return {
        "trials_per_second": TRIALS / seconds,
        "seconds": seconds,
        "best_seconds": result.best.seconds if result.best is not None else float("nan"),
        "failed": float(sum(result.failures.values())),
    }


def main() -> None:
    """Print one measurement."""
    got = measure_tuning_rate()
    print(f"matmul {SIZE}^3, {TRIALS} trials in {got['seconds']:.1f} s, {got['failed']:.0f} of them failed")
    print(f"trials a second  {got['trials_per_second']:6.1f}   (at least 8)")
    print(f"best             {2 * SIZE**3 / got['best_seconds'] / 1e9:6.1f} GFLOP/s")


if __name__ == "__main__":
    main()

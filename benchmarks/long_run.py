"""Five thousand trials in one run: how much memory the tuner itself comes to hold.

Run: ``python -m benchmarks.long_run`` (``--trials N`` for fewer). The bar: from trial 500 on, the resident memory of the tuning
process grows by less than 5%. Its workers have their own limit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psutil

import loopwright as lw
from loopwright import ops
from loopwright.autotune.events import Event, Tried
from loopwright.bench.machine import facts
from loopwright.sched.runtime.target import Target

TRIALS, FROM, MOST = 5000, 500, 0.05
EVERY = 250


class Memory:
    """Takes a run's events, and the process's memory every now and then."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}  # trials -> bytes
        self._process = psutil.Process()

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Tried) and event.measured % EVERY == 0:
            self.held[event.measured] = self._process.memory_info().rss
            print(f"\r{event.measured} trials", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Tune a small product, whose space is large, and print the memory by trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=TRIALS)
    options = parser.parse_args()
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    memory, start = Memory(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        work = ops.matmul(M=128, N=128, K=128)
        result = lw.tune(
            work, target, trials=options.trials, log=Path(folder) / "long.jsonl", progress=memory
        )
    print(file=sys.stderr)
    for trials, held in memory.held.items():
        print(f"{trials:6} trials  {held / 2**20:7.1f} MiB")
    print(f"{result.measured} trials in {time.monotonic() - start:.0f} s, failures: {dict(result.failures)}")
    later = {trials: held for trials, held in memory.held.items() if trials >= FROM}
    if later:
        growth = later[max(later)] / later[min(later)] - 1
        print(f"growth from trial {min(later)} to {max(later)}: {growth:.1%} (below {MOST:.0%})")


if __name__ == "__main__":
    main()

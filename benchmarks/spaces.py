"""What the automatic spaces hold: the best of a hundred random candidates, beside the default schedule and other libraries.

Run: ``python -m benchmarks.spaces``, with ``--only PATTERN`` for some of the rows, which are those of :mod:`benchmarks.suite`.
Its libraries are compared with where they can be imported; ``LOOPWRIGHT_PEERS`` names another Python that has them. Two processes
never compute at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from statistics import median

import loopwright as lw
from benchmarks.suite.checks import write_data
from benchmarks.suite.contest import LIBRARIES, Contender, enter_library
from benchmarks.suite.table import ROWS, Row
from loopwright.bench.compare import spread
from loopwright.bench.machine import facts
from loopwright.bench.peer import Peer
from loopwright.sched.runtime.target import Target

PYTHON = os.environ.get("LOOPWRIGHT_PEERS", sys.executable)
TRIALS, MINUTES = 100, 2.0
ROUNDS, BURST, REST = 15, 0.05, 0.2
# How fast the best of a random search is to be, over the fastest library.
LEAST = {
    "gemm 1024": 0.95,
    "gemm 1009": 0.9,
    "conv 3x3 56x56x64 NHWC": 0.9,
    "depthwise 3x3 112x112x32 NHWC": 1.5,
    "softmax 128x1000": 1.0,
    "layer norm 128x768": 1.1,
    "blur uint16 1536x2560": 0.8,
}
# Bars: of random candidates fewer than this share fail; the default is within so much of the best found on so many rows.
MOST_FAILED = 0.05
NEAR, NEAR_SHARE, FAR = 2.5, 0.8, 6.0
# and is chosen in so many milliseconds.
MOST_MILLISECONDS = 50.0


@dataclass
class Measured:
    """A row's times: for each contender the median of each round, in seconds."""

    row: Row
    trials: int
    failed: int
    choosing: float
    absent: tuple[str, ...] = ()
    times: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, over: str, under: str) -> list[float]:
        """Round by round, how many times as long one takes as another."""
        return [a / b for a, b in zip(self.times[over], self.times[under], strict=True)]

    @property
    def best_peer(self) -> str | None:
        """The fastest of the other libraries."""
        peers = [name for name in self.times if name not in ("default", "tuned")]
        return min(peers, key=lambda name: median(self.times[name]), default=None)


def seconds_to_choose(row: Row, target: Target) -> float:
    """How long the default schedule takes to choose: the least of three."""
    times = []
    for _ in range(3):
        work = row.work()
        start = time.perf_counter()
        lw.default_schedule(work, target)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(row: Row, target: Target, seed: int) -> Measured:
    """Search at random, then time the best, the default schedule and the other libraries in turns."""
    work = row.work()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log = Path(folder) / "random.jsonl"
        result = lw.tune(work, target, trials=TRIALS, minutes=MINUTES, search="random", log=log, seed=seed)
        found = Measured(row, result.measured, sum(result.failures.values()), seconds_to_choose(row, target))
        kernels = stack.enter_context(Peer(target.cores))
        kernels.ask("kernels", workload=work.to_json(), target=target.to_json(), log=str(log))
        contenders = [Contender(kernel, kernels, kernel) for kernel in ("tuned", "default")]
        want = write_data(row, Path(folder))
        for library in (name for name in LIBRARIES if name != "halide-auto"):
            entered = enter_library(library, row, target, PYTHON, Path(folder), want, stack)
            if isinstance(entered, Contender):
                contenders.append(entered)
            elif "absent" in entered:
                found.absent += (library,)
        for _ in range(ROUNDS):
            for who in contenders:
                time.sleep(REST)
                times = who.process.ask("burst", name=who.call, seconds=BURST)["times"]
                found.times.setdefault(who.name, []).append(median(times))
    return found


def line(found: Measured) -> str:
    """A row of the table."""
    peer, best = found.best_peer, median(found.times["tuned"]) * 1e6
    text = f"{found.row.name:31}{found.trials:4}{found.failed:5}{best:10.1f}"
    text += f"{median(found.ratio('default', 'tuned')):8.2f}"
    if found.absent:
        text += f"  without {', '.join(found.absent)}"
    if peer is None:
        return text
    ratios = found.ratio(peer, "tuned")
    bar = f"  (at least {LEAST[found.row.name]})" if found.row.name in LEAST else ""
    low, middle, high = spread(ratios)
    return (
        f"{text}  {peer:12}{median(found.times[peer]) * 1e6:10.1f}{middle:7.2f} ({low:.2f}-{high:.2f}){bar}"
    )


def summary(found: Sequence[Measured]) -> str:
    """The bars over all rows."""
    ratios = [median(each.ratio("default", "tuned")) for each in found]
    failed, trials = sum(each.failed for each in found), sum(each.trials for each in found)
    near = sum(ratio <= NEAR for ratio in ratios) / len(ratios)
    bars = [each for each in found if each.row.name in LEAST and each.best_peer is not None]
    reached = sum(median(each.ratio(each.best_peer or "", "tuned")) >= LEAST[each.row.name] for each in bars)
    slowest = max(each.choosing for each in found) * 1e3
    return "\n".join(
        (
            f"random candidates that failed   {failed / max(1, trials):6.1%}   (below {MOST_FAILED:.0%})",
            f"default within {NEAR}x of the best  {near:6.0%}   (at least {NEAR_SHARE:.0%} of the rows)",
            f"default's worst                {max(ratios):6.2f}x  (at most {FAR:g}x)",
            f"default chosen in at most      {slowest:6.1f} ms (at most {MOST_MILLISECONDS:g})",
            f"bars reached                   {reached} of {len(bars)}",
        )
    )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*", help="rows whose name matches, such as 'conv*'")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    print(f"{'':31}{'n':>4}{'bad':>5}{'best, us':>10}{'default':>8}  {'peer':12}{'us':>10}{'best is':>7}")
    found = []
    for row in ROWS:
        if fnmatch(row.name, options.only):
            found.append(measure(row, target, options.seed))
            print(line(found[-1]), flush=True)
    print(summary(found))


if __name__ == "__main__":
    main()

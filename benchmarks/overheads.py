"""What Loopwright costs beside the kernels themselves, in four figures: `make bench-overheads` prints them.

Each is measured several times; the table has the median, the least and the greatest, and the most it may be.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.call_overhead import measure_call_overhead, measure_load
from benchmarks.log_lookup import RECORDS, WORKLOADS, measure_log_lookup
from benchmarks.tuning_rate import SIZE, TRIALS, measure_tuning_rate
from loopwright.bench.machine import facts, other_load
from loopwright.cli.tables import table
from loopwright.sched.runtime.target import Target

RUNS = 3

Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Figure:
    """A promise: what is measured, in which unit, and the bound that it shall keep."""

    text: str
    unit: str
    bound: float
    at_least: bool = False

    def row(self, samples: Sequence[float]) -> list[str]:
        """The figure as a row of the table."""
        middle = statistics.median(samples)
        kept = middle >= self.bound if self.at_least else middle <= self.bound
        bound = f"{'>=' if self.at_least else '<='} {self.bound:g}"
        numbers = [f"{number:.3g}" for number in (middle, min(samples), max(samples))]
        return [self.text, self.unit, *numbers, str(len(samples)), bound, "yes" if kept else "NO"]


FIGURES = {
    "rate": Figure(f"tuning matmul {SIZE}^3, {TRIALS} trials", "trials/s", 8, at_least=True),
    "lookup": Figure(f"first lookup in a log of {RECORDS:,} records, {WORKLOADS} workloads", "ms", 50),
    "load": Figure("lw.load in a new process, beyond importing numpy", "ms", 120),
    "out": Figure("a call with three arrays and out=, beyond the kernel", "us", 2),
    "new": Figure("a call with two arrays, without out=", "us", 3),
}


def repeated(times: int, measure: Callable[[], dict[str, float]]) -> Samples:
    """Measure several times, and gather what came out by name."""
    runs = [measure() for _ in range(times)]
    return {name: [run[name] for run in runs] for name in runs[0]}


def measure() -> Samples:
    """Everything, by the names of :data:`FIGURES`."""
    say("calls")
    calls = repeated(RUNS, measure_call_overhead)
    say("loading")
    loads = repeated(RUNS, measure_load)
    say("log lookup")
    lookups = repeated(RUNS, measure_log_lookup)
    say(f"tuning, {TRIALS} trials")
    rates = repeated(RUNS, measure_tuning_rate)
    return {
        "rate": rates["trials_per_second"],
        "lookup": lookups["hit_ms"],
        "load": loads["load"],
        "out": calls["with out="],
        "new": calls["without out="],
    }


def say(what: str) -> None:
    """Tell a person who waits what is being measured."""
    print(f"measuring: {what} ...", file=sys.stderr, flush=True)


def main() -> None:
    """Measure and print."""
    target = Target.parse("cpu")
    busy = other_load(target.cores)
    if busy is not None:
        print(f"warning: {busy}", file=sys.stderr)
    samples = measure()
    about = facts(target.cores, target)
    about["threads"] = f"{target.cores} for tuning, 1 for everything else"
    for name, text in about.items():
        print(f"{name + ':':10}{text}")
    rows = [figure.row(samples[name]) for name, figure in FIGURES.items()]
    headers = ["what", "unit", "median", "least", "greatest", "runs", "bound", "kept"]
    print("\n" + table(headers, rows, left=("what", "unit")))


if __name__ == "__main__":
    main()

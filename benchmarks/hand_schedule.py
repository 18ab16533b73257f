"""A schedule written by hand, beside NumPy: the quickstart's, on sizes that no tile divides.

Run: ``python -m benchmarks.hand_schedule``. The bar is half of NumPy's speed, with as many threads.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from loopwright import ops
from loopwright.autotune.log import TuningLog
from loopwright.autotune.record import Record
from loopwright.bench.compare import Comparison, Item, compare, spread
from loopwright.bench.machine import facts
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

SIZES = {"M": 500, "N": 300, "K": 200}
LEAST_RATIO = 0.5


def hand_schedule() -> Schedule:
    """The quickstart's schedule."""
    return (
        ops.matmul(**SIZES)
        .schedule()
        .split("C.i", ("io", "ii"), 8)
        .split("C.j", ("jo", "ji"), 32)
        .reorder("C", "io jo k ii ji")
        .vectorize("C.ji")
        .unroll("C.ii")
        .parallel("C.io")
    )


def measure_hand_schedule(rounds: int = 15) -> Comparison:
    """Time the schedule and NumPy in turns, each alone, in processes of their own."""
    target, schedule = Target.parse("cpu"), hand_schedule()
    work = schedule.work
    # Measured schedules come out of logs: this one goes into a log of its own. Its time there is never read.
    record = Record(
        workload=work.key, target=target.to_json(), status="ok", seconds=1.0, screen=1.0, verified=True,
        schedule=schedule.to_json(), names=work.names, name=work.name, args=work.args,
    )  # fmt: skip
    source = ("ops.matmul", *(f"{name}={size}" for name, size in SIZES.items()))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "hand.jsonl"
        TuningLog(log).append(record)
        return next(iter(compare([Item(work, source)], target, log, rounds=rounds)))


def main() -> None:
    """Print both medians and their ratio with its spread."""
    result = measure_hand_schedule()
    low, middle, high = spread(result.ratios("numpy", "tuned"))
    ours, theirs = (1e6 * median(result.rounds[name]) for name in ("tuned", "numpy"))
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    print(f"the quickstart's schedule, {result.item.work}: {ours:.0f} us, NumPy {theirs:.0f} us")
    print(f"NumPy / ours: {middle:.2f} (quartiles {low:.2f} to {high:.2f}); at least {LEAST_RATIO}: ", end="")
    print("yes" if middle >= LEAST_RATIO else "NO")


if __name__ == "__main__":
    main()

"""What it costs to write a schedule of twenty directives, with all its checks, and to print its loop nest.

Run: ``python -m benchmarks.schedule_writing``. The bars: 20 ms to write, 5 ms to print.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

from loopwright import ops
from loopwright.bench.machine import facts
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

ROUNDS = 40
MOST = {"write": 20.0, "print": 5.0}


def twenty_directives(work: Workload) -> Schedule:
    """A product tiled twice, its second operand packed, its first one staged, its result written from a buffer."""
    return (
        work.schedule()
        .split("C.i", ("io", "i1"), 64)
        .split("C.i1", ("im", "ii"), 8)
        .split("C.j", ("jo", "j1"), 128)
        .split("C.j1", ("jm", "ji"), 16)
        .split("C.k", ("ko", "ki"), 64)
        .reorder("C", "io jo ko im jm ki ii ji")
        .cache_read("B", "global", at="C.ko", name="B_packed")
        .split("B_packed.j", ("jo", "ji"), 16)
        .reorder("B_packed", "jo k ji")
        .transform_layout("B_packed", "jo k ji")
        .vectorize("B_packed.ji")
        .cache_write("C", "local", at="C.jo", name="C_out")
        .split("C_out.j", ("jo", "ji"), 16)
        .vectorize("C_out.ji")
        .vectorize("C.ji")
        .unroll("C.ii")
        .parallel("C.io")
        .cache_read("A", at="C.im", name="A_tile")
        .unroll("A_tile.i")
        .vectorize("A_tile.k")
    )


def milliseconds(call: Callable[[], Any]) -> list[float]:
    """The time of each of a number of calls, after one that is not counted."""
    call()
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        found.append(1e3 * (time.perf_counter() - start))
    return found


def measure_writing() -> dict[str, list[float]]:
    """Milliseconds of each round, for writing and for printing."""
    work = ops.matmul(M=512, N=512, K=512)
    schedule = twenty_directives(work)
    assert len(schedule.directives) == 20
    return {
        "write": milliseconds(lambda: twenty_directives(work)),
        "print": milliseconds(lambda: str(schedule)),
    }


def main() -> None:
    """Print the medians with their quartiles beside the bars."""
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    for what, samples in measure_writing().items():
        low, _, high = quantiles(samples, n=4)
        middle = median(samples)
        verdict = "yes" if middle <= MOST[what] else "NO"
        print(
            f"{what}: {middle:.2f} ms (quartiles {low:.2f} to {high:.2f}); at most {MOST[what]:g}: {verdict}"
        )


if __name__ == "__main__":
    main()

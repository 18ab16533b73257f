"""What it costs to write a schedule of twenty directives, with all its checks, to print its loop nest, and to fill its knobs.

Run: ``python -m benchmarks.schedule_writing``. The bars: 20 ms to write, 5 ms to print, 1 ms to fill a template again, so that
a tuner fills thousands a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

import loopwright as lw
from loopwright import ops
from loopwright.bench.machine import facts
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

ROUNDS = 40
MOST = {"write": 20.0, "print": 5.0, "fill": 1.0}


def twenty_directives(work: Workload, rows: int | Knob = 8, columns: int | Knob = 128) -> Schedule:
    """A product tiled twice, its second operand packed, its first one staged, its result written from a buffer."""
    return (
        work.schedule()
        .split("C.i", ("io", "i1"), 64)
        .split("C.i1", ("im", "ii"), rows)
        .split("C.j", ("jo", "j1"), columns)
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
    """Milliseconds of each round, for writing, for printing and for filling."""
    work = ops.matmul(M=512, N=512, K=512)
    schedule = twenty_directives(work)
    assert len(schedule.directives) == 20
    template = twenty_directives(work, lw.knob("rows", [4, 8, 16]), lw.knob("columns", [64, 128]))
    return {
        "write": milliseconds(lambda: twenty_directives(work)),
        "print": milliseconds(lambda: str(schedule)),
        "fill": milliseconds(lambda: template.fill(rows=8, columns=64)),
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

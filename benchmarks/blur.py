"""What boundary conditions and tails cost: Halide's first example, vectorized and not, and with its edges taken for granted.

Run: ``python -m benchmarks.blur``. The bar: the schedule with vectors is at least twice as fast as without.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import loopwright as lw
from loopwright.bench.compare import spread
from loopwright.bench.machine import facts
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

HEIGHT, WIDTH = 270, 350
LEAST_RATIO = 2.0
ROUNDS, CALLS = 41, 20


@lw.operator
def blur(H: int, W: int, bounded: bool = True) -> Any:
    """A 3 x 3 box blur of an image with its edges repeated; or of one that brings its border along."""
    border = 0 if bounded else 1
    img = lw.input("img", (H + 2 * border, W + 2 * border), "uint16")
    at: Any = lw.repeat_edge(img) if bounded else img

    def wide(y: Any, x: Any) -> Any:
        return lw.cast("uint32", at[y + border, x + border])

    bx = lw.compute(
        "bx", (H + 2, W), lambda y, x: (wide(y - 1, x - 1) + wide(y - 1, x) + wide(y - 1, x + 1)) // 3
    )
    return lw.compute(
        "by", (H, W), lambda y, x: lw.cast("uint16", (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3)
    )


def schedule(vectors: bool, bounded: bool = True, tail: str = "guard") -> Schedule:
    """The example's schedule, or the same without its vectors."""
    s = blur(H=HEIGHT, W=WIDTH, bounded=bounded).schedule()
    s = s.tile("by", y=("yo", "yi", 32), x=("xo", "xi", 64), tail=tail).compute_at("bx", "by.xo")
    s = s.vectorize("by.xi", 16).vectorize("bx.x", 16) if vectors else s
    return s.parallel("by.yo")


def measure() -> dict[str, list[float]]:
    """Seconds a call, by what was called, round by round; all take turns."""
    img = np.random.default_rng(1).integers(0, 60000, (HEIGHT, WIDTH), dtype=np.uint16)
    bordered = np.pad(img, 1, mode="edge")
    programs = {
        "vectors": (schedule(True), img),
        "vectors, tails peeled": (schedule(True, tail="peel"), img),
        "vectors, tails shifted inward": (schedule(True, tail="shift_inward"), img),
        "vectors, no boundary condition": (schedule(True, bounded=False), bordered),
        "no vectors": (schedule(False), img),
    }
    out = np.empty((HEIGHT, WIDTH), np.uint16)
    want = blur(H=HEIGHT, W=WIDTH).reference(img)
    calls: dict[str, Callable[[], object]] = {}
    for name, (chosen, array) in programs.items():
        kernel = lw.build(chosen.work, target="cpu", schedule=chosen)
        np.testing.assert_array_equal(kernel(array), want)
        calls[name] = lambda kernel=kernel, array=array: kernel(array, out=out)  # type: ignore[misc]
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[name].append((time.perf_counter() - start) / CALLS)
    return times


def main() -> None:
    """Print the medians, and how they compare round by round."""
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    print(f"load before: {os.getloadavg()[0]:.1f}")
    times = measure()
    for name, seconds in times.items():
        ratios = [other / mine for other, mine in zip(times["no vectors"], seconds, strict=True)]
        low, middle, high = spread(ratios)
        print(
            f"{name:32s} {1e6 * median(seconds):7.1f} us, {middle:5.2f} x no vectors ({low:.2f} to {high:.2f})"
        )
    ratio = median(a / b for a, b in zip(times["no vectors"], times["vectors"], strict=True))
    print(f"at least {LEAST_RATIO}: {'yes' if ratio >= LEAST_RATIO else 'NO'}")


if __name__ == "__main__":
    main()

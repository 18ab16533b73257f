"""Record the spaces that ``search_quality`` searches: every point is measured as the tuner screens candidates.

Run: ``python -m benchmarks.record_cache conv softmax --minutes 8``, on a machine that does nothing else. ``conv`` is the space
that is searched, ``conv-1`` to ``conv-3`` are other shapes. A recording that was killed, or ran out of time, goes on where it
was. All points are measured once, then all of them again, as often as ``--times`` says, and the median of a point's times counts:
one that was disturbed would be taken for the candidate's, and one that met a core running faster than usual would be the goal of
every search. Then the recording is written compressed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.recorded_spaces import Space, recorded, spaces
from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.recorded.cache import Cache
from loopwright.autotune.recorded.record import Recorder
from loopwright.autotune.space import Point
from loopwright.bench.machine import facts, other_load
from loopwright.sched.runtime.target import Target

FOLDER = Path(__file__).parent / "caches"


def shape(name: str) -> tuple[Space, int]:
    """The space and the shape of a recording of this name.

    Raises:
        SystemExit: there is none.
    """
    space, _, number = name.partition("-")
    known = spaces()
    if space not in known or (number and number not in ("1", "2", "3")):
        raise SystemExit(
            f"there is no recording {name!r}; there are {', '.join(known)}, and each with -1, -2, -3"
        )
    return known[space], int(number or 0)


def due(cache: Cache, points: Sequence[Point], times: int) -> list[Point]:
    """What is to be measured next: a pass over those that were measured the fewest times, as long as these are too few.

    What failed is not tried again.
    """
    again = [point for point in points if point not in cache.failures]
    fewest = min((cache.counts[point] for point in again), default=times)
    return [point for point in again if cache.counts[point] == fewest] if fewest < times else []


def record(name: str, folder: Path, target: Target, until: float, times: int) -> bool:
    """Go on with one recording until a moment of ``time.monotonic()``; whether it is complete."""
    space, number = shape(name)
    found, points = recorded(space, number, target)
    began = time.monotonic()

    def told(count: int, best: float | None) -> None:
        if count % 200 == 0:
            rate, left = count / (time.monotonic() - began), len(due(recorder.cache, points, times))
            print(f"{name}: {rate:.1f}/s, {left} left, best {(best or 0) * 1e6:.1f} us", flush=True)

    path = folder / f"{name}.jsonl"
    recorder = Recorder(Cache.of(space.shapes[number], target, found), path, told)
    while time.monotonic() < until and (left := due(recorder.cache, points, times)):
        # Other workers for each pass: to these no code is known.
        with Nursery() as nursery, Bench(nursery, None, target) as bench:
            recorder.record(left, bench, until)
    if due(recorder.cache, points, times):
        return False
    cache = recorder.cache
    cache.save(path.with_suffix(".jsonl.gz"))
    print(
        f"{name}: {len(cache.times)} points, {len(cache.failures)} failed, best {min(cache.times.values()) * 1e6:.1f} us"
    )
    return True


def main() -> int:
    """Record what is named, one after the other; 1 if the time was too short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "names", nargs="+", help="conv, depthwise, softmax, attention; with -1, -2, -3 for other shapes"
    )
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="stop after so long, to go on another time"
    )
    parser.add_argument("--times", type=int, default=3, help="how often each point is measured")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where recordings lie")
    options = parser.parse_args()
    for name in options.names:
        shape(name)
    target = Target.parse("cpu")
    for fact, value in facts(target.cores, target).items():
        print(f"{fact}: {value}")
    if load := other_load(target.cores):
        print(load)
    options.folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * options.minutes
    complete = [record(name, options.folder, target, until, options.times) for name in options.names]
    return 0 if all(complete) else 1


if __name__ == "__main__":
    sys.exit(main())

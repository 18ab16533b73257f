"""Random workloads under random schedules: whatever the checks accept must compute what the definition says.

    python -m tests.fuzz.hunt --cases 50000 --jobs 2

A case is known by its number alone. One that fails is made smaller and printed as a program.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import FrameType

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.runtime.weights import packed_once
from loopwright.sched.scheduling.schedule import Schedule
from tests.fuzz.open_works import numbers
from tests.fuzz.special_moves import KINDS, draw, filled, inputs_of_cases
from tests.fuzz.tiles import intrinsic_tile, register_tile
from tests.fuzz.weights import prepacking, weighed
from tests.fuzz.works import random_work
from tests.sched.generate import propose

MOST_DIRECTIVES = 86
# What there is seldom an opportunity for is drawn the more often.
RARE = {
    "reverse_compute_at": 38, "compute_at": 6, "store_at": 78, "store_root": 40, "compute_inline": 10,
    "compute_root": 23, "clone": 5, "transform_layout": 3, "storage_align": 5, "rfactor": 6,
    "decompose_reduction": 4, "two_pass": 50, "stream": 60, "pad": 6, "double_buffer": 15, "pipeline": 36,
    "prefetch": 3, "parallel": 3, "fuse": 3, "cache_write": 3, "cache_read": 2, "set_scope": 3, "specialize": 2,
    "unroll": 2,
}  # fmt: skip
TILED = 0.25  # the share of schedules that begin with a tile for the registers
TENSOR = 0.9  # the share that begin with a tile for an intrinsic, if there is one
WILD = 0.2  # the share of directives with arguments drawn blindly
CASE_SECONDS = 60  # a case that takes longer hangs


@dataclass
class Tally:
    """What a hunt has seen: of directives drawn to be legal, how many were, by kind; and what went wrong."""

    cases: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in another's."""
        self.cases += other.cases
        self.drawn += other.drawn
        self.accepted += other.accepted
        self.failures += other.failures

    def __str__(self) -> str:
        rows = [
            f"{kind:20} {self.drawn[kind]:7} drawn {self.accepted[kind]:7} accepted "
            f"{self.accepted[kind] / max(1, self.drawn[kind]):6.0%}"
            for kind in sorted(self.drawn)
        ]
        total = sum(self.accepted.values()) / max(1, sum(self.drawn.values()))
        rows.append(f"{self.cases} cases, {total:.0%} of directives accepted, {len(self.failures)} failures")
        return "\n".join(rows)


class HangError(Exception):
    """A case took too long."""


def hunt(numbers: Iterable[int], weights: bool = False) -> Tally:
    """Run cases by their numbers; with ``weights``, some inputs are weights, and what depends on them alone is prepacked."""
    tally = Tally()
    for number in numbers:
        tally.cases += 1
        work = weighed(random_work(number), number) if weights else random_work(number)
        try:
            schedule = random_schedule(work, Random(number), tally)
            if weights:
                schedule = prepacking(schedule, number)
        except Exception as error:  # a directive is refused by a ScheduleError, or accepted
            tally.failures.append(f"case {number}: {type(error).__name__} while it was written: {error}")
            continue
        wrong = failure(work, schedule, number)
        if wrong is not None:
            tally.failures.append(report(number, work, smaller(work, schedule, number), wrong))
    return tally


def random_schedule(work: Workload, rng: Random, tally: Tally) -> Schedule:
    """Up to 54 directives, most of them drawn to be legal; those that are refused are left out."""
    schedule = work.schedule()
    first = list(intrinsic_tile(schedule, rng)) if rng.random() < TENSOR else []
    for call in first or (register_tile(schedule, rng) if rng.random() < TILED else ()):
        tally.drawn[call.kind] += 1
        try:
            schedule = call.on(schedule)
        except lw.ScheduleError:  # of an open size not all tiles are possible
            break
        tally.accepted[call.kind] += 1
    for number in range(rng.randint(0, MOST_DIRECTIVES)):
        wild = rng.random() < WILD
        if wild:
            kind, (args, options) = propose(schedule, rng.choice, number)
        else:
            kind = rng.choices(KINDS, [RARE.get(kind, 1) for kind in KINDS])[0]
            call = draw(schedule, rng, number, kind)
            if call is None:
                continue
            args, options = call.args, call.options
            tally.drawn[kind] += 1
        try:
            schedule = getattr(schedule, kind)(*args, **options)
        except lw.ScheduleError:
            continue
        if not wild:
            tally.accepted[kind] += 1
    return filled(schedule, rng)


def failure(work: Workload, schedule: Schedule, number: int) -> str | None:
    """What is wrong with the kernel of a schedule, in a line; None if it is right."""
    signal.signal(signal.SIGALRM, _hang)
    signal.alarm(CASE_SECONDS)
    try:
        if Schedule.from_json(work, schedule.to_json()) != schedule:
            return "its JSON form restores another schedule"
        str(schedule)
        kernel = lw.build(work, target="cpu", schedule=schedule, cache=False)
        return next(filter(None, _differences(work, schedule, kernel, number)), None)
    except Exception as error:  # whatever it is, it is what the hunt is for
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[-1][:300]}"
    finally:
        signal.alarm(0)


def _differences(work: Workload, schedule: Schedule, kernel: lw.Kernel, number: int) -> Iterator[str | None]:
    """What is wrong in each call: of every size, and of every special case."""
    for sizes in numbers(work) if work.sizes else ({},):
        known = work.at(sizes) if sizes else work
        for arrays in inputs_of_cases(work, schedule, random_inputs(known, number)):
            expected = Expected.of(known, arrays)
            for given in (arrays, packed_once(kernel, arrays)) if kernel.weights else (arrays,):
                wrong = expected.check(kernel(*given))
                yield f"{wrong} {sizes or ''}".strip() if wrong else None


def _hang(signum: int, frame: FrameType | None) -> None:
    raise HangError(f"no result after {CASE_SECONDS} seconds")


def smaller(work: Workload, schedule: Schedule, number: int) -> Schedule:
    """The schedule without the directives that do not matter to its failure."""
    directives = list(schedule.directives)
    for at in reversed(range(len(directives))):
        rest = directives[:at] + directives[at + 1 :]
        try:
            fewer = Schedule(work, rest)
        except lw.ScheduleError:
            continue
        if failure(work, fewer, number) is not None:
            directives = rest
    return Schedule(work, directives)


def report(number: int, work: Workload, schedule: Schedule, wrong: str) -> str:
    """A failure as a program to run."""
    try:
        nest = str(schedule)
    except Exception as error:  # printing may be what is wrong
        nest = f"# {type(error).__name__}: {error}"
    weights = any(tensor.weight for tensor in work.inputs)
    made = f"weighed(random_work({number}), {number})" if weights else f"random_work({number})"
    return (
        f"case {number}: {wrong}\n"
        f"from tests.fuzz.hunt import failure, random_work, weighed\n"
        f"work = {made}\n{schedule.to_python()}\nprint(failure(work, schedule, {number}))\n"
        f"# {work!r}\n{nest}\n"
    )


def chunks(start: int, cases: int, size: int) -> Iterator[range]:
    """Numbers in pieces, so that several processes share them."""
    for first in range(start, start + cases, size):
        yield range(first, min(first + size, start + cases))


def main() -> int:
    """The command line; the status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--weights", action="store_true", help="some inputs are weights")
    options = parser.parse_args()
    tally, began = Tally(), time.monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        run = partial(hunt, weights=options.weights)
        for part in pool.map(run, chunks(options.start, options.cases, 25)):
            tally.add(part)
            for text in part.failures:
                print(text, flush=True)
            print(f"\r{tally.cases} cases, {time.monotonic() - began:.0f} s", end="", file=sys.stderr)
    print(f"\n{tally}\n{time.monotonic() - began:.0f} seconds")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())

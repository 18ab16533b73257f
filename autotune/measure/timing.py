"""Timing a compiled function: the least of some samples, as many as it takes to know that it is the least.

Whatever disturbs a call makes it longer, so the least sample is the nearest to the truth, and those next to it say how near.
Where the three least lie close together, more samples would not tell more: this is the K-best scheme of Bryant and O'Hallaron
(Computer Systems: A Programmer's Perspective, in the chapter on measuring time).
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from loopwright.autotune.measure.task import KNOWN_SPREAD, SAMPLE_SECONDS, Repeats

# How many of the least samples are compared.
AGREEING = 3
# Screening: at least so many samples and so long; at most so long, or so many samples.
MIN_SAMPLES, MAX_SAMPLES = 3, 20
SCREEN_SECONDS, LONGEST_SCREEN = 2e-3, 6e-3
# A call that takes so many times as long as the cut is slow, whatever disturbed it. One that takes more than this share of the
# cut takes no part in finals: two samples say enough.
FAR, HOPELESS = 3.0, 0.7
# A call that takes so long takes no longer to speak of because caches were cold.
LONG_CALL = 2e-3
# A race: rounds at least, and after how many the slower runners drop out.
MIN_ROUNDS, DROP_ROUNDS = 5, 4
# A runner that is slower by so many times its spread is slower.
CLEARLY = 3.0

Call = Callable[..., Any]
Flush = Callable[[], None]
Clock = Callable[[], float]


class Timed(NamedTuple):
    """The seconds of one call, and how far apart the three least samples of it lie, as a share of the least."""

    seconds: float
    spread: float

    def slower(self, factor: float) -> Timed:
        """The same of something that takes ``factor`` times as long."""
        return Timed(self.seconds * factor, self.spread)


class Least:
    """The least samples so far.

    Example:
        >>> least = Least()
        >>> for sample in (2.0, 1.25, 1.0, 1.5, 1.125):
        ...     least.add(sample)
        >>> least.timed
        Timed(seconds=1.0, spread=0.25)
    """

    def __init__(self) -> None:
        self._least: list[float] = []
        self.count = 0

    def add(self, seconds: float) -> None:
        """Take a sample in."""
        insort(self._least, seconds)
        del self._least[AGREEING:]
        self.count += 1

    @property
    def timed(self) -> Timed:
        """The least, and the spread: infinite as long as there are too few samples to say."""
        if not self._least:
            return Timed(float("inf"), float("inf"))
        first, last = self._least[0], self._least[-1]
        spread = (last - first) / max(first, 1e-12) if len(self._least) == AGREEING else float("inf")
        return Timed(first, spread)


class Stopwatch:
    """Takes samples of functions that are called with the same arguments.

    Args:
        args: the arguments.
        flush: empties the caches before each sample, which then is a single call.
        sample_seconds: how long a sample takes, at least.
        clock: gives the time in seconds.
        before: how long the function took in a call just before, if that was made as a sample is.
    """

    def __init__(
        self,
        args: Sequence[Any],
        flush: Flush | None = None,
        sample_seconds: float = SAMPLE_SECONDS,
        clock: Clock = time.perf_counter,
        before: float | None = None,
    ) -> None:
        self._args, self._flush, self._sample_seconds, self.clock = args, flush, sample_seconds, clock
        self.before = before

    def calls(self, seconds: float) -> int:
        """How many calls of so many seconds make a sample.

        Example:
            >>> stopwatch = Stopwatch(())
            >>> stopwatch.calls(1e-6), stopwatch.calls(1e-2)
            (200, 1)
        """
        if self._flush is not None:
            return 1
        return max(1, min(10_000, int(self._sample_seconds / max(seconds, 1e-9) + 0.5)))

    def bound(self, function: Call) -> tuple[Call, Sequence[Any]]:
        """What is called to time a function, and with which arguments."""
        return function, self._args

    def sample(self, function: Call, number: int) -> float:
        """Seconds a call, over ``number`` calls in a row."""
        if self._flush is not None:
            self._flush()
        clock, (function, args) = self.clock, self.bound(function)
        if number == 1:
            start = clock()
            function(*args)
            return clock() - start
        calls = range(number)
        start = clock()
        for _ in calls:
            function(*args)
        return (clock() - start) / number


def screen(function: Call, stopwatch: Stopwatch, cut: float | None = None) -> float:
    """The least time of a call, of a function that has run before; one slower than ``cut`` is soon given up.

    The first call may find cold caches, or be interrupted: it takes a second one to say that a function is slow.
    """
    least, before = Least(), stopwatch.before
    once = before if before is not None and before >= LONG_CALL else stopwatch.sample(function, 1)
    if cut is not None and once > cut:
        if once <= FAR * cut:
            once = min(once, stopwatch.sample(function, 1))
        if once > cut:
            return once
    number, spent = stopwatch.calls(once), once
    if number == 1:
        least.add(once)
    while least.count < MIN_SAMPLES or (spent < LONGEST_SCREEN and least.count < MAX_SAMPLES):
        if spent >= SCREEN_SECONDS and least.timed.spread <= KNOWN_SPREAD:
            break
        if cut is not None and least.count > 1 and least.timed.seconds > HOPELESS * cut:
            break
        taken = stopwatch.sample(function, number)
        least.add(taken)
        spent += taken * number
    return least.timed.seconds


def race(
    functions: Sequence[Call], stopwatch: Stopwatch, repeats: Repeats, reach: float = 1.1
) -> list[Timed]:
    """Time functions in turns, so that whatever else the machine does meets all alike.

    It goes on until the spread of each is known to be small, or there is no more time. Those that are soon seen to be slower than
    the fastest, by several times their spread, or ``reach`` times slower, take no further part.
    """
    numbers = [stopwatch.calls(min(stopwatch.sample(f, 1), stopwatch.sample(f, 1))) for f in functions]
    runners = [Least() for _ in functions]
    running = list(range(len(functions)))
    rounds, spent = 0, 0.0  # seconds on each that still runs
    while True:
        start = stopwatch.clock()
        for nth in running:
            runners[nth].add(stopwatch.sample(functions[nth], numbers[nth]))
        rounds, spent = rounds + 1, spent + (stopwatch.clock() - start) / len(running)
        if rounds >= DROP_ROUNDS:
            best = min(runner.timed.seconds for runner in runners)
            running = [nth for nth in running if _may_win(runners[nth].timed, best, reach, repeats.spread)]
        known = all(runners[nth].timed.spread <= repeats.spread for nth in running)
        if rounds >= MIN_ROUNDS and spent >= (repeats.least_seconds if known else repeats.most_seconds):
            return [runner.timed for runner in runners]


def _may_win(timed: Timed, best: float, reach: float, known: float) -> bool:
    """Whether more samples may show a runner to be as fast as ``best``: its spread says how far its least is from the truth."""
    margin = max(known, CLEARLY * timed.spread)
    return timed.seconds <= best * min(reach, 1.0 + margin)

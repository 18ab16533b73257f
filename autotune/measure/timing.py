"""Timing a compiled function: least of a few repeats, as many as its speed calls for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

# A timed sample lasts at least this long, so that the clock and the call do not show in it.
SAMPLE_SECONDS = 2e-4
ENOUGH_SECONDS = 6e-3
MIN_SAMPLES, MAX_SAMPLES = 3, 20

Call = Callable[..., Any]
Flush = Callable[[], None]


def sample(function: Call, args: Sequence[Any], number: int) -> float:
    """Seconds a call, over ``number`` calls in a row."""
    clock = time.perf_counter
    if number == 1:
        start = clock()
        function(*args)
        return clock() - start
    calls = range(number)
    start = clock()
    for _ in calls:
        function(*args)
    return (clock() - start) / number


def _fresh(function: Call, args: Sequence[Any], number: int, flush: Flush | None) -> float:
    if flush is not None:
        flush()
    return sample(function, args, number)


def calls_per_sample(seconds: float) -> int:
    """How many calls make a sample long enough.

    Example:
        >>> calls_per_sample(1e-6), calls_per_sample(1e-2)
        (200, 1)
    """
    return max(1, min(10_000, int(SAMPLE_SECONDS / max(seconds, 1e-9) + 0.5)))


def screen(
    function: Call, args: Sequence[Any], cut: float | None = None, flush: Flush | None = None
) -> float:
    """The least time of a call, of a function that has run before; one clearly slower than ``cut`` is timed only once.

    ``flush`` empties the caches before each sample, which then is a single call.
    """
    once = _fresh(function, args, 1, flush)
    if cut is not None and once > cut:
        return once
    number = calls_per_sample(once) if flush is None else 1
    best = once if number == 1 else float("inf")
    spent, samples = once, 1 if number == 1 else 0
    while samples < MIN_SAMPLES or (spent < ENOUGH_SECONDS and samples < MAX_SAMPLES):
        taken = _fresh(function, args, number, flush)
        best = min(best, taken)
        spent += taken * number
        samples += 1
    return best


def race(
    functions: Sequence[Call],
    args: Sequence[Any],
    seconds: float,
    reach: float = 1.1,
    flush: Flush | None = None,
) -> list[float]:
    """Time functions in turns, so that whatever else the machine does meets all alike; the least time of each.

    After three rounds, those that are ``reach`` times slower than the fastest take no further part.
    """
    first = [min(_fresh(f, args, 1, flush), _fresh(f, args, 1, flush)) for f in functions]
    numbers = [max(1, calls_per_sample(t)) if flush is None else 1 for t in first]
    best = list(first)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or (time.perf_counter() < end and rounds < 1000):
        limit = min(best) * reach if rounds >= 3 else float("inf")
        for nth, function in enumerate(functions):
            if best[nth] <= limit:
                best[nth] = min(best[nth], _fresh(function, args, numbers[nth], flush))
        rounds += 1
    return best

"""How often something is timed, on a clock that moves only when a function is called."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest

from loopwright.autotune.measure import timing
from loopwright.autotune.measure.task import Repeats
from loopwright.autotune.measure.timing import Least, Stopwatch
from loopwright.sched.errors import TuneError


class Clock:
    """Time goes by in calls alone."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def function(self, durations: Iterable[float]) -> Callable[[], None]:
        """A function whose calls take so long, one after the other."""
        left = iter(durations)

        def call() -> None:
            self.now += next(left)

        return call

    @property
    def stopwatch(self) -> Stopwatch:
        """What times such functions."""
        return Stopwatch((), clock=self)


def steady(seconds: float) -> Iterable[float]:
    return itertools.repeat(seconds)


def falling(seconds: float, by: float) -> Iterable[float]:
    """Each call a little quicker than the one before: never known."""
    return (seconds * (1 - by) ** n for n in itertools.count())


def test_the_spread_is_that_of_the_three_least() -> None:
    least = Least()
    assert least.timed.seconds == least.timed.spread == float("inf")
    for n, sample in enumerate((9.0, 1.5, 1.25, 7.0, 1.0)):
        assert (least.timed.spread < float("inf")) == (n >= 3)
        least.add(sample)
    assert least.timed == (1.0, 0.5)
    assert least.timed.slower(2.0) == (2.0, 0.5)


def test_a_race_ends_when_its_times_are_known() -> None:
    clock, repeats = Clock(), Repeats(least_seconds=0.02, most_seconds=10.0)
    times = timing.race(
        [clock.function(steady(1e-3)), clock.function(steady(1.005e-3))], clock.stopwatch, repeats
    )
    assert [t.seconds for t in times] == pytest.approx([1e-3, 1.005e-3])
    assert all(t.spread < 1e-9 for t in times)
    assert 0.04 <= clock.now < 0.05  # the least there is for two, and two calls of each to begin with


def test_a_race_whose_times_are_not_known_takes_all_the_time_there_is() -> None:
    clock, repeats = Clock(), Repeats(least_seconds=0.01, most_seconds=0.1)
    known, unknown = steady(5e-3), (5e-3 * 1.006**n for n in itertools.count())
    times = timing.race([clock.function(unknown), clock.function(known)], clock.stopwatch, repeats)
    assert 0.19 <= clock.now < 0.23
    assert times[0].spread > repeats.spread
    assert times[1].spread < 1e-9


def test_noise_is_waited_out() -> None:
    """One call in four is undisturbed: the race goes on until three of these were seen."""
    clock = Clock()
    noisy = itertools.cycle((1.7e-3, 1.4e-3, 1e-3, 2.2e-3))
    repeats = Repeats(least_seconds=1e-3, most_seconds=10.0)
    (timed,) = timing.race([clock.function(noisy)], clock.stopwatch, repeats)
    assert timed.seconds == pytest.approx(1e-3)
    assert timed.spread < 1e-9
    assert 0.015 < clock.now < 0.03


def test_who_is_far_behind_does_not_keep_a_race_going() -> None:
    clock, repeats = Clock(), Repeats(least_seconds=0.01, most_seconds=10.0)
    slow = clock.function(falling(5e-3, by=0.02))
    times = timing.race([slow, clock.function(steady(1e-3))], clock.stopwatch, repeats)
    assert clock.now < 0.06
    assert times[0].seconds > 4e-3


def test_who_is_known_to_be_slower_does_not_keep_a_race_going() -> None:
    """By how much it has to be slower, its own spread says."""
    repeats = Repeats(least_seconds=0.1, most_seconds=0.1)
    ran = {}
    for name, samples in {"steady": (1.04e-3,), "unsteady": (1.04e-3, 1.06e-3, 1.1e-3)}.items():
        clock, calls = Clock(), []
        slower = clock.function(itertools.cycle(samples))
        timing.race(
            [lambda f=slower, c=calls: c.append(f()), clock.function(steady(1e-3))], clock.stopwatch, repeats
        )
        ran[name] = len(calls)
    assert ran["steady"] == 2 + timing.DROP_ROUNDS
    assert ran["unsteady"] == 2 + 8  # until it was seen three times at its best


def test_who_drops_out_leaves_no_time_to_the_others() -> None:
    clock, repeats = Clock(), Repeats(least_seconds=0.01, most_seconds=0.1)
    slow = [clock.function(steady(5e-3)) for _ in range(8)]
    timing.race([*slow, clock.function(falling(1e-3, by=0.006))], clock.stopwatch, repeats)
    rounds = 2 + timing.DROP_ROUNDS  # of all: to begin with, and until they drop out
    assert clock.now < rounds * 9 * 5e-3 + 0.1


def test_quick_calls_are_timed_in_groups_of_the_length_asked_for() -> None:
    clock, calls = Clock(), [0]
    tick = clock.function(steady(1e-5))

    def counted() -> None:
        calls[0] += 1
        tick()

    repeats = Repeats(sample_seconds=1e-3, least_seconds=1e-6, most_seconds=1.0)
    timing.race([counted], Stopwatch((), None, repeats.sample_seconds, clock), repeats)
    assert calls[0] == 2 + 100 * timing.MIN_ROUNDS


def test_screening_ends_early_where_samples_agree() -> None:
    clock = Clock()
    assert timing.screen(clock.function(steady(1e-5)), clock.stopwatch) == pytest.approx(1e-5)
    agreeing = clock.now
    clock.now = 0.0
    assert timing.screen(clock.function(falling(1e-5, by=0.001)), clock.stopwatch) < 1e-5
    assert timing.SCREEN_SECONDS <= agreeing < clock.now
    assert agreeing < timing.LONGEST_SCREEN


def test_screening_stops_at_once_for_what_is_far_from_the_best() -> None:
    clock = Clock()
    assert timing.screen(clock.function([1.3e-2]), clock.stopwatch, cut=4e-3) == pytest.approx(1.3e-2)
    clock.now = 0.0
    timing.screen(clock.function(steady(4e-3)), clock.stopwatch, cut=6e-3)
    assert clock.now == pytest.approx(timing.MIN_SAMPLES * 4e-3)


def test_of_what_takes_no_part_in_finals_two_samples_are_enough() -> None:
    clock = Clock()
    assert timing.screen(clock.function(steady(5e-3)), clock.stopwatch, cut=6e-3) == pytest.approx(5e-3)
    assert clock.now == pytest.approx(2 * 5e-3)


def test_a_long_call_that_was_made_before_is_a_sample() -> None:
    clock = Clock()
    after = Stopwatch((), clock=clock, before=5e-3)
    assert timing.screen(clock.function(steady(5e-3)), after, cut=6e-3) == pytest.approx(5e-3)
    assert clock.now == pytest.approx(5e-3)


def test_what_was_far_beyond_the_cut_is_not_called_again() -> None:
    clock = Clock()
    assert timing.screen(clock.function([]), Stopwatch((), clock=clock, before=2.5e-2), cut=6e-3) == 2.5e-2


def test_a_short_call_that_was_made_before_may_have_found_cold_caches() -> None:
    clock = Clock()
    after = Stopwatch((), clock=clock, before=1e-3)
    assert timing.screen(clock.function(steady(1e-4)), after) == pytest.approx(1e-4)


def test_one_disturbed_call_makes_no_candidate_slow() -> None:
    clock = Clock()
    slow = clock.function([5e-3, 4.5e-3])
    assert timing.screen(slow, clock.stopwatch, cut=4e-3) == pytest.approx(4.5e-3)
    disturbed = clock.function(itertools.chain([5e-3], itertools.repeat(1e-3)))
    assert timing.screen(disturbed, clock.stopwatch, cut=2e-3) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"spread": 0}, "spread=0"),
        ({"spread": "1%"}, "spread='1%'"),
        ({"most_seconds": float("nan")}, "most_seconds=nan"),
        ({"sample_seconds": True}, "sample_seconds=True"),
        ({"least_seconds": 3.0, "most_seconds": 2.0}, "least_seconds=3.0 is more than most_seconds=2.0"),
    ],
)
def test_repeats_that_make_no_sense(values: dict[str, float], words: str) -> None:
    with pytest.raises(TuneError, match=words):
        Repeats(**values)

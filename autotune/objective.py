"""What a search is after: the least time, the least memory, both, or what a function of the user's says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from loopwright.autotune.front import OBJECTIVES, SLACK, Named, front, layers, smallest
from loopwright.autotune.record import Record
from loopwright.sched.errors import TuneError
from loopwright.sched.language.operations import operations
from loopwright.sched.scheduling.schedule import Schedule

# What is added to bytes where they are multiplied: less than a page is as good as nothing.
PAGE = 4096


@dataclass(frozen=True)
class Trial:
    """A measured candidate, as an objective of the user's sees it.

    Attributes:
        seconds: the time of a call on all cores.
        peak_bytes: the most memory that a call takes at one time beside its arguments
            (:func:`loopwright.sched.lowering.peak.peak_bytes` says what counts).
        schedule: its schedule, without knobs; ``schedule.chosen`` has the knobs' values, ``schedule.work`` the workload.
        estimated: whether ``seconds`` is an estimate from a time on one core: only candidates that may be the best are timed
            on all cores, and then looked at once more.
    """

    seconds: float
    peak_bytes: int
    schedule: Schedule
    estimated: bool = False

    @property
    def chosen(self) -> dict[str, Any]:
        """Knob name -> value."""
        return dict(self.schedule.chosen)

    @cached_property
    def flops(self) -> int:
        """The arithmetic operations of the formula; what a schedule computes again does not count again."""
        return operations(self.schedule.work)


Function: TypeAlias = Callable[[Trial], float]


class Sample(NamedTuple):
    """What is known of a candidate: seconds, bytes, what the user's function says (0 without one), and its record, once timed on
    all cores. Seconds of different kinds, estimates and times, are never compared."""

    seconds: float
    size: float
    value: float = 0.0
    record: Record | None = None

    def hoped(self, reach: float) -> Sample:
        """The same with luck: ``reach`` times faster, and as much better a value."""
        luck = (reach - 1) * abs(self.value)
        return self._replace(seconds=self.seconds / reach, value=self.value - luck)


def _cost(sample: Sample) -> tuple[float, float]:
    return sample.seconds, sample.size


def _ranks(keys: Sequence[Any]) -> list[float]:
    """Ranks from 1; equal keys share theirs."""
    number = {key: float(n) for n, key in enumerate(sorted(set(keys)), 1)}
    return [number[key] for key in keys]


class Objective:
    """The least time; the base of the others.

    Attributes:
        name: as the user gave it.
        finalists: how many of a batch are timed on all cores at most.
        relative: whether it asks for more than the time, and what a candidate is worth depends on the others: the search is then
            told all costs again.
    """

    name = "time"
    finalists = 4
    relative = False

    def wanted(self, samples: Sequence[Sample]) -> list[Sample]:
        """Those that the objective asks for, the best first."""
        return [min(samples, key=_cost)]

    def leaders(self, samples: Sequence[Sample]) -> list[Sample]:
        """Those that may be asked for, whatever else comes; and the fastest, whose time is always of interest."""
        return [*self.wanted(samples), min(samples, key=_cost)]

    def costs(self, samples: Sequence[Sample]) -> list[float]:
        """What the search is to make less: positive numbers."""
        return [sample.seconds for sample in samples]

    def figure(self, samples: Sequence[Sample]) -> float:
        """How far one has come, as one number: the less, the better."""
        return self.wanted(samples)[0].seconds

    def value(self, trial: Callable[[], Trial]) -> float:
        """What the user's function says of a trial."""
        return 0.0


class Memory(Objective):
    """The least memory of what takes at most :data:`~loopwright.autotune.front.SLACK` times as long as the fastest."""

    name = "memory"
    finalists = 8
    relative = True

    def wanted(self, samples: Sequence[Sample]) -> list[Sample]:
        """The smallest."""
        return [smallest(samples, _cost)]

    def leaders(self, samples: Sequence[Sample]) -> list[Sample]:
        """The front: which of it is the smallest that is not too slow, may change with the fastest."""
        return front(samples, _cost)

    def costs(self, samples: Sequence[Sample]) -> list[float]:
        """Ranks by memory; behind them, by time, what is too slow."""
        fastest = min((sample.seconds for sample in samples), default=0.0)
        keys = [
            (True, s.seconds, s.size) if s.seconds > SLACK * fastest else (False, s.size, s.seconds)
            for s in samples
        ]
        return _ranks(keys)

    def figure(self, samples: Sequence[Sample]) -> float:
        """Bytes."""
        return self.wanted(samples)[0].size


class Both(Objective):
    """Time against memory: the front of candidates that no other one beats in both."""

    name = "both"
    finalists = 16
    relative = True

    def wanted(self, samples: Sequence[Sample]) -> list[Sample]:
        """The front."""
        return front(samples, _cost)

    def leaders(self, samples: Sequence[Sample]) -> list[Sample]:
        """The front: the fastest is on it."""
        return self.wanted(samples)

    def costs(self, samples: Sequence[Sample]) -> list[float]:
        """The layer that each is in: 1 on the front, 2 on what is the front without that, and so on."""
        return [float(layer) for layer in layers([_cost(sample) for sample in samples])]

    def figure(self, samples: Sequence[Sample]) -> float:
        """The least geometric mean of seconds and bytes."""
        return min(math.sqrt(sample.seconds * (sample.size + PAGE)) for sample in samples)


class Own(Objective):
    """What a function of the user's says."""

    relative = True

    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def wanted(self, samples: Sequence[Sample]) -> list[Sample]:
        """That of the least value."""
        return [min(samples, key=lambda sample: sample.value)]

    def costs(self, samples: Sequence[Sample]) -> list[float]:
        """Ranks: values may be of any sign and size."""
        return _ranks([sample.value for sample in samples])

    def figure(self, samples: Sequence[Sample]) -> float:
        """The least value."""
        return self.wanted(samples)[0].value

    def value(self, trial: Callable[[], Trial]) -> float:
        """Ask the function.

        Raises:
            TuneError: it raised, or returned no finite number.
        """
        asked = trial()
        which = (
            f"of {asked.schedule.work} with {asked.chosen}" if asked.chosen else f"of {asked.schedule.work}"
        )
        what = f"objective={self.name}, for the candidate {which} ({asked.seconds:.3g} s, {asked.peak_bytes} bytes),"
        try:
            value = self.function(asked)
        except Exception as error:
            raise TuneError(f"{what} raised {type(error).__name__}: {error}") from error
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise TuneError(f"{what} returned {value!r}: a finite number is expected, the less, the better")
        return float(value)


TIME = Objective()
ObjectiveLike: TypeAlias = "Named | Function"


def objective_of(objective: object) -> Objective:
    """The objective of this name, or the user's own.

    Raises:
        TuneError: there is none of this name.

    Example:
        >>> objective_of("memory").name, objective_of(lambda trial: trial.seconds * trial.peak_bytes).name
        ('memory', '<lambda>')
    """
    if callable(objective):
        return Own(objective)
    if objective not in OBJECTIVES:
        raise TuneError(
            f"objective={objective!r}: 'time', 'memory', 'both', or a function of a trial that returns a number is expected"
        )
    return {"time": TIME, "memory": Memory(), "both": Both()}[objective]

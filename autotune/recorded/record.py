"""Recording a space: points are measured as the tuner screens candidates, each on a core of its own, built quickly."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Outcome
from loopwright.autotune.measure.twins import NOT_ITS_FAULT
from loopwright.autotune.recorded.cache import Cache
from loopwright.autotune.session import CUT
from loopwright.autotune.space import Point, SearchSpace
from loopwright.sched.errors import LogError

# Points that are filled and written as data at a time, ahead of the workers.
AHEAD = 128


class Recorder:
    """Measures points of a space, and appends each measurement to a file at once: killed and started anew, it goes on.

    Args:
        cache: the space; what the file holds already is added to it.
        path: the file, made if it is not there. Not compressed.
        told: called after each measurement with the number of them and the least time so far.

    Raises:
        LogError: the file is a recording of something else, or none.
    """

    def __init__(
        self, cache: Cache, path: Path, told: Callable[[int, float | None], None] = lambda count, best: None
    ) -> None:
        self.path, self.told = path, told
        self.cache = _resumed(cache, path)
        self.space = SearchSpace(cache.sketches, cache.target)
        self.measured = 0
        self._best = min(self.cache.times.values(), default=None)

    def record(self, points: Sequence[Point], bench: Bench, until: float | None = None) -> None:
        """Measure points in this order, also such as were measured before; of all times of a point the median counts.

        After ``until``, a moment of ``time.monotonic()``, none is begun.
        """
        task = bench.task(self.cache.work)
        for start in range(0, len(points), AHEAD):
            part = points[start : start + AHEAD]
            ready = self._ready(part)
            if until is not None and time.monotonic() > until:
                break

            def take(outcome: Outcome, part: Sequence[Point] = part) -> None:
                # A worker that was killed from outside says nothing about its point.
                if outcome.cause not in NOT_ITS_FAULT:
                    self._note(part[outcome.trial], outcome.screen or outcome.cause or "unknown")

            bench.pool.run(task, ready, take, self._cut, until)

    def _ready(self, points: Sequence[Point]) -> list[Candidate]:
        """The points as candidates, numbered; those that the directives refuse are noted as such."""
        found = []
        for number, point in enumerate(points):
            schedule = self.space.schedule(point)
            if schedule is not None:
                found.append(Candidate(number, schedule.to_json()))
            elif point not in self.cache.failures:
                self._note(point, "invalid")
        return found

    def _cut(self) -> float | None:
        return None if self._best is None else CUT * self._best

    def _note(self, point: Point, result: float | str) -> None:
        with self.path.open("a") as file:
            file.write(self.cache.line(point, result))
        self.cache.add(point, result)
        self.measured += 1
        if not isinstance(result, str):
            self._best = min(result, self._best or result)
        self.told(self.measured, self._best)


def _resumed(cache: Cache, path: Path) -> Cache:
    """The recording that a file holds so far, if it is of the same space; else ``cache``, begun in that file."""
    text = path.read_bytes() if path.exists() else b""
    if b"\n" not in text:
        path.write_text(cache.header())
        return cache
    found = Cache.read(path)
    same = found.work.key == cache.work.key and found.target == cache.target
    if not same or [s.schedule for s in found.sketches] != [s.schedule for s in cache.sketches]:
        raise LogError(f"{path} is a recording of another space; name another file")
    # What a killed recorder has left of a line is no part of the next.
    path.write_bytes(text[: text.rindex(b"\n") + 1])
    return found

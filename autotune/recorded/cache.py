"""A recorded space: schedules with knobs, and how long each of some of their fillings took.

The file is JSON Lines, compressed where its name ends in ``.gz``: a header, then a line for each measurement. It holds the
schedules themselves: a recording outlives every change to the sketches it came from.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from loopwright.autotune.log import timestamp
from loopwright.autotune.space import Point, Sketch
from loopwright.sched.errors import LogError, LoopwrightError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.hardware import processor_name
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.versions import versions
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
FORMAT = 1
_MARK = "recorded space"


@dataclass(frozen=True)
class Cache:
    """A recorded space.

    Attributes:
        work: the workload.
        target: what it was measured for.
        sketches: the schedules with knobs; points are numbered in them.
        times: the seconds that each point took on one core, the median of all measurements.
        failures: why other points failed.
        counts: how often each point was measured.
        measured: the seconds of each time.
        facts: the device, the versions, and when recording began.

    Example::

        cache = Cache.read("benchmarks/caches/softmax.jsonl.gz")
        seconds = min(cache.times.values())
    """

    work: Workload
    target: Target
    sketches: tuple[Sketch, ...]
    times: dict[Point, float] = field(default_factory=dict)
    failures: dict[Point, str] = field(default_factory=dict)
    counts: Counter[Point] = field(default_factory=Counter)
    measured: dict[Point, list[float]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, work: Workload, target: Target, sketches: Sequence[Sketch]) -> Cache:
        """An empty one, to be recorded on this machine."""
        facts = {"device": processor_name(), "versions": versions(), "time": timestamp()}
        return cls(work, target, tuple(sketches), facts=facts)

    @classmethod
    def read(cls, path: str | Path) -> Cache:
        """Read a recording, complete or not; a torn last line, which a killed recorder leaves, is skipped.

        Raises:
            LogError: there is no such file, or it is no recording.
        """
        path = Path(path)
        lines = _lines(path)
        cache = cls._from_header(next(lines, ""), path)
        for number, line in enumerate(lines, 2):
            if line.endswith("\n"):
                cache._take(line, f"{path}:{number}")
        return cache

    @classmethod
    def _from_header(cls, line: str, path: Path) -> Cache:
        try:
            header = json.loads(line)
            if header[_MARK] > FORMAT:
                raise LogError(
                    f"{path}: format {header[_MARK]} is newer than this Loopwright reads ({FORMAT})"
                )
            work = Workload.from_json(header["workload"])
            sketches = tuple(
                Sketch(
                    entry["name"],
                    Schedule.from_json(work, json.dumps(entry["schedule"])),
                    seeds=tuple(entry["seeds"]),
                )
                for entry in header["sketches"]
            )
            facts = {name: header[name] for name in ("device", "versions", "time")}
            return cls(work, Target.from_json(header["target"]), sketches, facts=facts)
        except LogError:
            raise
        except (ValueError, TypeError, KeyError, LoopwrightError) as error:
            raise LogError(f"{path} is not a recorded space: {error!r}") from None

    def header(self) -> str:
        """The first line of the file."""
        entries = [
            {
                "name": s.name,
                "schedule": json.loads(s.schedule.to_json()),
                "seeds": [dict(x) for x in s.seeds],
            }
            for s in self.sketches
        ]
        whole = {_MARK: FORMAT, "workload": self.work.to_json(), "target": self.target.to_json()}
        return _line({**whole, **self.facts, "sketches": entries})

    def line(self, point: Point, result: float | str) -> str:
        """A measurement as a line of the file: the sketch, the point's number in it, and seconds or the cause of a failure."""
        number = numbers_of(np.array([point.choice], np.int64), self.sketches[point.space].sizes)[0]
        return _line([point.space, int(number), result])

    def _take(self, line: str, where: str) -> None:
        """Take in a line of the file."""
        try:
            space, number, result = json.loads(line)
            sizes = self.sketches[space].sizes
            choice = np.unravel_index(number, sizes) if sizes else ()
            if not isinstance(result, str) and not 0 < result < np.inf:
                raise ValueError
        except (ValueError, TypeError, IndexError):
            raise LogError(f"{where}: not a measurement: {line.strip()[:60]}") from None
        self.add(Point(space, tuple(int(index) for index in choice)), result)

    def add(self, point: Point, result: float | str) -> None:
        """Take in a measurement: seconds, or the cause of a failure."""
        self.counts[point] += 1
        if isinstance(result, str):
            self.failures[point] = result
        else:
            seconds = self.measured.setdefault(point, [])
            seconds.append(result)
            self.times[point] = median(seconds)

    def save(self, path: Path) -> None:
        """Write it compressed, the points in order; the same content gives the same bytes."""
        results: Mapping[Point, float | str] = {**self.failures, **self.times}
        text = self.header() + "".join(self.line(point, results[point]) for point in sorted(results))
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def numbers_of(choices: Array, sizes: Sequence[int]) -> Array:
    """A number for each row of choices: its place when all are counted, the last knob fastest.

    Example:
        >>> numbers_of(np.array([[0, 1], [2, 0]]), (3, 2)).tolist()
        [1, 4]
    """
    number = np.zeros(len(choices), np.int64)
    for column, size in enumerate(sizes):
        number = number * size + choices[:, column]
    return number


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _lines(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            yield from file
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise LogError(f"{path} cannot be read as a recorded space: {error}") from None

"""What was measured, in a file: by machine and row, written anew after each step, so that an interrupted suite goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.suite.contest import LIBRARIES, OURS, Contest, Settings
from benchmarks.suite.intervals import Interval, ratio_interval
from benchmarks.suite.table import BEST, ROWS, Bar, Row

# A library that was so many times as slow as the fastest is not measured again in the same version.
FAR = 1.5

Json = dict[str, Any]


class OtherSettings(ValueError):
    """The file was made with other settings."""


class Results:
    """The file of results, and this machine's part of it.

    Args:
        path: where it is, or will be.
        machine: the machine's name.
        settings: how it is measured; None: as the file says, to read it.

    Raises:
        OtherSettings: what is there was made with other settings.
    """

    def __init__(self, path: Path, machine: str, settings: Settings | None = None) -> None:
        self.path = path
        self.data: Json = {"settings": asdict(settings or Settings()), "machines": {}}
        if path.exists():
            self.data = json.loads(path.read_text())
            if settings is not None and self.data["settings"] != asdict(settings):
                made = ", ".join(f"{name} {value:g}" for name, value in self.data["settings"].items())
                raise OtherSettings(
                    f"{path} was made with other settings ({made}); name another file by --out"
                )
        self.machine = machine
        if settings is not None:
            self.data["machines"].setdefault(machine, {"facts": {}, "rows": {}})

    def here(self) -> Json:
        """This machine's part: ``facts``, and ``rows`` by name."""
        found: Json = self.data["machines"].get(self.machine, {"facts": {}, "rows": {}})
        return found

    def step(self, row: Row, name: str, again: bool, do: Callable[[], Json]) -> Json:
        """A step of a row: as it is known of the same formula, if it is not wanted again; otherwise done, and written down."""
        key = row.work().key
        rows = self.here()["rows"]
        if rows.get(row.name, {}).get("key") != key:
            rows[row.name] = {"key": key}
        if again or name not in rows[row.name]:
            rows[row.name][name] = do()
            self.save()
        found: Json = rows[row.name][name]
        return found

    def save(self) -> None:
        """Replace the file at once, so that it is whole whenever the process ends."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(self.text())
        temporary.replace(self.path)

    def text(self) -> str:
        """All of it as JSON, with what is said of the rows today."""
        for part in self.data["machines"].values():
            for row in (row for row in ROWS if row.name in part["rows"]):
                part["rows"][row.name]["note"] = row.note
        return json.dumps(self.data, indent=1) + "\n"

    def far(self, row: Row, versions: dict[str, str], peers: str) -> dict[str, Json]:
        """The libraries that were far behind on this row, in the versions and by the ways that are here now, with what is known
        of them."""
        known = self.here()["rows"].get(row.name, {}).get("measured")
        if known is None or known.get("peers") != peers:
            return {}
        times = {name: entry["median"] for name, entry in known["contenders"].items() if name in LIBRARIES}
        limit = FAR * min(times.values(), default=0.0)
        return {
            name: known["contenders"][name]
            for name, seconds in times.items()
            if seconds > limit and known["contenders"][name].get("release") == versions.get(name)
        }


def measured(
    contest: Contest, kept: dict[str, Json], versions: dict[str, str], peers: str, date: str
) -> Json:
    """A contest as it is written down, with what was kept of libraries that took no part."""
    contenders: Json = {}
    for name, runs in contest.runs.items():
        contenders[name] = {
            **contest.facts.get(name, {}),
            "release": versions.get(name),
            "date": date,
            "median": median(runs),
            "minimum": contest.least[name],
            "runs": runs,
        }
    return {
        "date": date,
        "peers": peers,
        "busy": contest.busy,
        "contenders": contenders | {name: {**entry, "kept": True} for name, entry in kept.items()},
        "outside": {name: facts for name, facts in contest.facts.items() if name not in contest.runs},
        "roofs": contest.roofs,
        "bound": contest.bound,
    }


def best_library(entry: Json) -> str | None:
    """The fastest library of those that took part."""
    times = {
        name: known["median"]
        for name, known in entry["contenders"].items()
        if name in LIBRARIES and "kept" not in known
    }
    return min(times, key=lambda name: times[name], default=None)


def ratio(entry: Json, over: str) -> Interval | None:
    """How many times as fast we are as another, or as the best library; None where that was not measured."""
    name = best_library(entry) if over == BEST else over
    known = entry["contenders"]
    if name is None or name not in known or "kept" in known[name] or OURS not in known:
        return None
    return ratio_interval(known[name]["runs"], known[OURS]["runs"])


def judged(row: Row, entry: Json) -> Iterator[tuple[Bar, Interval | None]]:
    """The bars of a row with the ratios that they are about."""
    for bar in row.bars:
        yield bar, ratio(entry, bar.over)


def share_of_limit(entry: Json) -> float | None:
    """The part of what the machine can do at most: the median over runs of the least time over ours."""
    if OURS not in entry["contenders"] or None in entry["roofs"]:
        return None
    return median(
        roof / seconds
        for roof, seconds in zip(entry["roofs"], entry["contenders"][OURS]["runs"], strict=True)
    )

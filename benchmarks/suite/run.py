"""The suite, row by row: tune, let everyone take part, write down."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

import loopwright as lw
from benchmarks.suite import page
from benchmarks.suite.contest import LIBRARIES, Settings, measure
from benchmarks.suite.inventory import ways
from benchmarks.suite.results import Json, Results, measured
from benchmarks.suite.table import TUNER, Row
from loopwright.sched.runtime.target import Target

Say = Callable[[str], None]


def tune(row: Row, target: Target, log: Path, minutes: float) -> Json:
    """Tune for so long; returns what it took."""
    start = time.monotonic()
    result = lw.tune(row.work(), target, minutes=minutes, log=log)
    return {
        "log": str(log),
        "minutes": minutes,
        "seconds": time.monotonic() - start,
        "trials": result.measured,
        "failures": sum(result.failures.values()),
    }


class Suite:
    """What the rows are measured with.

    Args:
        results: where they are written down.
        target: what our kernels are built for; everyone has as many threads as it has cores.
        log: our tuning log.
        python: the interpreter of the libraries' processes.
        versions: the libraries that are there, and their versions.
        settings: how long.
        without: who need not take part.
        say: told what happens.
    """

    def __init__(
        self,
        results: Results,
        target: Target,
        log: Path,
        python: str,
        versions: Mapping[str, str],
        settings: Settings,
        without: Sequence[str],
        say: Say,
    ) -> None:
        self.results, self.target, self.log, self.python = results, target, log, python
        self.versions, self.settings, self.say = dict(versions), settings, say
        self.ways = ways()
        self.without = {*without, *(name for name in LIBRARIES if name not in versions)}

    def row(self, row: Row, again: bool) -> Json:
        """Measure a row, unless that was done in today's ways and is not wanted again; returns what is known of it."""
        known = self.results.here()["rows"].get(row.name, {})
        tuned = known.get("tuned", {})
        fresh = tuned.get("log") != str(self.log) or tuned.get("minutes") != self.settings.minutes
        self.results.step(row, "tuned", fresh, lambda: self._tune(row))
        again |= fresh or known.get("measured", {}).get("peers") != self.ways
        return self.results.step(row, "measured", again, lambda: self._measure(row))

    def _tune(self, row: Row) -> Json:
        self.say(f"{row.name}: tuning for {self.settings.minutes:g} minutes")
        return tune(row, self.target, self.log, self.settings.minutes)

    def _measure(self, row: Row) -> Json:
        kept = self.results.far(row, self.versions, self.ways)
        with tempfile.TemporaryDirectory() as folder:
            contest = measure(
                row,
                self.target,
                self.log,
                self.python,
                self.results.path.parent / TUNER,
                Path(folder),
                self.settings,
                sorted({*self.without, *kept}),
                self.say,
            )
        return measured(contest, kept, self.versions, self.ways, date.today().isoformat())


def line(row: Row, entry: Json) -> str:
    """A row for the terminal."""
    name, us, share, bound, best, theirs, over, bar, met, others = page.cells(row, entry)
    text = f"{name:32}{us:>9} us  " + (f"{share:>4} of {bound:14}" if share else " " * 22)
    if best:
        text += (
            f"  {best:16}{theirs:>9} us  {over:18} bar {bar:5}{'NOT MET' if met == 'no' else f'met {met}'}"
        )
    return f"{text}  {others}".rstrip()

"""The tuner's events, counted for the display and for the table at the end."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loopwright.autotune.events import Event, Finished, Improved, Noisy, Planned, Started, Tried
from loopwright.autotune.lookup import bytes_text, memory_text, seconds_text
from loopwright.cli.display import Progressing, view
from loopwright.cli.tables import causes_text, count, duration

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload


@dataclass
class Tally:
    """One workload: how many records the log has of it, what failed in this run, and the best time known."""

    trials: int = 0
    measured: int = 0
    wanted: int | None = None
    failures: Counter[str] = field(default_factory=Counter)
    best: float | None = None


class Watch:
    """Takes the events of a run; a context manager, which shows the display while it is open.

    Args:
        minutes: how long the whole run may take; None: as long as its trials need.
        workloads: how many there are.
    """

    def __init__(self, minutes: float | None, workloads: int) -> None:
        self._progress = Progressing(seconds=60 * minutes if minutes is not None else None)
        self._view = view(self._progress, sys.stdout)
        self._workloads = workloads
        self._tallies: dict[str, Tally] = {}
        self._warned = False

    def __enter__(self) -> Watch:
        self._view.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._view.__exit__(*error)

    def __call__(self, event: Event) -> None:
        """Take an event."""
        tally = self._tallies.setdefault(event.workload, Tally())
        match event:
            case Started():
                self._start(event, tally)
            case Planned():
                self._progress.label = self._place(event.workload)
                self._progress.best = tally.best
            case Tried():
                self._try(event, tally)
            case Improved():
                self._improve(event, tally)
            case Noisy():
                self._warn(event)
            case Finished():
                self._finish(event, tally)
        self._view.refresh()

    def tally(self, work: Workload) -> Tally:
        """What is known of a workload."""
        return self._tallies.setdefault(str(work), Tally())

    def summary(self) -> str:
        """The run in one line."""
        done = self._progress
        rate = f" ({done.done / done.elapsed:.1f} a second)" if done.done and done.elapsed >= 1 else ""
        failed = f"; failed: {causes_text(done.failures)}" if done.failures else ""
        if not done.done:
            return "no trials were needed"
        return f"{count(done.done, 'trial')} in {duration(done.elapsed)}{rate}{failed}"

    def _start(self, event: Started, tally: Tally) -> None:
        if len(self._tallies) == 1:
            self._progress.begin()
        first = not tally.trials and not tally.measured
        if first:
            tally.trials = event.have
            if event.wanted is not None:
                tally.wanted = event.wanted
                self._progress.trials = sum(t.wanted or 0 for t in self._tallies.values())
        self._progress.label = self._place(event.workload)
        if first and self._workloads == 1:
            has = f"the log has {count(event.have, 'trial')}; " if event.have else ""
            todo = (
                count(event.wanted, "trial") + " to go"
                if event.wanted is not None
                else "as many as time allows"
            )
            self._view.say(f"tuning {event.workload} for {event.target}")
            sketches = count(len(event.sketches), "sketch", "sketches")
            self._view.say(f"{has}{todo}, in a space of {event.space_size:,} schedules from {sketches}")

    def _try(self, event: Tried, tally: Tally) -> None:
        tally.trials += 1
        tally.measured += 1
        self._progress.done += 1
        if not event.record.ok:
            cause = event.record.cause or "unknown"
            tally.failures[cause] += 1
            self._progress.failures[cause] += 1

    def _improve(self, event: Improved, tally: Tally) -> None:
        joins = event.objective == "both" and tally.best is not None  # which does not make it the fastest
        tally.best = min(tally.best or 0.0, event.seconds) if joins else event.seconds
        self._progress.best = tally.best
        if self._workloads == 1:
            when = duration(self._progress.elapsed)
            number = f"trial {event.record.trial}" if event.record.trial is not None else "a trial"
            self._view.say(f"{when:>9}  {number} {_news(event)}")

    def _warn(self, event: Noisy) -> None:
        """Say once that the machine is busy; how often it is, is of no use to anybody."""
        if not self._warned:
            self._warned = True
            self._view.say(
                f"{duration(self._progress.elapsed):>9}  the machine is busy: the same kernel took {event.spread:.1f} times as "
                "long in one race as in another; times are less certain"
            )

    def _finish(self, event: Finished, tally: Tally) -> None:
        best = event.result.best
        if best is not None:
            tally.best = best.seconds
        if self._workloads > 1:
            time = seconds_text(tally.best) if tally.best is not None else "no verified time"
            self._view.say(
                f"{duration(self._progress.elapsed):>9}  {event.workload}: {time}, {count(tally.trials, 'trial')}"
            )

    def _place(self, workload: str) -> str:
        """The workload in the display; with several, which of them it is."""
        if self._workloads == 1:
            return ""
        return f"{list(self._tallies).index(workload) + 1}/{self._workloads} {workload}"


def _news(event: Improved) -> str:
    """What is new about a trial that is the best now, or joins the front."""
    takes = seconds_text(event.seconds)
    if event.objective == "both":
        return f"joins the front: {takes} with {memory_text(event.record.peak_bytes)}"
    if event.objective == "memory":
        was = f", was {bytes_text(round(event.figure_before))}" if event.figure_before is not None else ""
        return f"takes {takes} with {memory_text(event.record.peak_bytes)}{was}"
    return f"takes {takes}" + (f", was {seconds_text(event.before)}" if event.before is not None else "")

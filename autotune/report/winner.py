"""The schedule of the best trial, in words: its loops where the workload is at hand, and its directives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loopwright.autotune.front import OBJECTIVES, chosen, timed
from loopwright.autotune.lookup import memory_text, seconds_text
from loopwright.autotune.record import Record
from loopwright.autotune.replay import schedule_of
from loopwright.autotune.report.history import History, Trial
from loopwright.autotune.report.nest import nest_html
from loopwright.sched.errors import LogError
from loopwright.sched.language.workload import Workload


@dataclass(frozen=True)
class Winner:
    """What the report says of a schedule: its knobs, loops (as HTML, or nothing), directives, and where it comes from."""

    chosen: list[tuple[str, str]]
    nest: Any
    code: str
    note: str


def winner(history: History, work: Workload | None, markup: Callable[[str], Any]) -> Winner | None:
    """The best schedule of a workload; None if none was verified and timed on all cores."""
    best = history.best
    if best is None:
        return None
    record = best.record
    chosen = [(name, str(value)) for name, value in record.chosen.items()]
    note = _note(best, record) + _sought(history)
    if work is None:
        return Winner(chosen, "", _directives(record.schedule), note)
    try:
        schedule = schedule_of(record, work)
    except LogError as error:
        return Winner(chosen, "", _directives(record.schedule), f"{note}; {error}")
    return Winner(chosen, markup(nest_html(str(schedule))), schedule.to_python(), note)


def _note(best: Trial, record: Record) -> str:
    """Which trial it is, by the number that the log has for it."""
    number = best.number if record.trial is None else record.trial
    where = "the automatic space" if record.space == "auto" else f"the space {record.space[:12]}"
    parts = [f"trial {number} of {where}", seconds_text(record.seconds or 0.0)]
    if record.spread is not None:
        parts.append(f"its best samples within {record.spread:.1%}")
    if record.peak_bytes is not None:
        parts.append(memory_text(record.peak_bytes))
    return ", ".join(parts)


def _sought(history: History) -> str:
    """What was searched for beside time, and what came of that."""
    records = [trial.record for trial in history.trials]
    others = sorted({record.objective for record in records} - {"time"})
    if not others:
        return ""
    small, both = (chosen(timed(records), objective) for objective in OBJECTIVES[1:])
    smallest = f"{seconds_text(small[0].seconds or 0.0)} with {memory_text(small[0].peak_bytes)}"
    return f"; searched for {', '.join(others)}: the front has {len(both)}, the smallest at most twice as slow takes {smallest}"


def _directives(schedule: Any) -> str:
    """The directives of a schedule's JSON form, one a line, without knowing what they mean."""
    listed = schedule.get("directives", schedule) if isinstance(schedule, dict) else schedule
    if not isinstance(listed, list):
        return str(listed)
    return "\n".join(map(_directive, listed)) or "none"


def _directive(item: Any) -> str:
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict):
        return f"{item[0]}({', '.join(f'{name}={value!r}' for name, value in item[1].items())})"
    return repr(item)

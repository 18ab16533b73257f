"""The report: one HTML file that needs nothing beside it, and reads on a phone as on a desk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from loopwright.autotune.log_read import Snapshot, read_log
from loopwright.autotune.lookup import seconds_text
from loopwright.autotune.record import Record, timestamp
from loopwright.autotune.replay import schedule_of
from loopwright.autotune.report import charts
from loopwright.autotune.report.history import History, Trial, histories
from loopwright.autotune.report.labels import short_labels
from loopwright.sched.errors import LogError
from loopwright.sched.language.workload import Workload

OPEN_SECTIONS = 4
"""So many workloads are shown unfolded."""

FindWorkload = Callable[[Record], "Workload | None"]


@dataclass(frozen=True)
class Winner:
    """The schedule of the best trial, in words: loops where the workload is at hand, else the directives alone."""

    chosen: list[tuple[str, str]]
    nest: str
    code: str
    note: str


def render(log: str | os.PathLike[str], find: FindWorkload = lambda record: None) -> str:
    """Return the report on a log as HTML.

    Args:
        log: the path of the log.
        find: gives the workload of a record, if it knows it: then the loops of the winning schedules are shown. A
            record names its operator and arguments, but does not hold the formula.

    Errors:
        LogError: there is no such file, it cannot be read, it is no tuning log, or it has no records.
    """
    snapshot = read_log(log)
    records = [entry.record for entry in snapshot.entries()]
    if not records:
        snapshot.require_log()
        raise LogError(f"{snapshot.path} has no records yet; there is nothing to report")
    found = histories(records)
    labels, shared = short_labels([(history.first.name, history.first.args) for history in found])
    return _template().render(
        log=Path(log).name,
        made=timestamp(),
        facts=_facts(records, found, snapshot),
        rows=[
            _row(number, label, history)
            for number, (label, history) in enumerate(zip(labels, found, strict=True))
        ],
        shared=shared,
        sections=[_section(number, history, find) for number, history in enumerate(found)],
    )


def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    text = (files("loopwright.autotune.report") / "page.html.j2").read_text(encoding="utf-8")
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(text)


def _facts(records: Sequence[Record], found: Sequence[History], snapshot: Snapshot) -> list[tuple[str, str]]:
    failed = sum(1 for record in records if not record.ok)
    times = sorted(record.time for record in records if record.time)
    versions = {f"{name} {version}" for record in records for name, version in record.versions.items()}
    facts = [
        ("workloads", str(len(found))),
        ("trials", f"{len(records)}, of which {failed} failed"),
        ("targets", "; ".join(sorted({history.target for history in found}))),
        ("devices", "; ".join(sorted({record.device for record in records if record.device}))),
        ("versions", ", ".join(sorted(versions))),
        (
            "recorded",
            f"{times[0][:16].replace('T', ' ')} to {times[-1][:16].replace('T', ' ')}" if times else "",
        ),
    ]
    if snapshot.problems:
        facts.append(("bad lines", f"{len(snapshot.problems)}, skipped; loopwright log check lists them"))
    return [(name, text) for name, text in facts if text]


def _row(number: int, label: str, history: History) -> dict[str, Any]:
    best, steps = history.best, history.best_so_far()
    gain = steps[0][1] / steps[-1][1] if steps else None
    return {
        "anchor": f"w{number}",
        "label": label,
        "target": history.target,
        "trials": len(history.trials),
        "failed": sum(history.failures.values()),
        "best": seconds_text(best.record.seconds) if best and best.record.seconds else "none",
        "found": f"trial {_trial(best)}" if best else "",
        "gain": f"{gain:.2f}" if gain else "",
        "minutes": f"{history.minutes:.1f}",
    }


def _section(number: int, history: History, find: FindWorkload) -> dict[str, Any]:
    return {
        "anchor": f"w{number}",
        "label": history.label,
        "target": history.target,
        "key": history.first.workload,
        "open": number < OPEN_SECTIONS,
        "charts": charts.charts_of(history),
        "winner": _winner(history, find),
        "messages": _messages(history),
    }


def _messages(history: History) -> list[tuple[str, int, str]]:
    """For each cause of failure, how often, and the last message."""
    last = {t.record.cause: t.record.message or "" for t in history.trials if not t.record.ok}
    return [(cause, count, last.get(cause, "")) for cause, count in history.failures.most_common()]


def _trial(best: Trial) -> int:
    """The number that the log, and whoever builds from it, has for a trial."""
    return best.number if best.record.trial is None else best.record.trial


def _winner(history: History, find: FindWorkload) -> Winner | None:
    best = history.best
    if best is None:
        return None
    record = best.record
    chosen = [(name, str(value)) for name, value in record.chosen.items()]
    note = f"trial {_trial(best)}, {seconds_text(record.seconds or 0.0)}, space {record.space[:12]}"
    work = find(record)
    if work is None or work.key != record.workload:
        return Winner(chosen, "", _directives(record.schedule), note)
    try:
        schedule = schedule_of(record, work)
        return Winner(chosen, str(schedule), schedule.to_python(), note)
    except LogError as error:
        return Winner(chosen, "", _directives(record.schedule), f"{note}; {error}")


def _directives(schedule: Any) -> str:
    """The directives of a schedule's JSON form, one a line, without knowing what they mean."""
    listed = schedule.get("directives", schedule) if isinstance(schedule, dict) else schedule
    if not isinstance(listed, list):
        return str(listed)
    return "\n".join(_directive(item) for item in listed)


def _directive(item: Any) -> str:
    if isinstance(item, dict):
        parts = dict(item)
        kind = parts.pop("kind", "")
        parts = {**parts.pop("args", {}), **parts} if isinstance(parts.get("args"), dict) else parts
        return f"{kind}({', '.join(f'{name}={value!r}' for name, value in parts.items())})"
    if isinstance(item, list) and item and isinstance(item[0], str):
        return f"{item[0]}({', '.join(map(repr, item[1:]))})"
    return repr(item)

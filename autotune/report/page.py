"""The report: one HTML file that needs nothing beside it, and reads on a phone as on a desk."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from math import exp, log
from typing import Any

from loopwright.autotune.lookup import seconds_text
from loopwright.autotune.record import timestamp
from loopwright.autotune.report.chart import Chart, Plot
from loopwright.autotune.report.charts import charts_of
from loopwright.autotune.report.contents import Contents
from loopwright.autotune.report.history import History
from loopwright.autotune.report.palette import DARK, LIGHT
from loopwright.autotune.report.svg import svg, swatches
from loopwright.autotune.report.tuned import Tuned
from loopwright.autotune.report.winner import winner
from loopwright.sched.runtime.versions import versions

OPEN_SECTIONS = 4
"""So many workloads are shown unfolded."""

NONE = "-"
"""Where there is no figure."""


def page(found: Contents) -> str:
    """The report as HTML.

    Example::

        Path("report.html").write_text(page(contents("tuned.jsonl")), encoding="utf-8")
    """
    targets = {tuned.history.target for tuned in found.tuned}
    rows = [_row(tuned, several=len(targets) > 1) for tuned in found.tuned]
    return _template().render(
        log=found.path.name,
        made=timestamp()[:16].replace("T", " "),
        version=versions().get("loopwright", ""),
        light=LIGHT,
        dark=DARK,
        style=_markup(_file("style.css")),
        lead=_lead(found),
        facts=_facts(found),
        columns=["workload", *(name for name, _ in rows[0]["cells"])],
        rows=rows,
        notes=_notes(found),
        overview=[_figure(chart) for chart in found.overview],
        sections=[_section(tuned) for tuned in found.tuned],
        with_roofs=any(tuned.roofs for tuned in found.tuned),
    )


def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(_file("page.html.j2"))


def _file(name: str) -> str:
    return (files("loopwright.autotune.report") / name).read_text(encoding="utf-8")


def _markup(html: str) -> Any:
    """Text that is HTML already: it is not escaped again."""
    from markupsafe import Markup

    return Markup(html)


# --- the head -------------------------------------------------------------------------------------------------------


def _lead(found: Contents) -> str:
    """The report in two sentences."""
    count, failed = len(found.records), sum(1 for record in found.records if not record.ok)
    devices = sorted({record.device for record in found.records if record.device})
    text = _counted(len(found.tuned), "workload") + " tuned"
    text += f" on {' and '.join(devices)}" if devices else ""
    seconds = sum(tuned.history.seconds for tuned in found.tuned)
    text += f" in {_duration(seconds)}" if seconds else ""
    text += f": {_counted(count, 'trial')}; {failed or 'none'} failed."
    gains = [tuned.gain for tuned in found.tuned if tuned.gain]
    if not gains:
        return text
    if max(gains) < 1.005:
        return f"{text} No schedule that was found is faster than the default one."
    if len(found.tuned) == 1:
        return f"{text} The best schedule is {gains[0]:.2f} times as fast as the default one."
    mean = exp(sum(map(log, gains)) / len(gains))
    return f"{text} The best schedules are {mean:.2f} times as fast as the default ones, in the geometric mean of {len(gains)}."


def _facts(found: Contents) -> list[tuple[str, str]]:
    records = found.records
    packages = {f"{name} {version}" for record in records for name, version in record.versions.items()}
    caches = {record.cold for record in records}
    facts = [
        ("device", "; ".join(sorted({record.device for record in records if record.device}))),
        ("target", "; ".join(sorted({tuned.history.target for tuned in found.tuned}))),
        ("versions", ", ".join(sorted(packages))),
        ("recorded, UTC", _span([record.time for record in records if record.time])),
        (
            "caches",
            "emptied before each timed call"
            if caches == {True}
            else "some trials with empty caches"
            if True in caches
            else "warm",
        ),
        ("lines of the log that are no records", str(found.bad_lines) if found.bad_lines else ""),
    ]
    return [(name, text) for name, text in facts if text]


def _span(times: list[str]) -> str:
    """From when to when, to the minute."""
    if not times:
        return ""
    first, last = (time[:16].replace("T", " ") for time in (min(times), max(times)))
    return first if first == last else f"{first} to {last[11:] if last[:10] == first[:10] else last}"


# --- the table ------------------------------------------------------------------------------------------------------


def _row(tuned: Tuned, several: bool) -> dict[str, Any]:
    """A row of the table; with ``several`` targets, each says its own."""
    history = tuned.history
    cells = [
        ("default", _time(tuned.default)),
        ("best", _time(tuned.best)),
        ("gain", _gain(tuned)),
        ("GFLOP/s", f"{tuned.rate / 1e9:.3g}" if tuned.rate else NONE),
        ("of roof", _percent(tuned.share_of_roof)),
        ("trials", str(len(history.trials))),
        ("failed", str(sum(history.failures.values()))),
        ("tuning", _duration(history.seconds) if history.seconds else NONE),
    ]
    if several:
        cells.append(("target", history.target))
    return {"number": tuned.number, "label": tuned.label, "cells": cells}


def _gain(tuned: Tuned) -> str:
    if tuned.gain:
        return f"{tuned.gain:.2f}"
    return f"{tuned.gain_on_one_core:.2f}*" if tuned.gain_on_one_core else NONE


def _percent(share: float | None) -> str:
    if not share:
        return NONE
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.2g}%"


def _time(seconds: float | None) -> str:
    return seconds_text(seconds) if seconds else NONE


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _notes(found: Contents) -> Iterator[str]:
    """Below the table: what its rows leave out, and why there are gaps."""
    for text in found.shared:
        yield f"All of {text}."
    if any(tuned.label != tuned.history.label for tuned in found.tuned):
        yield "Arguments with their usual values are left out; each workload's section has them all."
    if any(tuned.gain is None and tuned.gain_on_one_core for tuned in found.tuned):
        yield "* on one core: the log has no time of the default schedule on all cores."
    unknown = sorted({tuned.history.first.name or "workload" for tuned in found.tuned if tuned.work is None})
    if unknown:
        yield (
            f"The log does not hold the formula of {', '.join(unknown)}, so it is not known how much is computed; "
            "loopwright report --operator FILE.py:NAME says where it is defined."
        )
    if found.no_roofs:
        yield f"The limits of the machine are not known: {'; '.join(found.no_roofs)}."


# --- charts and sections --------------------------------------------------------------------------------------------


def _figure(chart: Chart) -> dict[str, Any]:
    if isinstance(chart, Plot):
        legend = [(_markup(picture), words) for picture, words in swatches(chart.series)]
        plain: dict[str, Any] = {"svg": _markup(svg(chart)), "rows": (), "wide": False}
    else:
        legend = [(_markup(f'<i class="swatch {kind}"></i>'), words) for kind, words in chart.legend]
        words = dict(chart.legend)
        rows = [(name, [(bar, words.get(bar.kind, "")) for bar in bars]) for name, bars in chart.rows]
        plain = {"svg": "", "rows": rows, "wide": chart.wide}
    return {"heading": chart.heading, "legend": legend, "remark": chart.remark, **plain}


def _section(tuned: Tuned) -> dict[str, Any]:
    history = tuned.history
    about = [history.label, history.target, f"key {history.first.workload[:12]}"]
    if tuned.demand is not None:
        about.append(
            f"{tuned.demand.operations:,} operations on {tuned.demand.bytes:,} bytes of inputs and outputs, "
            f"{tuned.demand.intensity:.3g} a byte"
        )
    return {
        "number": tuned.number,
        "label": tuned.label,
        "about": " · ".join(about),
        "open": tuned.number <= OPEN_SECTIONS,
        "charts": [_figure(chart) for chart in charts_of(history)],
        "winner": winner(history, tuned.work, _markup),
        "messages": _messages(history),
    }


def _messages(history: History) -> list[tuple[str, int, str]]:
    """For each cause of failure, how often, and the last message."""
    last = {t.record.cause: t.record.message or "" for t in history.trials if not t.record.ok}
    return [(cause, count, last.get(cause, "")) for cause, count in history.failures.most_common()]

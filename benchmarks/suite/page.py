"""The results as a page of the documentation: what it says is computed from the file of results, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import geometric_mean, median

from benchmarks.suite.contest import NAMES, OURS
from benchmarks.suite.intervals import Interval
from benchmarks.suite.results import Json, best_library, judged, ratio, share_of_limit
from benchmarks.suite.table import BEST, LEAST_MEAN, ROWS, Row
from loopwright.cli.tables import markdown_table

# A machine of which other programs take less is quiet.
QUIET = 0.1
HEAD = """\
# Beside other libraries

Each row is tuned for {minutes:g} min, then timed beside NumPy, PyTorch, JAX, ONNX Runtime, OpenCV, Halide and MetaSchedule:
the same arrays and threads, each in a process of its own, which take turns for {runs} runs of {burst:g} s. A run counts by the
median of its calls. A ratio is how many times as fast Loopwright is, with its 95% interval over the runs; a bar is met if the
interval reaches it; where none does, a note says what the profile shows and what was tried. Weights are packed beforehand by
whoever can, and each library's fastest way of computing the row is the one that is timed: PyTorch's operations as they are, or
what its compiler makes of them. *Of limit* is the part of what the machine can do at most, measured in the same runs: its
arithmetic, or the bandwidth of where the row's data lie.
"""

HOW = """
This page is written by `make bench ARGS="--markdown docs/benchmarks.md --plot docs/benchmarks.png"` from what was measured.
A part of it, quickly, to see that it works: `make bench ARGS="--only softmax --quick"`. What to install is said in
[benchmarks/suite](../benchmarks/suite/__init__.py).
"""


def page(data: Json) -> str:
    """The whole page: a section for each machine, and the picture that was drawn last, which stands beside the page."""
    parts = [HEAD.format(**data["settings"])]
    machines = {name: part for name, part in data["machines"].items() if measured_rows(part)}
    if not machines:
        parts.append("No row has been measured yet.\n")
    for name, part in machines.items():
        parts.append(_machine(name, part))
    if machines and "picture" in data:
        parts.append(f"![Loopwright over the best library, row by row]({data['picture']})\n")
    return "\n".join(parts) + HOW


def measured_rows(part: Json) -> list[tuple[Row, Json]]:
    """The rows that have been measured, in their order."""
    return [
        (row, part["rows"][row.name]["measured"])
        for row in ROWS
        if "measured" in part["rows"].get(row.name, {})
    ]


def _machine(name: str, part: Json) -> str:
    found = measured_rows(part)
    lines = [f"## {name}", ""]
    lines += [f"- {title}: {text}" for title, text in part["facts"].items()]
    lines += ["", _table(found), "", *summary(found), "", "### Times in microseconds", "", _times(found)]
    notes = _notes(found)
    return "\n".join([*lines, "", *notes, ""] if notes else [*lines, ""])


def _table(found: Sequence[tuple[Row, Json]]) -> str:
    headers = [
        "row",
        "us",
        "of limit",
        "limit",
        "best library",
        "us",
        "ratio",
        "bar",
        "met",
        "other bars",
        "note",
    ]
    return markdown_table(headers, [_line(row, entry) for row, entry in found], ["row", "best library"])


def _line(row: Row, entry: Json) -> list[str]:
    found = cells(row, entry)
    missed = any(over is not None and _verdict(over, bar.least) == "no" for bar, over in judged(row, entry))
    return [*(cell if cell != "no" else "**no**" for cell in found), row.note if missed else ""]


def cells(row: Row, entry: Json) -> list[str]:
    """A measured row as texts: as the columns of the table are, up to the note."""
    share, best, over = share_of_limit(entry), best_library(entry), ratio(entry, BEST)
    found = [row.name, micros(entry["contenders"][OURS]["median"])]
    found += ["" if share is None else f"{share:.0%}", entry["bound"] or ""]
    found += ["", ""] if best is None else [NAMES[best], micros(entry["contenders"][best]["median"])]
    found += ["" if over is None else str(over), f"{row.least:g}"]
    found += ["" if over is None else _verdict(over, row.least)]
    others = [
        f"{NAMES[bar.over]} {bar.least:g}: "
        + ("not measured" if each is None else f"{each}, {_verdict(each, bar.least)}")
        for bar, each in judged(row, entry)
        if bar.over != BEST
    ]
    return [*found, "; ".join(others)]


def _verdict(over: Interval, bar: float) -> str:
    """Whether a bar is met: by the ratio itself, or by its interval alone, which is wide where the machine is not quiet."""
    return "yes" if over.middle >= bar else "by its interval" if over.reaches(bar) else "no"


def micros(seconds: float) -> str:
    """A time in microseconds, to four digits or so.

    >>> micros(1.23456e-5), micros(0.0123456)
    ('12.3', '12346')
    """
    value = seconds * 1e6
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def summary(found: Sequence[tuple[Row, Json]]) -> list[str]:
    """How many bars are met, and the geometric mean of the rows in float32."""
    verdicts = Counter(
        "not measured" if over is None else _verdict(over, bar.least)
        for row, entry in found
        for bar, over in judged(row, entry)
    )
    met = verdicts["yes"] + verdicts["by its interval"]
    lines = [
        f"Rows measured: {len(found)} of {len(ROWS)}. Bars met: {met}, of these by their interval alone:"
        f" {verdicts['by its interval']}; not met: {verdicts['no']}; not measured: {verdicts['not measured']}."
    ]
    ratios = [over.middle for row, entry in found if row.float32 and (over := ratio(entry, BEST)) is not None]
    if ratios:
        count = sum(row.float32 for row in ROWS)
        mean = geometric_mean(ratios)
        lines.append(
            f"Geometric mean over the best library: {mean:.2f}, of {len(ratios)} of the {count} float32 rows"
            f" (bar, over all of them: {LEAST_MEAN:g})."
        )
    return lines


def _times(found: Sequence[tuple[Row, Json]]) -> str:
    """Everyone's median, with the range of the runs' medians, and the fastest call."""
    headers = ["row", *NAMES.values()]
    lines = []
    for row, entry in found:
        lines.append([row.name, *(_time(entry["contenders"].get(name)) for name in NAMES)])
    return markdown_table(headers, lines, ["row"])


def _time(known: Json | None) -> str:
    if known is None:
        return ""
    runs = known["runs"]
    text = f"{micros(known['median'])} ({micros(min(runs))}-{micros(max(runs))}; least {micros(known['minimum'])})"
    return f"{text} of {known['date']}" if "kept" in known else text


def _notes(found: Sequence[tuple[Row, Json]]) -> list[str]:
    """Which way a library chose, and which were wrong or failed."""
    lines = []
    for row, entry in found:
        if (busy := median(entry["busy"])) > QUIET:
            lines.append(
                f"- {row.name}: other programs took {busy:.0%} of the machine: the ratios are uncertain"
            )
        for name, known in {**entry["contenders"], **entry["outside"]}.items():
            said = [f"by *{known['way']}*"] if "way" in known else []
            said += [known["provenance"]] if not known.get("tuned", True) else []
            said += [f"*{way}* was not timed: {why}" for way, why in known.get("refused", {}).items()]
            said += [f"{known['failed']}"] if "failed" in known else []
            if said:
                lines.append(f"- {row.name}, {NAMES[name]}: {'; '.join(said)}")
    return ["### What was timed", "", *lines] if lines else []

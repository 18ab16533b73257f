"""Comparisons as a table, for a terminal and for a readme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from loopwright.autotune.report.labels import short_labels
from loopwright.bench.compare import Comparison, overall, spread
from loopwright.cli.tables import markdown_table, table

_LEFT = ("name", "workload", "where")


def plain(facts: Mapping[str, str], comparisons: Sequence[Comparison]) -> str:
    """Everything, as aligned text."""
    lines = [f"{name + ':':10}{text}" for name, text in facts.items()]
    headers, rows = cells(comparisons)
    return "\n".join([*lines, "", table(headers, rows, _LEFT), "", *summary(comparisons)])


def markdown(facts: Mapping[str, str], comparisons: Sequence[Comparison]) -> str:
    """Everything, as Markdown."""
    headers, rows = cells(comparisons, places=True)
    lines = [f"- {name}: {text}" for name, text in facts.items()]
    return "\n".join([*lines, "", markdown_table(headers, rows, _LEFT), "", *summary(comparisons), ""])


def as_json(facts: Mapping[str, str], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Everything, as plain data, the median of each round included."""
    return {**facts, "numpy_over_tuned": overall(comparisons), "rows": [c.to_json() for c in comparisons]}


def cells(comparisons: Sequence[Comparison], places: bool = False) -> tuple[list[str], list[list[str]]]:
    """Headers and rows; with the places in the network, which are long. A column that no row needs is left out."""
    names = sorted({comparison.numpy_name for comparison in comparisons})
    peer = names[0] if len(names) == 1 else "NumPy"
    shown = "tuned" if any(comparison.tuned for comparison in comparisons) else "default"
    headers = ["name", "workload", "where", "MFLOP", "default us", "tuned us", f"{peer} us", "GFLOP/s"]
    headers += [f"{peer}/{shown}", "quartiles", "default/tuned"]
    labels, _ = short_labels([(c.item.work.name, c.item.work.args) for c in comparisons])
    rows = [
        _row(label, c, shown, places, marked=len(names) > 1)
        for label, c in zip(labels, comparisons, strict=True)
    ]
    empty = [n for n in range(len(headers)) if all(row[n] in ("", "-") for row in rows)]
    for n in reversed(empty):
        headers.pop(n)
        for row in rows:
            row.pop(n)
    return headers, rows


def _row(label: str, comparison: Comparison, shown: str, places: bool, marked: bool) -> list[str]:
    fast = comparison.seconds(comparison.best)
    mark = "*" if marked and comparison.numpy_name == "reference" else ""
    item = comparison.item
    row = [item.name, label, item.where if places else "", f"{comparison.operations / 1e6:.4g}"]
    row += [_microseconds(comparison.seconds("default"))]
    row += [_microseconds(fast) if comparison.tuned else "-"]
    row += [_microseconds(comparison.seconds("numpy")) + mark]
    row += [f"{comparison.operations / fast / 1e9:.1f}" if comparison.operations else "-"]
    if shown != comparison.best:
        return [*row, "-", "-", "-"]
    low, middle, high = spread(comparison.ratios("numpy", shown))
    gain = f"{median(comparison.ratios('default', 'tuned')):.2f}" if comparison.tuned else "-"
    return [*row, f"{middle:.2f}", f"{low:.2f}-{high:.2f}", gain]


def summary(comparisons: Sequence[Comparison]) -> list[str]:
    """What the table comes to, and what a reader of it must know."""
    lines = []
    mean = overall(comparisons)
    tuned = [comparison for comparison in comparisons if comparison.tuned]
    if mean is not None and len(tuned) > 1:
        least = min(median(c.ratios("numpy", "tuned")) for c in tuned)
        lines.append(f"NumPy/tuned: geometric mean {mean:.2f}, least {least:.2f}, of {len(tuned)} workloads")
    lines.append(
        "Times are medians of rounds in which the contenders take turns; a ratio is the median of the rounds' ratios, "
        "with its quartiles; above 1, the kernel is faster. GFLOP/s are of the tuned kernel"
        + (", or lacking it, of the default one." if len(tuned) < len(comparisons) else ".")
    )
    _, shared = short_labels([(c.item.work.name, c.item.work.args) for c in comparisons])
    lines += [f"All of {text}." for text in shared]
    kinds = {comparison.numpy_name for comparison in comparisons}
    if "reference" in kinds:
        which = "where marked *, " if len(kinds) > 1 else ""
        lines.append(
            f"The operator has no NumPy function: {which}the formula was evaluated with NumPy instead."
        )
    return lines


def _microseconds(seconds: float) -> str:
    value = seconds * 1e6
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"

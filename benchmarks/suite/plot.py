"""The results as a picture: each row's ratio over the best library, with its interval and its bar."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.suite.contest import NAMES
from benchmarks.suite.results import Json, best_library, ratio
from benchmarks.suite.table import BEST, ROWS
from loopwright.autotune.report.palette import LIGHT

DOTS_PER_INCH, WIDTH, LINE, EDGE = 160, 7.2, 0.24, 1.0


def drawn(part: Json) -> Any:
    """One machine's rows as a matplotlib figure.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    points = []
    for row in ROWS:
        entry = part["rows"].get(row.name, {}).get("measured", {})
        over = ratio(entry, BEST) if "contenders" in entry else None
        if over is not None:
            points.append((row, over, NAMES[best_library(entry) or ""]))
    figure = Figure((WIDTH, EDGE + LINE * max(1, len(points))), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(points))
    middles = [over.middle for _, over, _ in points]
    reach = (
        [over.middle - over.low for _, over, _ in points],
        [over.high - over.middle for _, over, _ in points],
    )
    axes.errorbar(
        middles, places, xerr=reach, fmt="o", markersize=4, color=LIGHT["best"], label="Loopwright, 95%"
    )
    axes.scatter(
        [row.least for row, _, _ in points], places, marker="|", s=90, color=LIGHT["ink"], label="bar"
    )
    axes.axvline(1.0, color=LIGHT["rule"], zorder=0)
    axes.set_yticks(places, [f"{row.name} / {name}" for row, _, name in points], fontsize=7.5)
    axes.set_ylim(len(points) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel("times as fast as the best library", fontsize=8.5)
    axes.tick_params(axis="x", which="both", labelsize=7.5)
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.xaxis.set_major_formatter("{x:g}")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside lower left", fontsize=8, frameon=False, ncols=2)
    return figure


def save(part: Json, path: Path) -> None:
    """Draw it into a PNG file, which is replaced at once."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        drawn(part).savefig(temporary, format="png", dpi=DOTS_PER_INCH, facecolor="white")
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()

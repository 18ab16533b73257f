"""Charts as pictures, drawn with matplotlib."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from math import atan2, degrees
from pathlib import Path
from typing import Any

from loopwright.autotune.report.chart import Bars, Chart, Plot, Point, Series
from loopwright.autotune.report.contents import Contents
from loopwright.autotune.report.palette import DASHED, LIGHT
from loopwright.autotune.report.svg import scale_of
from loopwright.autotune.report.tuned import Tuned
from loopwright.sched.errors import LogError

DOTS_PER_INCH = 160
WIDTH, HEIGHT = 6.4, 4.2  # in inches
LONGEST_NAME = 60
PLAIN = {"text.parse_math": False}
"""A dollar sign in a name is one."""


def save_all(found: Contents, folder: Path) -> list[Path]:
    """Write every chart of a report into a folder, which is made if it is not there; returns the files.

    Their names begin with the number of the workload in the report, ``03-matmul-best-against-trials.png``; those of charts of all
    workloads with ``all``.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
        LogError: the folder cannot be written.
    """
    from matplotlib import style

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with style.context(["default", PLAIN]):
            return [_save(tuned, chart, folder) for tuned, chart in found.charts()]
    except OSError as error:
        raise LogError(f"{error.filename or folder} cannot be written: {error.strerror}") from None


def _save(tuned: Tuned | None, chart: Chart, folder: Path) -> Path:
    path = folder / f"{_prefix(tuned)}-{chart.name}.png"
    temporary = folder / f".{path.name}.tmp"
    try:
        drawn(chart, tuned.label if tuned is not None else "").savefig(
            temporary, format="png", dpi=DOTS_PER_INCH, facecolor="white"
        )
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
    return path


def _prefix(tuned: Tuned | None) -> str:
    if tuned is None:
        return "all"
    name = re.sub(r"[^A-Za-z0-9_]+", "", tuned.history.first.name)[:40] or "workload"
    return f"{tuned.number:02d}-{name}"


def drawn(chart: Chart, of: str = "") -> Any:
    """The chart as a matplotlib figure; ``of`` says what it is about."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rows = len(chart.rows) if isinstance(chart, Bars) else 0
    size = (WIDTH, 1.1 + 0.45 * rows) if rows else (WIDTH, HEIGHT)
    figure = Figure(size, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1))
    axes = figure.add_subplot()
    if isinstance(chart, Bars):
        _draw_bars(chart, axes)
    else:
        _draw_plot(chart, axes)
    title = f"{chart.heading}\n{_shortened(of)}" if of else chart.heading
    figure.suptitle(title, x=0.02, ha="left", fontsize=10)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower left", fontsize=8, frameon=False, ncols=2)
    return figure


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _draw_plot(plot: Plot, axes: Any) -> None:
    for name in ("top", "right", "left"):
        axes.spines[name].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["soft"])
    axes.tick_params(labelsize=8.5, labelcolor=LIGHT["soft"], color=LIGHT["soft"], left=False)
    axes.grid(axis="y", color=LIGHT["rule"])
    axes.set_axisbelow(True)
    for side, (which, axis) in enumerate((("x", plot.x), ("y", plot.y))):
        scale = scale_of(plot, side, 0.0, 1.0)
        ticks = scale.ticks()
        axes.set(
            **{
                f"{which}scale": "log" if axis.log else "linear",
                f"{which}lim": (scale.low, scale.high),
                f"{which}ticks": ticks,
                f"{which}ticklabels": [axis.text(tick) for tick in ticks],
            }
        )
    axes.minorticks_off()
    axes.set_xlabel(plot.x.label, fontsize=9)
    axes.set_ylabel(plot.y.label, fontsize=9)
    for series in plot.series:
        _draw_series(series, axes)


def _draw_series(series: Series, axes: Any) -> None:
    colour = LIGHT.get(series.kind, LIGHT["ink"])
    xs, ys = ([point[side] for point in series.points] for side in (0, 1))
    line = {
        "color": colour,
        "linestyle": "--" if series.kind in DASHED else "-",
        "label": series.words or None,
    }
    match series.shape:
        case "dots":
            axes.scatter(
                xs, ys, s=14, color=colour, linewidths=0, label=line["label"], clip_on=False, zorder=3
            )
        case "rings":
            axes.scatter(
                xs,
                ys,
                s=26,
                facecolors="white",
                edgecolors=colour,
                label=line["label"],
                clip_on=False,
                zorder=3,
            )
        case "steps":
            end = max(axes.get_xlim()[1], xs[-1])
            axes.plot([*xs, end], [*ys, ys[-1]], drawstyle="steps-post", linewidth=1.8, **line)
        case "line":
            axes.plot(xs, ys, linewidth=1.0, **line)
            for name in series.names:
                _write_along(name, series.points, axes)
        case "segments":
            for n in range(0, len(xs), 2):
                axes.plot(xs[n : n + 2], ys[n : n + 2], linewidth=0.8, color=colour, linestyle=":")
        case "strokes":
            axes.plot(
                xs,
                [0.012] * len(xs),
                "|",
                transform=axes.get_xaxis_transform(),
                color=colour,
                label=line["label"],
            )
        case "text":
            for (x, y), name in zip(series.points, series.names, strict=True):
                axes.annotate(name, (x, y), xytext=(5, -3), textcoords="offset points", fontsize=7.5)


def _write_along(name: str, points: Sequence[Point], axes: Any) -> None:
    """A name above a line: at the beginning of one that climbs, at the end of a level one."""
    (x, y), (end, top) = points[0], points[-1]
    style = {"fontsize": 7.5, "color": LIGHT["soft"], "textcoords": "offset points", "va": "bottom"}
    if y == top:
        axes.annotate(name, (end, y), xytext=(0, 2), ha="right", **style)
        return
    (left, low), (right, high) = axes.transData.transform([(x, y), (end, top)])
    angle = degrees(atan2(high - low, right - left))
    axes.annotate(name, (x, y), xytext=(6, 10), rotation=angle, rotation_mode="anchor", **style)


def _draw_bars(bars: Bars, axes: Any) -> None:
    for name in ("top", "right", "bottom"):
        axes.spines[name].set_visible(False)
    axes.spines["left"].set_color(LIGHT["soft"])
    names = dict(bars.legend)
    width = 0.35
    for at, (_, row) in enumerate(bars.rows):
        for n, bar in enumerate(row):
            middle = at + width * (n - (len(row) - 1) / 2)
            axes.barh(middle, bar.part, 0.9 * width, color=LIGHT[bar.kind], label=names.pop(bar.kind, None))
            axes.text(bar.part + 0.01, middle, bar.text, va="center", fontsize=8, color=LIGHT["soft"])
    axes.set(xlim=(0, 1.1), xticks=[], ylim=(len(bars.rows) - 0.4, -0.6))
    axes.set_yticks(range(len(bars.rows)), [_shortened(name) for name, _ in bars.rows], fontsize=8)
    axes.tick_params(left=False)

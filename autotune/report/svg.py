"""Plots as SVG text: small enough to read on a phone, colours left to the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape

from loopwright.autotune.report.chart import Axis, Plot, Point, Series
from loopwright.autotune.report.scale import Scale

WIDTH, HEIGHT = 400, 262
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 28, 42
RADIUS = {"dots": 2.6, "rings": 3.4}
STROKE = 7  # of a failed trial, in pixels
_LETTER, _LINE = 6.5, 13.0  # about the width of a letter, and the height of a line


def svg(plot: Plot) -> str:
    """The plot as an ``<svg>`` element; what is said about it stands beside it, in the page."""
    x = scale_of(plot, 0, LEFT, WIDTH - RIGHT)
    y = scale_of(plot, 1, HEIGHT - BOTTOM, TOP)
    parts = [*_axes(plot, x, y)]
    for series in plot.series:
        parts += _DRAWN[series.shape](series, x, y)
    words = escape(f"{plot.heading}: {plot.summary}")
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{"".join(parts)}</svg>'


def scale_of(plot: Plot, side: int, start: float, end: float) -> Scale:
    """The scale of an axis (0: x, 1: y) between two places: around all points, or over the range that the plot says."""
    axis: Axis = (plot.x, plot.y)[side]
    if axis.range is not None:
        return Scale(*axis.range, start, end, axis.log)
    shown = (s for s in plot.series if side == 0 or s.shape != "strokes")
    values = [point[side] for series in shown for point in series.points]
    return Scale.around(values, start, end, log=axis.log)


def _axes(plot: Plot, x: Scale, y: Scale) -> Iterator[str]:
    base = HEIGHT - BOTTOM
    for value in y.ticks():
        at = y.place(value)
        yield f'<path class="grid" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>'
        yield _text(LEFT - 6, at + 4, plot.y.text(value), "end")
    for value in x.ticks():
        at = x.place(value)
        yield f'<path class="axis" d="M{at} {base}v4"/>'
        yield _text(at, base + 17, plot.x.text(value), "middle")
    yield f'<path class="axis" d="M{LEFT} {base}H{WIDTH - RIGHT}"/>'
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, plot.x.label, "middle", "name")
    yield _text(2, 12, plot.y.label, "start", "name")


def _dots(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    radius = RADIUS[series.shape]
    names = series.names or ("",) * len(series.points)
    circles = "".join(
        f'<circle cx="{x.place(px)}" cy="{y.place(py)}" r="{radius}"'
        + (f"><title>{escape(name)}</title></circle>" if name else "/>")
        for (px, py), name in zip(series.points, names, strict=True)
    )
    yield f'<g class="{series.shape} {series.kind}">{circles}</g>'


def _steps(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    (px, py), *rest = series.points
    path = f"M{x.place(px)} {y.place(py)}" + "".join(f"H{x.place(px)}V{y.place(py)}" for px, py in rest)
    yield f'<path class="line {series.kind}" d="{path}H{x.end}"/>'


def _line(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    places = [(x.place(px), y.place(py)) for px, py in series.points]
    yield f'<path class="line {series.kind}" d="M{"L".join(f"{px} {py}" for px, py in places)}"/>'
    if series.names:
        yield _along(places[0], places[-1], series.names[0])


def _along(start: Point, end: Point, name: str) -> str:
    """A name above a line: at the beginning of one that climbs, at the end of a level one."""
    angle = round(math.degrees(math.atan2(end[1] - start[1], end[0] - start[0])), 1)
    (px, py), anchor, shift = (start, "start", 8) if angle else (end, "end", 0)
    return (
        f'<text class="along" x="{shift}" y="-4" text-anchor="{anchor}" '
        f'transform="translate({px} {py}) rotate({angle})">{escape(name)}</text>'
    )


def _segments(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    pairs = zip(series.points[::2], series.points[1::2], strict=True)
    path = "".join(f"M{x.place(a)} {y.place(b)}L{x.place(c)} {y.place(d)}" for (a, b), (c, d) in pairs)
    yield f'<path class="line {series.kind}" d="{path}"/>'


def _strokes(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    base = HEIGHT - BOTTOM - 1
    path = "".join(f"M{x.place(px)} {base}v-{STROKE}" for px, _ in series.points)
    yield f'<path class="line {series.kind}" d="{path}"/>'


def _texts(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    """Words around their points, right of them if there is room; where there is none, nothing."""
    taken = [(x.place(px), y.place(py)) for px, py in series.points]
    for (px, py), name in zip(series.points, series.names, strict=True):
        half = _LETTER * len(name) / 2
        for across, down in ((half + 6, 0), (-half - 6, 0), (0, -11), (0, 11)):
            at = (x.place(px) + across, y.place(py) + down)
            if all(abs(at[0] - a) > half + 3 or abs(at[1] - b) > _LINE / 2 for a, b in taken):
                taken += [at, (at[0] - half / 2, at[1]), (at[0] + half / 2, at[1])]
                yield _text(round(at[0], 1), round(at[1] + 4, 1), name, "middle", series.kind)
                break


_DRAWN = {
    "dots": _dots,
    "rings": _dots,
    "steps": _steps,
    "line": _line,
    "segments": _segments,
    "strokes": _strokes,
    "text": _texts,
}


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def swatches(series: Iterable[Series]) -> Iterator[tuple[str, str]]:
    """For the legend: a small picture of each series that has words, and the words."""
    for one in series:
        if one.words:
            yield (
                f'<svg class="swatch" viewBox="0 0 22 12" aria-hidden="true">{_swatch(one)}</svg>',
                one.words,
            )


def _swatch(series: Series) -> str:
    if series.shape in RADIUS:
        radius = RADIUS[series.shape] + 0.6
        return f'<g class="{series.shape} {series.kind}"><circle cx="11" cy="6" r="{radius}"/></g>'
    path = "M11 10v-8" if series.shape == "strokes" else "M1 6H21"
    return f'<path class="line {series.kind}" d="{path}"/>'

"""Charts as SVG text: small enough to read on a phone, colours left to the page's style sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from loopwright.autotune.report.scale import Scale

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 40
_LETTER = 6.2  # about the width of one, in the label's size

Point = tuple[float, float]


class Plot:
    """A chart with two axes; what is added later is drawn on top.

    Args:
        title: for readers who do not see it.
        x, y: all values that it must show.
        x_label, y_label: what the axes say; the y label stands above the axis.
        y_text: how a y value is written.
        x_log, y_log: whether an axis is logarithmic.
    """

    def __init__(
        self,
        title: str,
        x: Sequence[float],
        y: Sequence[float],
        *,
        x_label: str,
        y_label: str,
        x_text: Callable[[float], str] = "{:g}".format,
        y_text: Callable[[float], str] = "{:g}".format,
        x_log: bool = False,
        y_log: bool = False,
    ) -> None:
        self.title = title
        self.x = Scale.around(x, LEFT, WIDTH - RIGHT, log=x_log)
        self.y = Scale.around(y, HEIGHT - BOTTOM, TOP + 16, log=y_log)
        self._parts: list[str] = []
        self._axes(x_label, y_label, x_text, y_text)

    def _axes(
        self, x_label: str, y_label: str, x_text: Callable[[float], str], y_text: Callable[[float], str]
    ) -> None:
        base = HEIGHT - BOTTOM
        for value in self.y.ticks():
            at = self.y.place(value)
            self._parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
            self._parts.append(_text(LEFT - 6, at + 4, y_text(value), "end"))
        for value in self.x.ticks():
            at = self.x.place(value)
            self._parts.append(f'<line class="axis" x1="{at}" x2="{at}" y1="{base}" y2="{base + 4}"/>')
            self._parts.append(_text(at, base + 17, x_text(value), "middle"))
        self._parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
        self._parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_label, "middle", "name"))
        self._parts.append(_text(4, TOP + 1, y_label, "start", "name"))

    def dots(self, points: Iterable[Point], kind: str, radius: float = 2.2) -> None:
        """Add a cloud of points; ``kind`` is their class in the style sheet."""
        circles = "".join(
            f'<circle cx="{self.x.place(x)}" cy="{self.y.place(y)}" r="{radius}"/>' for x, y in points
        )
        self._parts.append(f'<g class="{kind}">{circles}</g>')

    def steps(self, points: Sequence[Point], kind: str) -> None:
        """Add a line that keeps its height until the next point, and goes on to the right edge."""
        if not points:
            return
        path = f"M{self.x.place(points[0][0])} {self.y.place(points[0][1])}"
        for x, y in points[1:]:
            path += f"H{self.x.place(x)}V{self.y.place(y)}"
        self._parts.append(f'<path class="{kind}" d="{path}H{self.x.end}"/>')

    def marks(self, xs: Iterable[float], kind: str) -> None:
        """Add short strokes that stand on the x axis."""
        base = HEIGHT - BOTTOM
        path = "".join(f"M{self.x.place(x)} {base - 1}v-7" for x in xs)
        if path:
            self._parts.append(f'<path class="{kind}" d="{path}"/>')

    def __str__(self) -> str:
        return _svg(self.title, HEIGHT, self._parts)


def bars(title: str, values: Sequence[tuple[str, int]]) -> str:
    """A chart of counts with their names, one line each."""
    line, label = 26, 20 + _LETTER * max(len(name) for name, _ in values)
    most = max(count for _, count in values)
    parts = []
    for number, (name, count) in enumerate(values):
        top = 6 + number * line
        width = round((WIDTH - label - 50) * count / most, 1)
        parts.append(_text(label - 8, top + 14, name, "end"))
        parts.append(f'<rect class="bar" x="{label}" y="{top + 2}" width="{width}" height="16" rx="2"/>')
        parts.append(_text(label + width + 6, top + 14, str(count), "start"))
    return _svg(title, 12 + line * len(values), parts)


def _svg(title: str, height: int, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'

"""Charts as data: what is drawn, and what it means. ``svg.py`` draws them for the page, ``png.py`` as pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
Shape = Literal["dots", "rings", "steps", "line", "segments", "strokes", "text"]


@dataclass(frozen=True)
class Series:
    """Points that are drawn alike.

    Attributes:
        kind: what they are (``"best"``, ``"failed"``); it decides the colour.
        shape: dots, rings, a line of steps that goes on to the right edge, a straight line, segments from every other point to
            the next, strokes that stand on the x axis
            (their y does not matter), or text beside its point.
        points: where they are.
        words: what the legend says; nothing if it does not mention them.
        names: of each point: the text, or what a reader sees who points at it. A line has one name, written along it.
    """

    kind: str
    shape: Shape
    points: tuple[Point, ...]
    words: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axis:
    """What an axis says, whether it is logarithmic, how a value is written, and the range: None follows from the points."""

    label: str
    log: bool = False
    text: Callable[[float], str] = "{:g}".format
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Plot:
    """A chart with two axes; a later series is drawn on top.

    Attributes:
        name: for the names of files: ``"best-by-trial"``.
        heading: above it.
        summary: for readers who do not see it: what there is to see, in a sentence.
        remark: below it.
    """

    name: str
    heading: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    summary: str
    remark: str = ""


@dataclass(frozen=True)
class Bar:
    """One bar: its length as a part of the longest possible one, from 0 to 1, and what stands behind it."""

    kind: str
    part: float
    text: str


@dataclass(frozen=True)
class Bars:
    """Bars side by side under a name, or several names: a chart of shares or counts.

    Attributes:
        rows: a name, and its bars.
        legend: what the bars of a row are: (kind, words).
    """

    name: str
    heading: str
    rows: tuple[tuple[str, tuple[Bar, ...]], ...]
    legend: tuple[tuple[str, str], ...] = ()
    remark: str = ""
    wide: bool = False


Chart = Plot | Bars

"""Drawings in SVG: a loop nest as boxes in boxes, and the stages of a workload as a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from loopwright.sched.errors import ScheduleError, path_of
from loopwright.sched.language.stage import Tensor
from loopwright.sched.language.workload import producers
from loopwright.sched.views.outline import Line, outline

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload
    from loopwright.sched.scheduling.schedule import Schedule

CHARACTER, ROW, PAD = 7.3, 18, 8  # of the font, in pixels
FONT = "12px ui-monospace, Menlo, Consolas, monospace"
FILLS = {
    "parallel": "#fde9d0",
    "vectorize": "#d9ead3",
    "unroll": "#e8def8",
    "for": "#ffffff",
    "buffer": "#dbe7f5",
    "statement": "none",
    "input": "#dbe7f5",
    "stage": "#ffffff",
    "output": "#fde9d0",
}
INK, FAINT = "#222222", "#777777"


@dataclass(frozen=True)
class Drawing:
    """A picture: ``svg`` is its text; a notebook shows it, :meth:`save` writes it."""

    svg: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, and return its path.

        Errors:
            ScheduleError: the path cannot be written.
        """
        target = path_of(path, "save", ScheduleError)
        try:
            target.write_text(self.svg)
        except OSError as error:
            raise ScheduleError(f"save: {target} cannot be written: {error.strerror}") from None
        return target

    def _repr_svg_(self) -> str:
        return self.svg


def draw_nest(schedule: Schedule) -> Drawing:
    """The loop nest: each loop a box around what runs in it, coloured by its kind."""
    lines = outline(str(schedule))
    canvas = _canvas()
    width = max(_width(line) for line in lines) + 2 * PAD
    y = float(PAD)
    for line in lines:
        y = _box(canvas, line, PAD, y, width - 2 * PAD) + PAD / 2
    return _finished(canvas, width, y + PAD)


def draw_graph(work: Workload) -> Drawing:
    """The stages: an arrow from each tensor to the stages that read it, producers above consumers."""
    layers = _layers(work)
    canvas = _canvas()
    places: dict[int, tuple[float, float]] = {}
    sizes = [[_label_width(_caption(t)) for t in layer] for layer in layers]
    width = max(sum(row) + 3 * PAD * (len(row) + 1) for row in sizes)
    for depth, (layer, row) in enumerate(zip(layers, sizes, strict=True)):
        x = (width - sum(row) - 3 * PAD * (len(row) - 1)) / 2
        for tensor, size in zip(layer, row, strict=True):
            places[id(tensor)] = (x + size / 2, PAD + depth * 4 * ROW)
            x += size + 3 * PAD
    for stage in work.stages:
        for tensor in producers(stage):
            _arrow(canvas, places[id(tensor)], places[id(stage)])
    for layer in layers:
        for tensor in layer:
            _node(canvas, work, tensor, places[id(tensor)])
    return _finished(canvas, width, PAD * 2 + (len(layers) - 1) * 4 * ROW + 1.5 * ROW)


# --- the nest ------------------------------------------------------------------------------------------------------


def _width(line: Line) -> float:
    own = CHARACTER * (len(line.text) + (len(line.note) + 3 if line.note else 0)) + 2 * PAD
    return max([own, *(_width(inner) + 2 * PAD for inner in line.inside)])


def _box(canvas: Xml.Element, line: Line, x: float, y: float, width: float) -> float:
    """Draw a line with what is inside it; returns where the next may begin."""
    framed = bool(line.inside) or line.kind == "buffer"
    frame = Xml.SubElement(canvas, "rect") if framed else None
    _text(canvas, line.text, x + PAD, y + ROW - 5)
    if line.note:
        _text(canvas, line.note, x + PAD + CHARACTER * (len(line.text) + 3), y + ROW - 5, FAINT)
    bottom = y + ROW
    for inner in line.inside:
        bottom = _box(canvas, inner, x + PAD, bottom + PAD / 4, width - 2 * PAD)
    if frame is None:
        return bottom
    bottom += PAD / 2 if line.inside else 0
    _frame(frame, x, y, width, bottom - y, FILLS[line.kind])
    return bottom


# --- the graph -----------------------------------------------------------------------------------------------------


def _layers(work: Workload) -> list[list[Tensor]]:
    """Inputs and stages by how many stages stand before them; in a layer, near what they read."""
    depth: dict[int, int] = {id(t): 0 for t in work.inputs}
    for stage in work.stages:
        depth[id(stage)] = 1 + max((depth[id(t)] for t in producers(stage)), default=-1)
    layers: list[list[Tensor]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for tensor in (*work.inputs, *work.stages):
        layers[depth[id(tensor)]].append(tensor)
    position: dict[int, float] = {}
    for layer in layers:
        layer.sort(key=lambda t: _mean([position[id(p)] for p in _read(t) if id(p) in position]))
        position |= {id(t): n / max(1, len(layer) - 1) for n, t in enumerate(layer)}
    return [layer for layer in layers if layer]


def _read(tensor: Tensor) -> Sequence[Tensor]:
    from loopwright.sched.language.stage import Stage

    return producers(tensor) if isinstance(tensor, Stage) else ()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.5


def _caption(tensor: Tensor) -> str:
    return f"{tensor.name}  {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _label_width(text: str) -> float:
    return CHARACTER * len(text) + 2 * PAD


def _node(canvas: Xml.Element, work: Workload, tensor: Tensor, place: tuple[float, float]) -> None:
    given = any(tensor is t for t in work.inputs)
    kind = "input" if given else "output" if any(tensor is t for t in work.outputs) else "stage"
    caption = _caption(tensor)
    width = _label_width(caption)
    frame = Xml.SubElement(canvas, "rect")
    _frame(frame, place[0] - width / 2, place[1], width, 1.5 * ROW, FILLS[kind])
    _text(canvas, caption, place[0] - width / 2 + PAD, place[1] + ROW)


def _arrow(canvas: Xml.Element, start: tuple[float, float], end: tuple[float, float]) -> None:
    line = Xml.SubElement(canvas, "line")
    ends = {"x1": start[0], "y1": start[1] + 1.5 * ROW, "x2": end[0], "y2": end[1] - 2}
    _set(line, ends, stroke=FAINT)
    line.set("marker-end", "url(#tip)")


# --- SVG -----------------------------------------------------------------------------------------------------------


def _canvas() -> Xml.Element:
    canvas = Xml.Element("svg", xmlns="http://www.w3.org/2000/svg")
    definitions = Xml.SubElement(canvas, "defs")
    tip = Xml.SubElement(definitions, "marker", id="tip", orient="auto", markerUnits="strokeWidth")
    _set(tip, {"markerWidth": 8, "markerHeight": 8, "refX": 7, "refY": 3})
    Xml.SubElement(tip, "path", d="M0,0 L7,3 L0,6 z", fill=FAINT)
    return canvas


def _finished(canvas: Xml.Element, width: float, height: float) -> Drawing:
    _set(canvas, {"width": width, "height": height})
    canvas.set("viewBox", f"0 0 {width:g} {height:g}")
    return Drawing(Xml.tostring(canvas, encoding="unicode"))


def _frame(element: Xml.Element, x: float, y: float, width: float, height: float, fill: str) -> None:
    _set(element, {"x": x, "y": y, "width": width, "height": height, "rx": 4}, fill=fill, stroke=FAINT)


def _text(canvas: Xml.Element, content: str, x: float, y: float, ink: str = INK) -> None:
    element = Xml.SubElement(canvas, "text", style=f"font: {FONT}; white-space: pre")
    _set(element, {"x": x, "y": y}, fill=ink)
    element.text = content


def _set(element: Xml.Element, numbers: dict[str, float], **texts: str) -> None:
    for name, value in numbers.items():
        element.set(name, f"{value:g}")
    for name, text in texts.items():
        element.set(name, text)

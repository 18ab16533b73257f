"""How a notebook shows a schedule: the printed nest, its loops coloured by kind."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from loopwright.sched.views.drawing import FAINT, FILLS
from loopwright.sched.views.outline import Line, outline

if TYPE_CHECKING:
    from loopwright.sched.scheduling.schedule import Schedule


def nest_html(schedule: Schedule) -> str:
    """The nest as preformatted HTML; loops that run in another way than one after the other are marked."""
    rows = [row for line in outline(str(schedule)) for row in _rows(line, 0)]
    return f'<pre style="line-height: 1.5">{chr(10).join(rows)}</pre>'


def _rows(line: Line, depth: int) -> Iterator[str]:
    text = escape(line.text)
    fill = FILLS[line.kind]
    if fill not in ("none", FILLS["for"]):
        word, _, rest = text.partition(" ")
        text = f'<span style="background: {fill}; color: #222">{word}</span> {rest}'
    note = f'  <span style="color: {FAINT}"># {escape(line.note)}</span>' if line.note else ""
    yield "  " * depth + text + note
    for inner in line.inside:
        yield from _rows(inner, depth + 1)

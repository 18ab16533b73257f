"""A loop nest for the page: as it is printed, with the kinds of its loops marked."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from loopwright.sched.views.outline import Line, outline


def nest_html(nest: str) -> str:
    """What ``print(schedule)`` shows, as HTML for a ``<pre>``: the style sheet knows ``parallel``, ``vectorize``, ``unroll``.

    >>> nest_html("parallel C.i in 4\\\\n  C[i] = A[i]  # hot")
    '<b class="parallel">parallel</b> C.i in 4\\\\n  C[i] = A[i]  <i># hot</i>'
    """
    return "\n".join(row for line in outline(nest) for row in _rows(line, 0))


def _rows(line: Line, depth: int) -> Iterator[str]:
    text = escape(line.text)
    if text.startswith("#"):
        text = f"<i>{text}</i>"
    elif line.kind not in ("for", "statement"):
        word, space, rest = text.partition(" ")
        text = f'<b class="{line.kind}">{word}</b>{space}{rest}'
    note = f"  <i># {escape(line.note)}</i>" if line.note else ""
    yield "  " * depth + text + note
    for inner in line.inside:
        yield from _rows(inner, depth + 1)

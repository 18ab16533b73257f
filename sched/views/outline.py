"""A printed loop nest as a tree of lines: what is drawn, and what a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

KINDS = ("parallel", "vectorize", "unroll", "for", "buffer")
# Blocks and threads of a GPU run side by side, as the iterations of a parallel loop do.
SIDE_BY_SIDE = ("blockIdx", "threadIdx", "threads", "vthread")


@dataclass
class Line:
    """One line of a nest and the lines inside it. ``note`` is what stood behind ``#``."""

    text: str
    note: str = ""
    inside: list[Line] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The word the line begins with (a loop's kind, ``buffer``), or ``statement``."""
        first = self.text.split(" ", 1)[0]
        if first.startswith(SIDE_BY_SIDE):
            return "parallel"
        return first if first in KINDS else "statement"

    def walk(self) -> Iterator[Line]:
        """This line and all inside it."""
        yield self
        for line in self.inside:
            yield from line.walk()


def outline(nest: str) -> list[Line]:
    """The lines of ``print(schedule)``, nested as they are indented.

    >>> [line.kind for top in outline("for C.i in 4\\n  C[i] = A[i]") for line in top.walk()]
    ['for', 'statement']
    """
    top: list[Line] = []
    open_lines: list[Line] = []
    for row in nest.splitlines():
        depth = (len(row) - len(row.lstrip())) // 2
        text, _, note = row.strip().partition("  # ")
        line = Line(text, note)
        del open_lines[depth:]
        (open_lines[-1].inside if open_lines else top).append(line)
        open_lines.append(line)
    return top

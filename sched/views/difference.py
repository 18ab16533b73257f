"""How two schedules differ: in their directives, and in the loop nests these come to."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopwright.sched.scheduling.schedule import Schedule


def difference(before: Schedule, after: Schedule) -> str:
    """A unified diff of the directives, then of the loop nests; empty where the schedules are the same."""
    parts = [
        *_changes("directives", before.to_python().splitlines(), after.to_python().splitlines()),
        *_changes("loop nest", str(before).splitlines(), str(after).splitlines()),
    ]
    return "\n".join(parts)


def _changes(title: str, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The lines of a diff without its two-line head, under a title of their own."""
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    if lines:
        yield f"{title}:"
        yield from (line for line in lines if not line.startswith("@@") or line is not lines[0])

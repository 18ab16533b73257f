"""A line on a terminal that says what goes on; nothing at all in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn


class Status:
    """What is being done, and how much of it is."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def say(self, text: str) -> None:
        """Replace the text of the line."""
        self._progress.update(self._task, description=text)

    def advance(self) -> None:
        """One more is done."""
        self._progress.advance(self._task)


@contextmanager
def status_line(total: int) -> Iterator[Status]:
    """Show progress on stderr while the block runs; it leaves nothing behind."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        MofNCompleteColumn(),
        BarColumn(20),
        TextColumn("{task.description}", markup=False),
    )
    # Redrawn seldom: the display must not take a core from what is being measured.
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal, refresh_per_second=2
    ) as p:
        yield Status(p, p.add_task("", total=total))

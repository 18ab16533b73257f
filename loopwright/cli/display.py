"""What a person sees while the tuner works: a live line on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from loopwright.autotune.lookup import seconds_text
from loopwright.cli.tables import count, duration

LINE_SECONDS = 10.0
"""In a pipe or a file, so long passes between two lines."""


@dataclass
class Progressing:
    """How far a tuning run has come.

    Attributes:
        trials: how many it shall make; None: as many as time allows.
        seconds: how long it may take; None: as long as the trials need.
        done: trials made, good and failed.
        failures: cause -> number.
        best: the least verified time on all cores of the workload now tuned; None: none yet.
        label: what is tuned now.
        clock: gives the present moment, in seconds.
    """

    trials: int | None = None
    seconds: float | None = None
    done: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    best: float | None = None
    label: str = ""
    clock: Callable[[], float] = time.monotonic
    start: float = 0.0

    def __post_init__(self) -> None:
        self.start = self.clock()

    def begin(self) -> None:
        """Count time from now on: what was done until now was preparation."""
        self.start = self.clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.start

    @property
    def part(self) -> float:
        """How much of it is done, from 0 to 1: of its trials, or of its time, whichever is further."""
        parts = [0.0]
        if self.trials:
            parts.append(self.done / self.trials)
        if self.seconds:
            parts.append(self.elapsed / self.seconds)
        return min(1.0, max(parts))

    def text(self) -> str:
        """The figures in one line.

        >>> Progressing(trials=200, done=48, best=512e-6, clock=lambda: 0.0).text()
        '48/200 trials  best 512 us'
        """
        parts = [f"{self.done}/{self.trials} trials" if self.trials else count(self.done, "trial")]
        if self.elapsed >= 1 and self.done:
            parts.append(f"{self.done / self.elapsed:.1f}/s")
        if self.best:
            parts.append(f"best {seconds_text(self.best)}")
        if self.failures:
            parts.append(f"{self.failures.total()} failed")
        if self.seconds:
            parts.append(f"{duration(max(0.0, self.seconds - self.elapsed))} left")
        return "  ".join(parts)


class Lines:
    """Progress as plain lines, for a pipe or a file: one at the start, one now and then, and one for each workload."""

    def __init__(self, progress: Progressing, out: TextIO) -> None:
        self.progress = progress
        self._out = out
        self._last = progress.clock()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, text: str) -> None:
        """Write something worth keeping."""
        print(text, file=self._out, flush=True)

    def refresh(self) -> None:
        """Something changed; write it if it is time again."""
        now = self.progress.clock()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            self.say(
                f"{duration(self.progress.elapsed):>9}  {self.progress.text()}  {self.progress.label}".rstrip()
            )


class Live:
    """Progress as a bar that is redrawn in place, on a terminal."""

    def __init__(self, progress: Progressing, console: Console) -> None:
        self.progress = progress
        columns = (
            SpinnerColumn(),
            BarColumn(24),
            _Figures(progress),
            TextColumn("[dim]{task.description}", markup=True),
        )
        # Redrawn seldom: drawing must not take a core from what is measured.
        self._bar = Progress(*columns, console=console, refresh_per_second=4, transient=True)
        self._task = self._bar.add_task("", total=1.0)

    def __enter__(self) -> Live:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Write something worth keeping, above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)

    def refresh(self) -> None:
        """Something changed."""
        from rich.markup import escape

        self._bar.update(self._task, completed=self.progress.part, description=escape(self.progress.label))


class _Figures(ProgressColumn):
    def __init__(self, progress: Progressing) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(self._progress.text())


def view(progress: Progressing, out: TextIO) -> Lines | Live:
    """The view that fits what ``out`` is."""
    console = Console(file=out)
    return (
        Live(progress, console)
        if console.is_terminal and not console.is_dumb_terminal
        else Lines(progress, out)
    )

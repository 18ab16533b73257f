"""How long a run goes on, and in what steps."""

from __future__ import annotations

import time
from dataclasses import dataclass

DEFAULT_TRIALS = 200
# Trials between two fits of the model: fewer at first, when it knows nothing, so that there is soon a kernel to use. When it
# knows other shapes, the first few of this one say how far to trust that: batches begin small then, and each is as many as
# there were before it.
FIRST_BATCH, TAUGHT_BATCH, BATCH = 16, 4, 64
# The last part of a run looks close to the best there is.
CLOSING = 0.2


@dataclass(frozen=True)
class Budget:
    """How long to go on: a number of trials, a moment of the monotonic clock, both, or until trials no longer gain.

    ``patience``: the most trials in a row that need not improve anything; None for any number.
    """

    trials: int | None
    until: float | None
    start: float
    patience: int | None = None

    def next_batch(self, done: int, cores: int, stale: int = 0, taught: bool = False) -> int:
        """The size of the next batch, when the last ``stale`` trials have improved nothing; 0 at the end.

        ``taught``: whether other shapes' trials have taught the model.
        """
        if self.until is not None and time.monotonic() >= self.until:
            return 0
        if self.patience is not None and stale >= self.patience:
            return 0
        size = FIRST_BATCH if done == 0 else BATCH
        if taught and done < FIRST_BATCH:
            size = max(TAUGHT_BATCH, done)
        size = max(size, 2 * cores)
        if self.trials is None:
            return size
        left = self.trials - done
        # Short runs still fit the model a few times, and no batch leaves a core without work.
        size = min(size, max(4 * cores, self.trials // 3))
        return left if left < size + cores else min(size, left)

    def closing(self, done: int) -> bool:
        """Whether the run is near its end."""
        if self.trials is not None and done >= (1 - CLOSING) * self.trials:
            return True
        return self.until is not None and time.monotonic() > self.until - CLOSING * (self.until - self.start)


def wanted_trials(trials: int | None, more: int | None, minutes: float | None, have: int) -> int | None:
    """Trials to measure now; None for as many as the time allows."""
    if more is not None:
        return more
    if trials is None and minutes is not None:
        return None
    return max(0, (DEFAULT_TRIALS if trials is None else trials) - have)

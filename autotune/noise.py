"""Whether the machine is quiet: what one and the same kernel takes from one race to another."""

from __future__ import annotations

from collections import deque

# So many races are looked at together, when there are so many, and this far apart times may be.
LAST, FEWEST, MOST = 6, 3, 1.25


class Noise:
    """Takes the times of the best so far, each as a multiple of what it took when it became the best."""

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=LAST)
        self._told = False

    def note(self, ratio: float) -> float | None:
        """Take one in; the spread of the last ones, greatest over least, when it begins to be too large.

        Example:
            >>> noise = Noise()
            >>> [noise.note(ratio) for ratio in (1.0, 1.1, 1.0, 1.5, 1.0)]
            [None, None, None, 1.5, None]
        """
        self._ratios.append(ratio)
        spread = max(self._ratios) / min(self._ratios)
        noisy = len(self._ratios) >= FEWEST and spread > MOST
        begins, self._told = noisy and not self._told, noisy
        return spread if begins else None

"""Which of several workloads the next batch goes to: where it is expected to save most time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

# What a workload is believed to gain before anything is known of it, and how many batches that belief counts for.
BELIEVED, BATCHES = 0.5, 2.0


def expected_gain(bests: Sequence[float | None], weight: float = 1.0) -> float:
    """What one more batch is expected to save in a run of the whole set: seconds, or whatever the objective's figure is.

    The best after n batches is taken to fall as ``c (1 + a / n)``: every batch finds less than the one before. Then the
    next one saves ``c a / (n (n + 1))``. What a workload has gained with each of its batches says what its ``a`` is; those that
    have ceased to gain leave their share to others. (A scheduler that follows the gradient of the whole set's time is described
    by Zheng et al., "Ansor", OSDI 2020, section 6; the law and its fit are ours.)

    Args:
        bests: the best known after each batch; None as long as there was none.
        weight: how often the set runs the workload.

    Returns:
        The saving; infinity for one that has no time yet and has had fewer than two batches.

    Example:
        >>> expected_gain([])
        inf
        >>> still, over = expected_gain([4.0, 2.0, 1.5]), expected_gain([1.5, 1.5, 1.5])
        >>> still > 3 * over > 0
        True
    """
    known = [best for best in bests if best is not None]
    if not known:
        return float("inf") if len(bests) < 2 else 0.0
    now, batches = known[-1], len(bests)
    gains = [
        n * (n + 1) * (before - after)
        for n, (before, after) in enumerate(pairwise(known), batches - len(known) + 1)
    ]
    fall = (BELIEVED * BATCHES * abs(now) + sum(gains)) / (BATCHES + len(gains))
    return weight * fall / (batches * (batches + 1))

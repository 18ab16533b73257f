"""Orders compared: what was expected to be fast beside what was."""

from __future__ import annotations

from collections.abc import Sequence


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's: 1 if both orders are the same, -1 if one is the other's reverse; None where it is not defined.

    >>> rank_correlation([(1, 10), (2, 20), (3, 40)]), rank_correlation([(1, 3), (2, 2), (3, 1)])
    (1.0, -1.0)
    """
    if len(pairs) < 3:
        return None
    one, other = (_ranks([pair[side] for pair in pairs]) for side in (0, 1))
    mean = (len(pairs) + 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True))
    spreads = sum((a - mean) ** 2 for a in one) * sum((b - mean) ** 2 for b in other)
    return round(covariance / spreads**0.5, 6) if spreads else None


def places(values: Sequence[float]) -> list[float]:
    """Where each value stands among all, from 0 for the least to 1 for the greatest.

    >>> places([3.0, 1.0, 2.0])
    [1.0, 0.0, 0.5]
    """
    return [(rank - 1) / max(1, len(values) - 1) for rank in _ranks(values)]


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for index in order[start:end]:
            ranks[index] = (start + 1 + end) / 2
        start = end
    return ranks

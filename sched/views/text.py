"""Numbers and tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def size_text(count: int) -> str:
    """Bytes, in the unit that suits.

    >>> size_text(120), size_text(10240)
    ('120 B', '10 KB')
    """
    for unit, amount in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= amount:
            return f"{count / amount:.3g} {unit}"
    return f"{count} B"


def count_text(count: int) -> str:
    """A number to three digits.

    >>> count_text(960), count_text(61_440_000)
    ('960', '61.4M')
    """
    for unit, amount in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= amount:
            return f"{count / amount:.3g}{unit}"
    return str(count)


def time_text(seconds: float) -> str:
    """A time, in the unit that suits.

    >>> time_text(0.00123)
    '1.23 ms'
    """
    for unit, amount in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= amount:
            return f"{seconds / amount:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as they must be."""
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )

"""What a kernel's entry answers: that it ran, or which C function has failed, and how."""

from __future__ import annotations

from collections.abc import Sequence

DONE = 1
# The low bits are what the function returned, the high ones the number of the call, from 1.
STATUS_BITS = 32


def failure(answer: int, calls: Sequence[tuple[str, str]]) -> str:
    """In words what an answer other than :data:`DONE` says.

    >>> failure((1 << 32) + 7, [("spectrum", "fft")])
    'fft, which computes spectrum, returned 7'
    """
    stage, symbol = calls[(answer >> STATUS_BITS) - 1]
    return f"{symbol}, which computes {stage}, returned {status_of(answer)}"


def status_of(answer: int) -> int:
    """What the C function returned that has failed.

    >>> status_of((2 << 32) + 7), status_of((1 << 32) + 0xFFFFFFFD)
    (7, -3)
    """
    status = answer & ((1 << STATUS_BITS) - 1)
    return status - (1 << STATUS_BITS) if status >> (STATUS_BITS - 1) else status

"""The invariant, with weights: what is prepacked, and then found so by calls, changes no result."""

from __future__ import annotations

import pytest

from tests.fuzz.hunt import hunt

CASES, PIECES = 30, 2


@pytest.mark.parametrize("piece", range(PIECES))
def test_prepacking_changes_no_result(piece: int) -> None:
    size = CASES // PIECES
    tally = hunt(range(piece * size, (piece + 1) * size), weights=True)
    assert not tally.failures, "\n".join(tally.failures)

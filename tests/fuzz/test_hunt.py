"""The invariant, on 1,500 random cases: a schedule that the checks accept computes what the definition says."""

from __future__ import annotations

import pytest

from tests.fuzz.hunt import hunt

CASES, PIECES = 1500, 30


@pytest.mark.parametrize("piece", range(PIECES))
def test_accepted_schedules_compute_what_the_definition_says(piece: int) -> None:
    size = CASES // PIECES
    tally = hunt(range(piece * size, (piece + 1) * size))
    assert tally.cases == size
    assert not tally.failures, "\n".join(tally.failures)

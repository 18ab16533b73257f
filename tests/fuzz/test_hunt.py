"""The invariant, on 1,500 random cases: a schedule that the checks accept computes what the definition says."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.hunt import Tally, hunt, random_schedule
from tests.fuzz.special_moves import KINDS
from tests.fuzz.works import random_work

CASES, PIECES = 1500, 30
LEAST_ACCEPTED, LEAST_SHARE = 200, 0.6


@pytest.mark.parametrize("piece", range(PIECES))
def test_accepted_schedules_compute_what_the_definition_says(piece: int) -> None:
    size = CASES // PIECES
    tally = hunt(range(piece * size, (piece + 1) * size))
    assert tally.cases == size
    assert not tally.failures, "\n".join(tally.failures)


def test_what_ought_to_be_legal_is_accepted() -> None:
    """Refusing what is legal is a fault too: of the same cases, what share is accepted, and each directive how often."""
    tally = Tally()
    for number in range(CASES):
        tally.cases += 1
        random_schedule(random_work(number), Random(number), tally)
    print(tally)
    assert sum(tally.accepted.values()) >= LEAST_SHARE * sum(tally.drawn.values()), str(tally)
    assert all(tally.accepted[kind] >= LEAST_ACCEPTED for kind in (*KINDS, "tensorize")), str(tally)

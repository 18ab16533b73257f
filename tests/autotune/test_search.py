"""Search strategies: no candidate twice, the same seed the same choices, better than chance where there is something to learn."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import ops
from loopwright.autotune.features.program import NAMES
from loopwright.autotune.search.anneal import AnnealSearch
from loopwright.autotune.search.base import Search
from loopwright.autotune.search.evolve import EvolutionarySearch
from loopwright.autotune.search.grid import GridSearch
from loopwright.autotune.search.random import RandomSearch
from loopwright.autotune.search.strategies import SEARCHES, strategy
from loopwright.autotune.space import Point, SearchSpace, Sketch
from loopwright.sched.errors import TuneError
from loopwright.sched.scheduling.knobs import knob

from .spaces import AVX2, space_of


@pytest.fixture(scope="module")
def space() -> SearchSpace:
    return space_of(ops.matmul(M=512, N=512, K=512))


def pretended(space: SearchSpace, points: list[Point]) -> list[float]:
    """Times with some structure: a smooth function of features that is not the model's own estimate."""
    rows = space.rows(points)
    chains, unrolled = rows[:, NAMES.index("chains")], rows[:, NAMES.index("unrolled")]
    traffic, lanes = rows[:, NAMES.index("traffic2")], rows[:, NAMES.index("lanes")]
    return (
        1.0
        + 0.1 * np.abs(chains - 9)
        + 0.05 * np.abs(unrolled - 4)
        + 0.1 * traffic**2
        + 0.3 * (lanes - 4) ** 2
    ).tolist()


def driven(search: Search, space: SearchSpace, rounds: int = 4, count: int = 32) -> list[Point]:
    found: list[Point] = []
    for number in range(rounds):
        points = search.propose(count, closing=number == rounds - 1)
        found += points
        search.learn(points, pretended(space, points))
    return found


@pytest.mark.parametrize("name", SEARCHES)
def test_no_point_twice_and_all_of_them_legal(name: str, space: SearchSpace) -> None:
    points = driven(SEARCHES[name](space, 0), space)
    assert len(points) == 4 * 32
    assert len(set(points)) == len(points)
    assert all(space.legal(point) for point in points)


@pytest.mark.parametrize("name", sorted(SEARCHES.keys() - {"grid"}))
def test_the_same_seed_and_times_give_the_same_choices(name: str, space: SearchSpace) -> None:
    first, second, other = (driven(SEARCHES[name](space, seed), space, rounds=2) for seed in (5, 5, 6))
    assert first == second
    assert first != other


def test_annealing_beats_chance(space: SearchSpace) -> None:
    annealed = np.sort(pretended(space, driven(AnnealSearch(space, 1), space)))
    drawn = np.sort(pretended(space, driven(RandomSearch(space, 1), space)))
    assert annealed[:16].mean() < drawn[:16].mean()
    assert annealed[0] <= drawn[0] * 1.02


def test_evolution_beats_chance(space: SearchSpace) -> None:
    evolved = np.sort(pretended(space, driven(EvolutionarySearch(space, 1), space, rounds=8)))
    drawn = np.sort(pretended(space, driven(RandomSearch(space, 1), space, rounds=8)))
    assert evolved[:16].mean() < drawn[:16].mean()


def test_a_grid_goes_through_all_values_in_order(space: SearchSpace) -> None:
    search = GridSearch(space)
    points = search.propose(100)
    assert {point.space for point in points} == set(range(len(space.sketches)))
    for number in range(len(space.sketches)):
        choices = [point.choice for point in points if point.space == number]
        assert choices == sorted(choices)
    search.learn(points, pretended(space, points))
    assert not set(search.propose(100)) & set(points)


def test_strategies_have_names() -> None:
    assert strategy("grid") is GridSearch
    assert strategy(RandomSearch) is RandomSearch
    with pytest.raises(TuneError, match="there is no search 'anneall'; there are 'anneal', 'evolve'"):
        strategy("anneall")


@pytest.mark.parametrize("name", SEARCHES)
def test_a_small_space_is_used_up(name: str) -> None:
    work = ops.matmul(M=32, N=32, K=32)
    template = (
        work.schedule()
        .split("C.i", ("io", "ii"), knob("a", [1, 2, 4, 8]))
        .split("C.j", ("jo", "ji"), knob("b", [2, 4, 8]))
    )
    small = SearchSpace((Sketch("t", template),), AVX2)
    search = SEARCHES[name](small, 0)
    found: list[Point] = []
    while points := search.propose(5):
        found += points
        search.learn(points, [1.0 + n for n in range(len(points))])
    assert sorted(found) == sorted(small.all_points())


def test_failures_are_learnt_from_and_do_not_stop_the_search(space: SearchSpace) -> None:
    search = AnnealSearch(space, 0)
    for _ in range(3):
        points = search.propose(24)
        times = pretended(space, points)
        quality = search.learn(points, [None if n % 3 else t for n, t in enumerate(times)])
    assert len(points) == 24
    assert quality is not None
    assert quality.samples == 8


def test_all_failed_is_no_end(space: SearchSpace) -> None:
    search = AnnealSearch(space, 0)
    for _ in range(2):
        points = search.propose(20)
        search.learn(points, [None] * len(points))
    assert len(search.propose(20)) == 20


def test_measured_points_from_a_log_are_not_proposed(space: SearchSpace) -> None:
    before = RandomSearch(space, 0).propose(40)
    search = AnnealSearch(space, 0)
    search.learn(before, pretended(space, before))
    assert not set(search.propose(64)) & set(before)


def test_seeds_come_first(space: SearchSpace) -> None:
    assert space.seeds()
    first = AnnealSearch(space, 0).propose(64)
    assert set(space.seeds()) & set(first)


def test_closing_looks_around_the_best(space: SearchSpace) -> None:
    search = AnnealSearch(space, 0)
    points = driven(search, space, rounds=3)
    best = min(zip(pretended(space, points), points, strict=True))[1]
    around = set(space.around(best))
    assert around
    assert len(set(search.propose(32, closing=True)) & around) >= 3

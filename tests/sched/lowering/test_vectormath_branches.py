"""Functions that take a quick way where all lanes of a vector allow it: right wherever they stand, whatever the lanes hold."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw
from tests.sched.lowering.test_vectormath import TARGETS, check, kernel, reference

Array = np.ndarray
BRANCHING = ("sin", "cos", "tan", "log", "log2")


def around(values: Array) -> Array:
    """The float32 nearest to each value, its neighbours, and all their negatives."""
    x = values.astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), np.nextafter(x, np.float32(np.inf))])
    return np.concatenate([x, -x])


def mixed(size: int) -> Array:
    """Usual numbers; every few lanes one that is not."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0.1, 10, size).astype(np.float32)
    odd = np.array([0.0, -0.0, -2.5, 1e-44, 1e9, -3e38, np.inf, -np.inf, np.nan], np.float32)
    places = rng.random(size) < 0.05
    x[places] = rng.choice(odd, int(places.sum()))
    return x


@np.errstate(all="ignore")
def exact(fn: str, *args: Array) -> Array:
    return reference(fn)(*(a.astype(np.float64) for a in args))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", ["sin", "cos", "tan"])
def test_near_multiples_of_a_right_angle(fn: str, target: object) -> None:
    """Where the reduced argument is tiny, or the quadrant nearly another; and about the end of the quick way."""
    multiples = np.arange(1, 170_000) * (np.pi / 4)
    ends = np.linspace(2.0**17 - 1, 2.0**17 + 1, 1000)
    x = around(np.concatenate([multiples, ends]))
    check(kernel(fn, "float32", x.size, target=target)(x, x), exact(fn, x), x, 2.0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", ["sin", "cos"])
def test_no_sine_is_more_than_one(fn: str, target: object) -> None:
    multiples = np.concatenate([np.arange(1, 40_000) * (np.pi / 2) + d for d in (0.0, 1e-4, -1e-4, 3e-4)])
    x = around(multiples)
    assert np.abs(kernel(fn, "float32", x.size, target=target)(x, x)).max() <= 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [1, 2, 8, 64])
@pytest.mark.parametrize("fn", BRANCHING)
def test_lanes_that_do_not_go_the_same_way(fn: str, lanes: int, target: object) -> None:
    x = mixed(4099)
    check(kernel(fn, "float32", x.size, lanes, target)(x, x), exact(fn, x), x, 2.0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_powers_of_bases_of_all_kinds(lanes: int, target: object) -> None:
    x = mixed(20_000)
    rng = np.random.default_rng(6)
    y = rng.uniform(-40, 40, x.size).astype(np.float32)
    y[::3] = np.rint(y[::3])
    y[::11] = rng.choice(
        np.array([0.0, np.inf, -np.inf, np.nan, 1e-42, 3e38, 2.0**24 - 1], np.float32), y[::11].size
    )
    x[::7] = 1.0
    check(kernel("pow", "float32", x.size, lanes, target)(x, y), exact("pow", x, y), x, 2.0)


@pytest.mark.parametrize("target", TARGETS)
def test_powers_of_bases_far_from_a_centre(target: object) -> None:
    """Where the logarithm has its greatest error, and results are so great or small that it counts."""
    rng = np.random.default_rng(8)
    middles = rng.choice([-0.25, 0.25, 0.5, 0.75], 300_000)
    x = (2 ** (middles + rng.normal(0, 0.01, middles.size))).astype(np.float32)
    most = rng.choice([119.5, 120.5, 127.9, 130.5, -119.5, -126, -140, -150.5, -152.5], x.size)
    y = ((most + rng.uniform(-1, 1, x.size)) / np.log2(x.astype(np.float64))).astype(np.float32)
    check(kernel("pow", "float32", x.size, target=target)(x, y), exact("pow", x, y), x, 2.0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [1, 8])
def test_powers_with_results_of_all_kinds(lanes: int, target: object) -> None:
    """Of usual bases; every few lanes a result that is 0, infinite or has lost digits."""
    rng = np.random.default_rng(9)
    x = rng.uniform(0.1, 10, 20_000).astype(np.float32)
    y = rng.uniform(-3, 3, x.size).astype(np.float32)
    far = np.array([np.inf, -np.inf, np.nan, 1e3, -1e3, 3e38, -3e38, 41.5, -41.5, 1e-42], np.float32)
    places = rng.random(x.size) < 0.05
    y[places] = rng.choice(far, int(places.sum()))
    x[::13] = 1.0
    check(kernel("pow", "float32", x.size, lanes, target)(x, y), exact("pow", x, y), x, 2.0)


@pytest.mark.parametrize("fn", ["log", "log2"])
def test_logarithms_of_float64(fn: str) -> None:
    x = np.concatenate([mixed(4099).astype(np.float64), [5e-324, 1e-310, 1.7e308]])
    with np.errstate(all="ignore"):
        wide = reference(fn)(x.astype(np.longdouble))
    check(kernel(fn, "float64", x.size, 4)(x, x), wide, x, 2.0)


@pytest.mark.parametrize("tail", ["guard", "peel", "shift_inward", "pad"])
def test_in_the_tail_of_a_loop(tail: str) -> None:
    """Where some lanes are left out, those must not be asked."""
    x = mixed(37)

    @lw.operator
    def sines() -> object:
        a = lw.input("x", (37,))
        return lw.compute("z", (37,), lambda i: lw.sin(a[i]) + lw.log(a[i]))

    work = sines()
    schedule = work.schedule().split("z.i", ("o", "v"), 8, tail=tail).vectorize("z.v")
    with np.errstate(all="ignore"):
        expected = np.sin(x.astype(np.float64)) + np.log(x.astype(np.float64))
    np.testing.assert_allclose(lw.build(work, schedule=schedule)(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lanes", [1, 8])
def test_inside_larger_expressions(lanes: int) -> None:
    """Under a select, in one another, twice the same."""
    x = mixed(515)

    @lw.operator
    def nested() -> object:
        a = lw.input("x", (515,))
        return lw.compute(
            "z",
            (515,),
            lambda i: lw.select(a[i] > 2, lw.sin(lw.log(a[i])), lw.cos(a[i])) + lw.sin(a[i]) * lw.sin(a[i]),
        )

    work = nested()
    schedule = work.schedule()
    got = lw.build(work, schedule=schedule.vectorize("z.i", lanes) if lanes > 1 else schedule)(x)
    with np.errstate(all="ignore"):
        d = x.astype(np.float64)
        expected = np.where(d > 2, np.sin(np.log(d)), np.cos(d)) + np.sin(d) ** 2
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("where", ["rows", "lanes", "neither"])
def test_in_a_reduction(where: str) -> None:
    """Over the vector's lanes, or beside it with the loop inside the vector."""
    x = np.random.default_rng(7).uniform(-2e5, 2e5, (24, 40)).astype(np.float32)

    @lw.operator
    def total() -> object:
        a = lw.input("x", x.shape)
        k = lw.reduce_axis("k", x.shape[1])
        return lw.compute("z", x.shape[:1], lambda i: lw.sum(lw.sin(a[i, k]), over=k))

    work = total()
    schedule = work.schedule()
    if where == "rows":
        schedule = schedule.vectorize("z.i", 8)
    elif where == "lanes":
        schedule = schedule.split("z.k", ("ko", "ki"), 8).rfactor("z.ki", name="part").vectorize("part.ki")
    got = lw.build(work, schedule=schedule)(x)
    np.testing.assert_allclose(got, np.sin(x.astype(np.float64)).sum(1), rtol=1e-4, atol=1e-5)

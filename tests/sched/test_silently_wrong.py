"""What TVM's schedules accepted and got wrong, one test each: refused here, or right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from tests.sched.workloads import matmul


@lw.operator
def two_stages(N: int) -> Any:
    a = lw.input("a", (N, N))
    b = lw.compute("b", (N, N), lambda i, j: a[i, j] + 1)
    return lw.compute("c", (N, N), lambda i, j: b[i, j] * 2 + b[j, i])


@lw.operator
def row_sums(M: int, N: int) -> Any:
    a = lw.input("a", (M, N))
    k = lw.reduce_axis("k", N)
    s = lw.compute("s", (M,), lambda i: lw.sum(a[i, k], over=k))
    return lw.compute("t", (M,), lambda i: s[i] + 1)


def whole_numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32)


def check(schedule: lw.Schedule, *arrays: np.ndarray) -> None:
    work = schedule.work
    np.testing.assert_array_equal(lw.build(work, schedule=schedule)(*arrays), work.reference(*arrays))


def test_a_stage_inside_a_vectorized_loop_is_refused_in_either_order() -> None:
    schedule = two_stages(8).schedule()
    with pytest.raises(lw.ScheduleError, match=r"inside the vectorized loop c\.i"):
        schedule.vectorize("c.i").compute_at("b", "c.j")
    with pytest.raises(lw.ScheduleError, match=r"inside the vectorized loop c\.i"):
        schedule.compute_at("b", "c.j").vectorize("c.i")


def test_a_loop_keeps_the_kind_it_was_given() -> None:
    schedule = two_stages(8).schedule()
    with pytest.raises(lw.ScheduleError, match="vectorized already"):
        schedule.vectorize("c.j").split("c.j", ("jo", "ji"), 4)
    with pytest.raises(lw.ScheduleError, match="parallel already"):
        schedule.parallel("c.i").fuse("c.i", "c.j", "f")


@pytest.mark.parametrize("first", ["split", "place"])
def test_a_split_survives_compute_at(first: str) -> None:
    steps = [lambda s: s.split("b.j", ("jo", "ji"), 3).vectorize("b.ji"), lambda s: s.compute_at("b", "c.i")]
    schedule = two_stages(10).schedule()
    for step in steps if first == "split" else reversed(steps):
        schedule = step(schedule)
    nest = schedule.nests.stages["b"]
    assert [(loop.name, loop.kind) for loop in nest.loops] == [
        ("i", "serial"),
        ("jo", "serial"),
        ("ji", "vectorize"),
    ]
    check(schedule, whole_numbers(10, 10))


def test_a_sum_over_nothing_is_zero() -> None:
    work = row_sums(5, 0)
    for schedule in (
        work.schedule(),
        work.schedule().compute_at("s", "t.i"),
        work.schedule().vectorize("s.i", 4),
    ):
        out = np.full(5, np.nan, np.float32)
        lw.build(work, schedule=schedule)(np.empty((5, 0), np.float32), out=out)
        np.testing.assert_array_equal(out, np.ones(5))


def test_a_split_with_a_tail_then_rfactor_then_compute_at() -> None:
    schedule = row_sums(6, 45).schedule().split("s.k", ("ko", "ki"), 8).rfactor("s.ki", name="part")
    for placed in (
        schedule,
        schedule.compute_at("s", "t.i"),
        schedule.compute_at("s", "t.i").compute_at("part", "s.i"),
    ):
        check(placed, whole_numbers(6, 45))


@pytest.mark.parametrize("factor", [8, 14, 28])
def test_a_copy_of_a_part_of_fused_rows_is_refused(factor: int) -> None:
    """Blocks of 8 straddle rows of 28, and are no box to copy."""
    schedule = matmul(28, 28, 9).schedule().fuse("C.i", "C.j", "f").split("C.f", ("fo", "fi"), factor)
    with pytest.raises(lw.ScheduleError, match="scattered"):
        schedule.cache_write("C", "local", at="C.fo")
    check(schedule, whole_numbers(28, 9), whole_numbers(9, 28))


@lw.operator
def tall_blur(H: int, W: int) -> Any:
    a = lw.input("a", (H + 2, W + 2))
    b = lw.compute("b", (H + 2, W), lambda y, x: a[y, x] + a[y, x + 1] + a[y, x + 2])
    return lw.compute("c", (H, W), lambda y, x: b[y, x] + b[y + 1, x] + b[y + 2, x])


@pytest.mark.parametrize("parallel", ["yo", "xo"])
def test_a_rolling_buffer_beside_parallel_tiles(parallel: str) -> None:
    order = {"yo": "yo xo yi xi", "xo": "xo yo yi xi"}[parallel]
    schedule = (
        tall_blur(37, 29)
        .schedule()
        .tile("c", y=("yo", "yi", 8), x=("xo", "xi", 8))
        .reorder("c", order)
        .parallel(f"c.{parallel}")
        .compute_at("b", "c.yi")
        .store_at("b", "c.xo" if parallel == "yo" else "c.yo")
    )
    check(schedule, whole_numbers(39, 31))


def test_extents_are_not_assumed_to_fit() -> None:
    """Every factor, also one that is longer than the loop, on every kind of tail."""
    for tail in ("auto", "guard", "peel", "pad"):
        for factor in (1, 3, 7, 50):
            schedule = (
                matmul(7, 10, 5).schedule().split("C.j", ("jo", "ji"), factor, tail=tail).vectorize("C.ji")
            )
            check(schedule, whole_numbers(7, 5), whole_numbers(5, 10))

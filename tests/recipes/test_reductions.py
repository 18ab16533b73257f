"""Reductions without reuse: in lanes along memory, in rows that stream past, in pieces for the cores."""

from __future__ import annotations

from dataclasses import replace

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.reductions import lanes_plan
from loopwright.sched.recipes.roles import roles_of
from tests.recipes.judging import ONE_CORE, assert_golden, assert_right, assert_space_is_right


@lw.operator
def total(M: int, N: int, dtype: str = "float32") -> Stage:
    x = lw.input("x", (M, N), dtype)
    i, k = lw.reduce_axis("i", M), lw.reduce_axis("k", N)
    return lw.compute("t", (), lambda: lw.sum(x[i, k], over=(i, k)))


@lw.operator
def spatial_mean(N: int, C: int, H: int, W: int) -> Stage:
    """The mean of each channel, channels first."""
    x = lw.input("x", (N, C, H, W))
    y, z = lw.reduce_axis("y", H), lw.reduce_axis("z", W)
    return lw.compute("mean", (N, C), lambda n, c: lw.sum(x[n, c, y, z], over=(y, z)) / (H * W))


@lw.operator
def extent(M: int, N: int, dtype: str = "float32") -> tuple[Stage, ...]:
    """The least and the greatest of each row, in one pass."""
    x, k = lw.input("x", (M, N), dtype), lw.reduce_axis("k", N)
    return lw.compute("ends", (M,), lambda i: (lw.min(x[i, k], over=k), lw.max(x[i, k], over=k)))


@lw.operator
def best(M: int, N: int, dtype: str = "float32") -> Stage:
    x, k = lw.input("x", (M, N), dtype), lw.reduce_axis("k", N)
    return lw.compute("at", (M,), lambda i: lw.argmax(x[i, k], over=k))


WORKS: dict[str, Workload] = {
    "row sums": ops.sum(X=(9, 100), axis=1),
    "row sums, a prime length": ops.sum(X=(3, 211), axis=1),
    "row sums, float64": ops.sum(X=(5, 70), axis=1, dtype="float64"),
    "row sums, float16": ops.sum(X=(5, 70), axis=1, dtype="float16"),
    "row sums, int8": ops.sum(X=(5, 150), axis=1, dtype="int8"),
    "row maxima": ops.max(X=(4, 90), axis=1),
    "norms": ops.norm(X=(1, 130), axis=1),
    "short rows": ops.sum(X=(40, 5), axis=1),
    "one column": ops.sum(X=(7, 1), axis=1),
    "total": total(M=13, N=77),
    "total of integers": total(M=300, N=77, dtype="int32"),
    "two axes along memory": spatial_mean(N=2, C=3, H=5, W=37),
    "two at once": extent(M=6, N=75),
    "argmax": best(M=6, N=75),
    "argmax of bytes": best(M=6, N=203, dtype="uint8"),
    "column sums": ops.sum(X=(50, 77), axis=0),
    "column sums, one column": ops.sum(X=(50, 1), axis=0),
    "a vector times a matrix": ops.matmul(M=1, N=45, K=67),
    "a matrix times a vector": ops.matmul(M=45, N=1, K=67),
    "a vector times a transposed matrix": ops.matmul(M=1, N=19, K=83, tb=True),
}


@pytest.mark.parametrize("name", WORKS)
def test_default_and_candidates_are_right(name: str) -> None:
    assert_space_is_right(WORKS[name], built=2)


def test_the_default_of_a_row_sum_keeps_lanes() -> None:
    assert_golden("default_row_sum", default_schedule(ops.sum(X=(1024, 1000), axis=1), ONE_CORE))


def test_the_default_of_a_column_sum_goes_by_rows() -> None:
    assert_golden("default_column_sum", default_schedule(ops.sum(X=(1024, 1000), axis=0), ONE_CORE))


def test_few_elements_are_reduced_in_pieces_by_the_cores() -> None:
    many = replace(ONE_CORE, cores=4)
    schedule = default_schedule(total(M=999, N=1003), many)
    assert schedule.nests.stages["t_pieces"].loops[0].kind == "parallel"
    assert_right(schedule)


@pytest.mark.parametrize(("length", "lanes"), [(1000, 40), (768, 32), (1009, 32), (40, 40), (16, 16)])
def test_lanes_divide_the_row_where_they_can(length: int, lanes: int) -> None:
    nests = ops.sum(X=(64, length), axis=1).schedule().nests
    assert lanes_plan(roles_of(nests, "Y"), ONE_CORE).lanes == lanes


def test_a_reducer_whose_order_matters_stays_in_order() -> None:
    @lw.operator
    def first(M: int, N: int) -> Stage:
        earlier = lw.reducer(lambda a, b: lw.select(a != 0, a, b), 0, name="earlier", commutative=False)
        x, k = lw.input("x", (M, N), "int32"), lw.reduce_axis("k", N)
        return lw.compute("y", (M,), lambda i: earlier(x[i, k], over=k))

    assert_right(default_schedule(first(M=5, N=90), ONE_CORE))


def test_an_argmax_finds_the_value_first_where_that_is_read() -> None:
    stages = default_schedule(best(M=64, N=1000), ONE_CORE).nests.stages
    assert "at_best" in stages
    assert "at_best" not in default_schedule(best(M=64, N=7), ONE_CORE).nests.stages


def test_short_rows_are_one_run() -> None:
    nests = default_schedule(spatial_mean(N=2, C=3, H=28, W=28), ONE_CORE).nests
    assert [axis.extent for axis in nests.stages["mean_lanes"].stage.reduce_axes] == [28 * 28 // 56]

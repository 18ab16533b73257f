"""decompose_reduction: the start of a reduction as a stage, in the reduction's buffer where that is right."""

from __future__ import annotations

from typing import Any

import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.loopnest import build
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.recurrences import product_and_scan
from tests.sched.tuple_workloads import best, halves, summary
from tests.sched.workloads import check_kernel, conv, dense, dense_apart, matmul, softmax, stats


def computes(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


def in_place(schedule: Schedule) -> bool:
    return bool(build(schedule.nests).started)


SIZES = [(9, 18, 6), (32, 64, 16), (1, 1, 1), (4, 5, 0), (0, 5, 3)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ["i j k", "k i j", "i k j"])
def test_at_root(size: tuple[int, int, int], order: str) -> None:
    schedule = matmul(*size).schedule().reorder("C", order).decompose_reduction("C")
    assert in_place(schedule)
    assert list(schedule.nests.stages) == ["C_init", "C"]
    computes(schedule)
    computes(schedule.parallel("C_init.i").vectorize("C_init.j", 8))
    computes(schedule.split("C.j", ("jo", "ji"), 8).vectorize("C.ji").parallel("C.i"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("tail", ["auto", "guard", "peel", "pad"])
def test_at_a_loop(size: tuple[int, int, int], tail: str) -> None:
    tiled = (
        matmul(*size)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 8), tail=tail)
        .reorder("C", "io jo k ii ji")
    )
    for loop in ("io", "jo"):
        schedule = tiled.decompose_reduction("C", at=f"C.{loop}", name="start")
        padded = tail == "pad" and (size[0] % 4 or size[1] % 8)
        assert in_place(schedule) == (not padded and size[0] > 0)
        computes(schedule)
        computes(schedule.parallel("C.io").vectorize("start.j", 8).vectorize("C.ji").unroll("C.ii"))


def test_not_in_place_where_blocks_would_reach_into_each_other() -> None:
    fused = matmul(6, 7, 5).schedule().fuse("C.i", "C.j", name="f").split("C.f", ("fo", "fi"), 4)
    assert not in_place(fused.decompose_reduction("C", at="C.fo"))
    computes(fused.decompose_reduction("C", at="C.fo").parallel("C.fo"))
    uneven = (
        matmul(10, 7, 5)
        .schedule()
        .split("C.i", ("io", "ii"), 4)
        .split("C.ii", ("ip", "iq"), 3)
        .decompose_reduction("C", at="C.ip")
    )
    assert not in_place(uneven)
    computes(uneven.parallel("C.io"))
    strided = matmul(10, 7, 5).schedule().split("C.i", ("io", "ii"), 4).reorder("C", "ii io")
    computes(strided.decompose_reduction("C", at="C.ii"))


def test_not_in_place_where_elements_are_computed_twice() -> None:
    moved = (
        matmul(10, 21, 5)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 8), tail="shift_inward")
        .reorder("C", "io jo k ii ji")
    )
    for at in (None, "C.io", "C.jo"):
        schedule = moved.decompose_reduction("C", at=at)
        assert not in_place(schedule)
        computes(schedule)
        computes(schedule.vectorize("C.ji").unroll("C.ii"))


def test_not_in_place_where_buffers_are_filled_in_turn() -> None:
    read = matmul(8, 7, 5).schedule().cache_read("A", at="C.i")
    schedule = read.pipeline("C.i", 3).decompose_reduction("C", at="C.i")
    assert not in_place(schedule)
    computes(schedule)
    ahead = matmul(8, 7, 5).schedule().cache_read("A", at="C.i").decompose_reduction("C", at="C.i")
    for ready in (ahead.pipeline("C.i", 2), ahead.double_buffer("A_global"), ahead.double_buffer("C_init")):
        computes(ready)


def test_with_more_around_it() -> None:
    epilogue = dense(10, 21, 7).schedule().decompose_reduction("C", at="C.i")
    assert not in_place(epilogue)
    computes(epilogue)
    inner = dense_apart(9, 18, 6).schedule().decompose_reduction("acc")
    assert in_place(inner)
    computes(inner)
    computes(inner.compute_at("acc", "biased.i"))
    computes(inner.reverse_compute_at("biased", "acc.i"))
    computes(inner.transform_layout("acc", "j i").storage_align("acc", "j", 16))
    computes(inner.storage_align("acc_init", "i", 16).transform_layout("acc", "j i"))
    computes(inner.cache_read("acc_init").cache_write("acc"))
    computes(inner.compute_inline("acc_init"))
    computes(inner.rfactor("acc.k").vectorize("acc_rf.j", 8))
    computes(inner.split("acc.k", ("ko", "ki"), 4).rfactor("acc.ki").compute_at("acc_rf", "acc.i"))
    for stage in ("top", "total"):
        computes(
            softmax(6, 11)
            .schedule()
            .decompose_reduction(stage)
            .decompose_reduction("total" if stage == "top" else "top")
        )
    computes(conv(3, 5, 6, 9).schedule().reorder("y", "c p q o i j").decompose_reduction("y"))
    computes(stats(6, 7).schedule().decompose_reduction("rows").decompose_reduction("total", at="total.z"))


@pytest.mark.parametrize("work", [lambda: best(5, 9), lambda: summary(4, 7), lambda: halves(6, 11)])
def test_tuples_start_from_tuples(work: Any) -> None:
    made: Workload = work()
    for stage in [s for s in made.stages if s.reduce is not None]:
        computes(made.schedule().decompose_reduction(stage.name))


def test_what_is_updated_afterwards() -> None:
    base = product_and_scan(5, 7, 6).schedule()
    computes(base.decompose_reduction("C"))
    computes(base.reorder("C", "k i j").decompose_reduction("C").parallel("C_init.i"))
    computes(base.rfactor("C.k"))
    computes(base.transform_layout("C", "j i").storage_align("C", "j", 8))


def test_in_the_names_of_another_workload() -> None:
    @lw.operator
    def other(M: int, N: int, K: int) -> Any:
        P, Q = lw.input("P", (M, K)), lw.input("Q", (K, N))
        j = lw.reduce_axis("j", K)
        return lw.compute("C_init", (M, N), lambda k, i: lw.sum(P[k, j] * Q[j, i], over=j))

    work = matmul(9, 18, 6)
    schedule = work.schedule().decompose_reduction("C", at="C.i").vectorize("C_init.j", 8)
    again = Schedule.from_json(other(9, 18, 6), schedule.to_json(), work.names)
    assert list(again.nests.stages) == ["C_init_", "C_init"]
    computes(again)

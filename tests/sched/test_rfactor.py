"""rfactor: the partial results it makes, and that they come to the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.nest import Place
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.workloads import check_kernel, conv, dense, matmul, normalise, softmax, stats


def computes(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


@lw.operator
def folded_rows(M: int, N: int, op: str, dtype: str = "int32") -> Any:
    A = lw.input("A", (M, N), dtype)
    k = lw.reduce_axis("k", N)
    reducer: Callable[..., Any] = getattr(lw, op)

    def value(i: Any) -> Any:
        return A[i, k] > 0 if op in ("any", "all") else A[i, k]

    return lw.compute("s", (M,), lambda i: reducer(value(i), over=k))


def by_lanes(work: Workload, width: int) -> Schedule:
    return work.schedule().split("s.k", ("ko", "ki"), width).rfactor("s.ki", name="lanes")


def test_the_stages_and_loops_it_makes() -> None:
    schedule = by_lanes(folded_rows(6, 20, "sum"), 8)
    nests = schedule.nests.stages
    assert list(nests) == ["lanes", "s"]
    assert [(loop.name, loop.reduce) for loop in nests["lanes"].loops] == [
        ("i", False),
        ("ko", True),
        ("ki", False),
    ]
    assert [(loop.name, loop.reduce) for loop in nests["s"].loops] == [("i", False), ("ki", True)]
    assert nests["lanes"].stage.shape == (6, 8)
    assert not nests["lanes"].relations
    assert "s_rf" in folded_rows(6, 20, "sum").schedule().rfactor("s.k").nests.stages


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "any", "all"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
@pytest.mark.parametrize("length", [24, 21, 3, 1, 0])
def test_every_reduction_and_length(op: str, dtype: str, length: int) -> None:
    schedule = by_lanes(folded_rows(5, length, op, dtype), 8)
    computes(schedule)
    computes(schedule.compute_at("lanes", "s.i").vectorize("lanes.ki").unroll("s.ki"))
    computes(folded_rows(5, length, op, dtype).schedule().rfactor("s.k"))


@pytest.mark.parametrize("tail", ["auto", "guard", "peel", "pad"])
def test_a_split_that_does_not_divide_then_placed(tail: str) -> None:
    """TVM drops the predicate here, and reads beyond the array."""
    work = folded_rows(7, 21, "sum")
    split = work.schedule().split("s.k", ("ko", "ki"), 8, tail=tail)
    for loop in ("s.ko", "s.ki"):
        schedule = split.rfactor(loop, name="part")
        computes(schedule)
        computes(schedule.compute_at("part", "s.i"))
        tiled = schedule.split("s.i", ("io", "ii"), 4, tail=tail)
        computes(tiled.compute_at("part", "s.io"))
        computes(tiled.compute_at("part", "s.io").parallel("s.io").vectorize("part.i", 4))


def test_an_epilogue_stays_where_the_reduction_ends() -> None:
    schedule = dense(10, 21, 7).schedule().split("C.k", ("ko", "ki"), 4).rfactor("C.ko")
    assert "bias" in str(schedule.nests.stages["C"].stage.body)
    computes(schedule)
    computes(schedule.compute_at("C_rf", "C.j").parallel("C.i"))
    computes(schedule.parallel("C_rf.ko"))


def test_the_sum_over_k_in_parallel() -> None:
    schedule = matmul(4, 5, 103).schedule().split("C.k", ("ko", "ki"), 16).rfactor("C.ko", name="part")
    computes(schedule.reorder("part", "ko i j ki").parallel("part.ko").vectorize("part.j"))


def test_splits_order_and_kinds_go_on() -> None:
    schedule = (
        matmul(16, 32, 21)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 16), k=("ko", "ki", 8))
        .split("C.ko", ("kp", "kq"), 2)
        .reorder("C", "io jo kp kq ki ii ji")
        .vectorize("C.ji")
        .unroll("C.ii")
        .unroll("C.kq")
        .parallel("C.io")
        .rfactor("C.ki", name="part")
    )
    nests = schedule.nests.stages
    kinds = {loop.name: loop.kind for loop in nests["part"].loops}
    assert kinds == {
        "io": "parallel", "jo": "serial", "kp": "serial", "kq": "unroll", "ki": "serial", "ii": "unroll", "ji": "vectorize",
    }  # fmt: skip
    assert [loop.name for loop in nests["C"].loops] == ["io", "jo", "ki", "ii", "ji"]
    assert [r.outer for r in nests["part"].relations] == ["io", "jo", "kp"]
    computes(schedule)
    computes(schedule.compute_at("part", "C.jo") if kinds["io"] == "serial" else schedule)


def test_fused_reduction_loops() -> None:
    base = conv(3, 5, 6, 9).schedule().fuse("y.p", "y.q", name="f")
    computes(base.rfactor("y.f"))
    computes(base.split("y.f", ("fo", "fi"), 4).rfactor("y.fi"))
    computes(base.split("y.f", ("fo", "fi"), 4).rfactor("y.fo"))
    straddling = conv(3, 5, 6, 9).schedule().split("y.c", ("co", "ci"), 2).fuse("y.ci", "y.p", name="f")
    computes(straddling.rfactor("y.f"))
    computes(straddling.rfactor("y.co"))
    computes(straddling.rfactor("y.q"))
    again = straddling.rfactor("y.q", name="by_q")
    computes(again.rfactor("by_q.co", name="by_co"))
    both = stats(6, 7).schedule().fuse("total.i", "total.j", name="f").split("total.f", ("fo", "fi"), 5)
    computes(both.rfactor("total.fi").vectorize("total_rf.fi"))


def test_what_was_computed_at_its_loops_moves_along() -> None:
    schedule = (
        matmul(9, 18, 21)
        .schedule()
        .split("C.k", ("ko", "ki"), 8)
        .cache_read("A", at="C.ko")
        .cache_read("B", at="C.i")
        .cache_write("C", at="C.i")
        .rfactor("C.ki", name="part")
    )
    places = {name: nest.place for name, nest in schedule.nests.stages.items()}
    assert places["A_global"] == Place("at", "part", "ko")
    assert places["B_global"] == Place("at", "part", "i")
    assert places["C_local"] == Place("after", "C", "i")
    computes(schedule)
    computes(schedule.compute_at("part", "C.i"))


def test_stages_between_others() -> None:
    for stage in ("top", "total"):
        schedule = softmax(6, 11).schedule().split(f"{stage}.k", ("ko", "ki"), 4).rfactor(f"{stage}.ki")
        computes(schedule)
        placed = schedule.compute_at("total", "y.i")
        placed = placed.compute_at("total_rf", "y.i") if stage == "total" else placed
        placed = placed.compute_at("e", "y.i").compute_at("top", "y.i")
        computes(placed.compute_at("top_rf", "y.i") if stage == "top" else placed)
    placed = normalise(5, 9).schedule().compute_at("y.sum0", "y.i").split("y.sum0.k", ("ko", "ki"), 4)
    schedule = placed.rfactor("y.sum0.ki", name="part")
    assert schedule.nests.stages["part"].place == Place("at", "y", "i")
    computes(schedule)


def test_in_the_names_of_another_workload() -> None:
    @lw.operator
    def other(M: int, N: int) -> Any:
        x = lw.input("x", (M, N), "int32")
        c = lw.reduce_axis("ki", N)
        return lw.compute("A", (M,), lambda ko: lw.sum(x[ko, c], over=c))

    mine, theirs = folded_rows(6, 21, "sum"), other(6, 21)
    assert mine.key == theirs.key
    schedule = (
        by_lanes(mine, 8)
        .split("lanes.i", ("io", "ii"), 2)
        .vectorize("lanes.ki")
        .compute_at("lanes", "s.i")
        .unroll("s.ki")
    )
    translated = Schedule.from_json(theirs, schedule.to_json(), mine.names)
    assert len(translated.directives) == len(schedule.directives)
    computes(translated)


def test_choices() -> None:
    width = lw.knob("width", [4, 8, 16])
    schedule = (
        folded_rows(6, 40, "sum")
        .schedule()
        .split("s.k", ("ko", "ki"), width)
        .rfactor("s.ki", name="lanes")
        .vectorize("lanes.ki")
    )
    assert schedule.valid_size == 3
    for chosen in width.values:
        computes(schedule.fill(width=chosen))


def test_default_schedules_and_features_take_it() -> None:
    from loopwright.autotune.features.program import Numbers, Structure, features
    from loopwright.sched.runtime.target import host

    schedule = by_lanes(folded_rows(6, 40, "sum"), 8).vectorize("lanes.ki")
    assert features(Structure.of(schedule.nests), Numbers(), host(), 1).shape[0] == 1

"""Layouts, alignment and scopes of buffers: the same values, stored otherwise."""

from __future__ import annotations

from typing import Any

import pytest

import loopwright as lw
from loopwright.sched.lowering.loopnest import build
from loopwright.sched.lowering.stmt import Alloc, Buffer, walk_statements
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.tuple_workloads import halves
from tests.sched.workloads import blur, check_kernel, conv, dense, dense_apart, matmul, softmax, turned


def computes(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


def buffer(schedule: Schedule, name: str) -> Buffer:
    found = [s.buffer for s in walk_statements(build(schedule.nests).body) if isinstance(s, Alloc)]
    return next(b for b in found if b.name == name)


@pytest.mark.parametrize("size", [(9, 18, 6), (32, 64, 16), (1, 5, 3), (7, 33, 1), (4, 5, 0)])
def test_the_layout_of_a_reduction(size: tuple[int, int, int]) -> None:
    base = dense_apart(*size).schedule()
    computes(base.transform_layout("acc", "j i"))
    tiled = base.split("acc.j", ("jo", "ji"), 8).split("acc.k", ("ko", "ki"), 4)
    for order in ("jo i ji", "ji jo i"):
        schedule = tiled.reorder("acc", "jo ko i ji ki").transform_layout("acc", order)
        computes(schedule)
        computes(schedule.vectorize("acc.ji").compute_at("acc", "biased.i"))
    padded = base.split("acc.j", ("jo", "ji"), 8, tail="pad").reorder("acc", "jo k i ji")
    computes(padded.transform_layout("acc", "jo i ji").vectorize("acc.ji"))
    fused = base.fuse("acc.i", "acc.j", name="f").split("acc.f", ("fo", "fi"), 5)
    computes(fused.transform_layout("acc", "fi fo"))


@pytest.mark.parametrize("size", [(9, 18, 6), (16, 32, 8), (1, 5, 3), (4, 5, 0)])
def test_the_layout_of_an_output(size: tuple[int, int, int]) -> None:
    tiled = matmul(*size).schedule().split("C.j", ("jo", "ji"), 8).reorder("C", "jo k i ji")
    schedule = tiled.transform_layout("C", "jo i ji")
    assert schedule.nests.outputs == {"C": "C_unpacked"}
    assert buffer(schedule, "C").dims == (-(-size[1] // 8), size[0], min(8, size[1]))
    computes(schedule)
    computes(
        schedule.vectorize("C.ji").parallel("C.jo").vectorize("C_unpacked.j", 8).parallel("C_unpacked.i")
    )
    named = dense(*size).schedule().transform_layout("C", "j i", name="back")
    assert "back" in named.nests.stages
    computes(named)
    computes(turned(6, 9).schedule().transform_layout("v", "j i"))


def test_the_layout_of_outputs_that_are_tuples() -> None:
    schedule = halves(6, 11).schedule().transform_layout("ends", "j i")
    assert buffer(schedule, "ends.0").dims == (11, 6)
    computes(schedule)


@pytest.mark.parametrize("size", [(9, 18, 6), (16, 32, 8), (1, 5, 3), (4, 5, 0)])
def test_the_layout_of_an_input(size: tuple[int, int, int]) -> None:
    base = matmul(*size).schedule()
    schedule = base.transform_layout("B", "j//8 k j % 8")
    assert [loop.name for loop in schedule.nests.stages["B_packed"].loops] == ["jo", "k", "ji"]
    assert buffer(schedule, "B_packed").dims == (-(-size[1] // 8), size[2], min(8, size[1]))
    tiled = schedule.split("C.j", ("jo", "ji"), 8).reorder("C", "jo i k ji")
    computes(schedule)
    computes(
        tiled.vectorize("C.ji")
        .vectorize("B_packed.ji")
        .parallel("B_packed.jo")
        .compute_at("B_packed", "C.jo")
    )
    computes(base.transform_layout("A", "k i", name="At"))
    computes(base.transform_layout("A", ["k//4", "i//2", "i%2", "k%4"]).transform_layout("B", "j k"))


def test_the_layout_of_an_input_that_is_read_with_windows() -> None:
    schedule = conv(3, 5, 6, 9).schedule().transform_layout("w", "o//4 c p q o%4")
    computes(schedule.split("y.o", ("oo", "oi"), 4).reorder("y", "oo i j c p q oi").vectorize("y.oi"))
    computes(conv(3, 5, 6, 9).schedule().transform_layout("x", "d1 n d2"))


def test_layouts_in_the_names_of_another_workload() -> None:
    @lw.operator
    def other(M: int, N: int, K: int) -> Any:
        P, Q = lw.input("P", (M, K)), lw.input("Q", (K, N))
        j = lw.reduce_axis("j", K)
        return lw.compute("jo", (M, N), lambda k, i: lw.sum(P[k, j] * Q[j, i], over=j))

    work = matmul(9, 18, 6)
    schedule = (
        work.schedule()
        .transform_layout("B", "j//8 k j%8")
        .vectorize("B_packed.ji")
        .split("C.j", ("jo", "ji"), 8)
        .transform_layout("C", "jo i ji")
        .storage_align("C", "i", 16)
        .parallel("C_unpacked.i")
    )
    again = Schedule.from_json(other(9, 18, 6), schedule.to_json(), work.names)
    assert [d.kind for d in again.directives] == [d.kind for d in schedule.directives]
    computes(again)
    names: dict[str, Any] = {"work": work, "lw": lw}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule


@pytest.mark.parametrize(("factor", "offset"), [(16, 0), (8, 3), (1, 0), (64, 1)])
def test_rows_apart(factor: int, offset: int) -> None:
    schedule = turned(7, 13).schedule().storage_align("t", "j", factor, offset)
    strides = buffer(schedule, "t").strides
    assert strides is not None
    assert strides[0] % factor == offset
    assert strides[0] >= 7
    computes(schedule)
    computes(schedule.storage_align("u", "i", factor, offset).vectorize("t.i", 4).compute_at("t", "u.i"))
    boxed = blur(13, 19).schedule().tile("by", y=("yo", "yi", 4), x=("xo", "xi", 8)).compute_at("bx", "by.xo")
    computes(boxed.storage_align("bx", "y", factor, offset).vectorize("bx.x", 8))


def test_several_dimensions_apart() -> None:
    packed = (
        matmul(9, 18, 6)
        .schedule()
        .transform_layout("B", "j//4 k j%4")
        .storage_align("B_packed", "k", 8)
        .storage_align("B_packed", "jo", 32, 16)
    )
    assert buffer(packed, "B_packed").strides == (48, 8, 1)
    computes(packed)
    computes(packed.storage_align("B_packed", "jo", 64))
    computes(conv(3, 5, 6, 9).schedule().storage_align("pad", "n", 7, 2).storage_align("pad", "i", 16))


def test_scopes() -> None:
    schedule = softmax(6, 11).schedule().compute_at("total", "y.i").set_scope("total", "local")
    assert schedule.nests.stages["total"].scope == "local"
    computes(schedule)
    computes(schedule.set_scope("e", "local").set_scope("e", "global"))


def test_choices_of_storage() -> None:
    schedule = (
        turned(7, 13)
        .schedule()
        .storage_align("t", "j", lw.knob("factor", [1, 16]), lw.knob("offset", [0, 1]))
        .set_scope("t", lw.knob("scope", ["local", "global"]))
    )
    assert schedule.valid_size == 6
    computes(schedule.fill(factor=16, offset=1, scope="local"))
    order = lw.knob("order", ["j//8 k j%8", "k j"])
    packed = matmul(9, 18, 6).schedule().transform_layout("B", order)
    for chosen in order.values:
        computes(packed.fill(order=chosen))

"""pad: longer axes, whose ends change nothing."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.sched.lowering.loopnest import build
from loopwright.sched.lowering.stmt import Microkernel, walk_statements
from loopwright.sched.runtime.target import host
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.test_tensorize import computes as computes_extremes
from tests.sched.test_tensorize import product
from tests.sched.tuple_workloads import best, halves
from tests.sched.workloads import check_kernel, checked, conv, dense_apart, matmul, normalise, softmax, turned


def computes(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


@pytest.mark.parametrize("factor", [1, 4, 8, 100])
@pytest.mark.parametrize("size", [(9, 18, 6), (1, 5, 3), (4, 5, 0), (0, 5, 3)])
def test_reductions(size: tuple[int, int, int], factor: int) -> None:
    schedule = matmul(*size).schedule().pad("C", "k", factor)
    computes(schedule)
    computes(schedule.split("C.k", ("ko", "ki"), 4).reorder("C", "ko i j ki").vectorize("C.j", 8))
    spatial = dense_apart(*size).schedule().pad("acc", "i", factor).pad("acc", "j", factor)
    computes(spatial)
    tiled = spatial.tile("acc", i=("io", "ii", 4), j=("jo", "ji", 8)).reorder("acc", "io jo k ii ji")
    computes(tiled.vectorize("acc.ji").unroll("acc.ii"))
    computes(tiled.transform_layout("acc", "jo io ji ii").compute_at("acc", "biased.i"))


def test_every_kind_of_reduction() -> None:
    for stage in ("top", "total"):
        computes(softmax(6, 11).schedule().pad(stage, "k", 8))
    computes(checked(5, 9).schedule().pad("found", "k", 4).pad("big", "j", 16))
    computes(normalise(5, 9).schedule().pad("y.max0", "k", 4).pad("y.sum0", "k", 4).pad("y.sum0", "i", 8))
    for work in (best(5, 9), halves(6, 11)):
        for stage in [s for s in work.stages if s.reduce is not None]:
            computes(work.schedule().pad(stage.name, stage.reduce_axes[0].name, 4))
    computes(conv(3, 5, 6, 9).schedule().pad("y", "c", 2).pad("y", "q", 4).pad("pad", "j", 8))


def test_stages_and_copies() -> None:
    schedule = turned(6, 9).schedule().pad("t", "i", 8).pad("u", "j", 4)
    assert schedule.nests.stages["t"].stage.shape == (9, 8)
    computes(schedule)
    computes(schedule.vectorize("t.i", 8).compute_at("t", "u.i").split("u.j", ("jo", "ji"), 4))
    copied = matmul(9, 18, 6).schedule().cache_read("B", name="Bp").pad("Bp", "j", 16).pad("Bp", "k", 4)
    computes(copied)
    computes(copied.split("C.j", ("jo", "ji"), 16, tail="pad").reorder("C", "jo i k ji").vectorize("C.ji"))
    computes(copied.compute_at("Bp", "C.i"))


def test_terms_of_zeros_need_no_condition() -> None:
    def padded(dtype: str, *copies: str) -> str:
        schedule = matmul(9, 18, 6, dtype).schedule()
        for name in copies:
            schedule = schedule.cache_read(name, name=f"{name}p").pad(f"{name}p", "k", 4)
        schedule = schedule.pad("C", "k", 4)
        computes(schedule)
        reduce = schedule.nests.stages["C"].stage.reduce
        assert reduce is not None
        return str(reduce.value)

    assert "select" in padded("int32")
    assert "select" not in padded("int32", "B")
    assert "select" not in padded("int8", "A")
    assert "select" in padded("float32", "B")
    assert "select" not in padded("float32", "A", "B")
    other = matmul(9, 18, 6, "int32").schedule().cache_read("B", name="Bp").pad("Bp", "j", 4).pad("C", "k", 4)
    assert other.nests.stages["C"].stage.reduce is not None
    assert "select" in str(other.nests.stages["C"].stage.reduce.value)
    computes(other)


@pytest.mark.skipif("avx2" not in host().features, reason="the intrinsic needs AVX2")
@pytest.mark.parametrize("size", [(13, 43, 11), (4, 16, 3), (5, 8, 1)])
def test_an_intrinsic_without_a_tail(size: tuple[int, int, int]) -> None:
    schedule = (
        product(*size)
        .schedule()
        .cache_read("A", name="Ap")
        .cache_read("B", name="Bp")
        .pad("Ap", "k", 2)
        .pad("Bp", "k", 2)
        .pad("Bp", "j", 8)
        .pad("C", "k", 2)
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 8), k=("ko", "ki", 2))
        .reorder("C", "io jo ko ii ji ki")
        .tile("Bp", k=("ko", "ki", 2), j=("jo", "ji", 8))
        .reorder("Bp", "jo ko ji ki")
        .transform_layout("Bp", "jo ko ji ki")
        .tensorize("C.ji", "avx2.dot8x2.i8")
    )
    assert any(isinstance(s, Microkernel) for s in walk_statements(build(schedule.nests).body))
    computes_extremes(schedule)


def test_forms() -> None:
    work = matmul(9, 18, 6)
    schedule = (
        work.schedule().cache_read("B").pad("B_global", "k", lw.knob("factor", [4, 8])).pad("C", "k", 4)
    )
    assert schedule.valid_size == 2
    full = schedule.fill(factor=8)
    assert Schedule.from_json(work, full.to_json()) == full
    computes(full)

"""Doing things ahead of time: buffers filled in turn, pipelined loops, prefetches; and loops run in groups."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.sched.lowering.loopnest import build
from loopwright.sched.lowering.stmt import Alloc, Fetch, For, walk_statements
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.workloads import blur, check_kernel, matmul

TAILS = ("auto", "guard", "peel", "pad")


def computes(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


def buffer(schedule: Schedule, stage: str) -> tuple[int, ...]:
    found = [s.buffer for s in walk_statements(build(schedule.nests).body) if isinstance(s, Alloc)]
    return next(b.dims for b in found if b.name == stage)


def copied(tail: str = "auto", size: tuple[int, int, int] = (20, 30, 37)) -> Schedule:
    """A product in tiles, with copies of both operands in the loop over blocks of the sum."""
    tiles = matmul(*size).schedule()
    tiles = tiles.tile("C", i=("io", "ii", 6), j=("jo", "ji", 16), k=("ko", "ki", 8), tail=tail)
    tiles = tiles.reorder("C", "io jo ko ii ki ji")
    return tiles.cache_read("A", "local", at="C.ko").cache_read("B", "shared", at="C.ko")


def test_double_buffer() -> None:
    schedule = copied().double_buffer("A_local")
    assert buffer(schedule, "A_local") == (2, 6, 8)
    assert buffer(schedule, "B_shared") == (8, 16)
    assert "buffer A_local: float32[6, 8] local, 2 in turn" in str(schedule)
    computes(schedule)
    computes(schedule.unroll("C.ko"))
    assert buffer(schedule.compute_root("A_local"), "A_local") == (20, 37)


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("tail", TAILS)
def test_pipeline(tail: str, stages: int) -> None:
    schedule = copied(tail).pipeline("C.ko", stages)
    computes(schedule)
    computes(schedule.transform_layout("B_shared", "j k").vectorize("C.ji").unroll("C.ii").parallel("C.io"))


@pytest.mark.parametrize("size", [(1, 1, 1), (6, 16, 8), (7, 17, 9), (4, 5, 0), (0, 5, 3), (3, 2, 16)])
def test_pipelines_of_few_iterations(size: tuple[int, int, int]) -> None:
    for stages in (2, 4):
        computes(copied(size=size).pipeline("C.ko", stages))


def test_a_pipeline_is_a_prologue_a_steady_state_and_an_epilogue() -> None:
    schedule = matmul(4, 6, 40).schedule().split("C.k", ("ko", "ki"), 8).reorder("C", "ko i j ki")
    schedule = schedule.cache_read("A", "local", at="C.ko").pipeline("C.ko", stages=3)
    loops = [s for s in walk_statements(build(schedule.nests).body) if isinstance(s, For)]
    assert [(s.extent, s.part) for s in loops if s.label == "C.ko"] == [(2, "init"), (3, ""), (2, "tail")]
    assert buffer(schedule, "A_local") == (3, 4, 8)
    computes(schedule)


@pytest.mark.parametrize("tail", TAILS)
def test_stages_other_than_copies_are_pipelined_too(tail: str) -> None:
    work = blur(23, 17)
    rows = work.schedule().split("by.y", ("yo", "yi"), 5, tail)
    computes(rows.compute_at("bx", "by.yo").pipeline("by.yo"))
    computes(rows.compute_at("bx", "by.yi").pipeline("by.yi", 3).parallel("by.yo"))
    tiles = work.schedule().tile("by", y=("yo", "yi", 5), x=("xo", "xi", 4), tail=tail)
    computes(tiles.compute_at("bx", "by.xo").pipeline("by.xo", 3).parallel("by.yo"))
    chain = rows.compute_at("bx", "by.yo").cache_read("img", at="by.yo", name="rows")
    computes(chain.pipeline("by.yo", 2))


def fetches(schedule: Schedule) -> list[Fetch]:
    return [s for s in walk_statements(build(schedule.nests).body) if isinstance(s, Fetch)]


def test_prefetch() -> None:
    schedule = matmul(20, 30, 37).schedule().prefetch("A", at="C.i", distance=2)
    assert [f.element.tensor.name for f in fetches(schedule)] == ["A"]
    assert "A fetched 2 ahead" in str(schedule)
    kernel = lw.build(schedule.work, target="cpu", schedule=schedule)
    check_kernel(schedule.work, kernel)
    assert "llvm.prefetch" in kernel.source("llvm")


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
@pytest.mark.parametrize("distance", [1, 4, 4000])
def test_prefetches_of_every_sort(dtype: str, distance: int) -> None:
    work = matmul(20, 33, 37, dtype)
    tiles = work.schedule().tile("C", i=("io", "ii", 6), k=("ko", "ki", 8)).reorder("C", "io ko j ii ki")
    computes(tiles.prefetch("B", at="C.ko", distance=distance).prefetch("A", at="C.io", distance=distance))
    packed = work.schedule().cache_read("B", name="packed").split("packed.j", ("jo", "ji"), 16)
    packed = packed.reorder("packed", "jo k ji").transform_layout("packed", "jo k ji")
    packed = packed.split("C.j", ("jo", "ji"), 16).reorder("C", "jo i k ji")
    computes(packed.prefetch("packed", at="C.k", distance=distance).vectorize("C.ji", 4).parallel("C.jo"))
    edges = blur(13, 19).schedule().compute_at("bx", "by.y")
    computes(edges.prefetch("img", at="by.y", distance=distance).prefetch("img", at="bx.x"))


@pytest.mark.parametrize("size", [(7, 13, 5), (1, 1, 1), (0, 5, 3), (16, 32, 8)])
def test_loops_in_groups(size: tuple[int, int, int]) -> None:
    schedule = matmul(*size).schedule().unroll("C.k", 4).parallel("C.i", grain=3).vectorize("C.j", 8)
    assert [loop.name for loop in schedule.nests.stages["C"].loops] == [
        "i.o",
        "i.g",
        "j.o",
        "k.o",
        "k.u",
        "j.v",
    ]
    computes(schedule)


def test_what_stands_at_a_loop_stands_at_its_outer_half() -> None:
    rows = blur(13, 19).schedule().compute_at("bx", "by.y").prefetch("img", at="by.y").store_root("bx")
    schedule = rows.unroll("by.y", 4)
    assert schedule.nests.stages["bx"].place.loop == schedule.nests.stages["by"].prefetches[0].loop == "y.o"
    computes(schedule)
    home = blur(13, 19).schedule().compute_at("bx", "by.x").store_at("bx", "by.y").parallel("by.y", grain=2)
    assert home.nests.stages["bx"].stored is not None
    assert home.nests.stages["bx"].stored.loop == "y.o"


def test_knobs_and_forms() -> None:
    stages, distance = lw.knob("stages", [2, 3]), lw.knob("distance", [1, 8])
    factor, grain = lw.knob("factor", [2, 4]), lw.knob("grain", [1, 2])
    space = copied().pipeline("C.ko", stages).prefetch("A", at="C.io", distance=distance)
    space = space.double_buffer("A_local").unroll("C.ii", factor).parallel("C.io", grain=grain)
    assert space.valid_size == 16
    assert "?factor{2,4}" in str(space)
    schedule = space.fill(stages=3, distance=8, factor=4, grain=2)
    assert Schedule.from_json(schedule.work, schedule.to_json()) == schedule
    names: dict[str, object] = {"work": schedule.work}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule
    computes(schedule)


def test_translated_to_other_names() -> None:
    @lw.operator
    def product(M: int, N: int, K: int) -> object:
        P, Q = lw.input("P", (M, K)), lw.input("Q", (K, N))
        r = lw.reduce_axis("r", K)
        return lw.compute("A", (M, N), lambda u, v: lw.sum(P[u, r] * Q[r, v], over=r))

    schedule = copied().prefetch("A", at="C.io").double_buffer("A_local").pipeline("C.ko").unroll("C.ii", 2)
    moved = Schedule.from_json(product(20, 30, 37), schedule.to_json(), schedule.work.names)
    assert len(moved.directives) == len(schedule.directives)
    computes(moved)

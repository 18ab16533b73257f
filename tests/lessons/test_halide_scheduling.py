"""Halide's lessons on scheduling, in Loopwright: 5, 8, 19 and 20."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from tests.lessons.run import grid, same


@lw.operator
def gradient(H: int, W: int) -> Any:
    return lw.compute("g", (H, W), lambda y, x: x + y)


def lesson_5(H: int, W: int) -> lw.Schedule:
    return gradient(H=H, W=W).schedule()


LESSON_5 = {
    "row by row": lesson_5(4, 4),
    "column by column": lesson_5(4, 4).reorder("g", "x y"),
    "split": lesson_5(4, 4).split("g.x", ("xo", "xi"), 2),
    "fused": lesson_5(4, 4).fuse("g.y", "g.x", "yx"),
    "tiles": lesson_5(8, 8).tile("g", y=("yo", "yi", 4), x=("xo", "xi", 4)),
    "in vectors": lesson_5(4, 8).split("g.x", ("xo", "xi"), 4).vectorize("g.xi"),
    "unrolled": lesson_5(4, 4).split("g.x", ("xo", "xi"), 2).unroll("g.xi"),
    "a factor that does not divide": lesson_5(2, 7).split("g.x", ("xo", "xi"), 3),
    "tiles in parallel": lesson_5(8, 8)
    .tile("g", y=("yo", "yi", 4), x=("xo", "xi", 4))
    .fuse("g.yo", "g.xo", "tile")
    .parallel("g.tile"),
    "everything": lesson_5(250, 350)
    .tile("g", y=("yo", "yi", 64), x=("xo", "xi", 64))
    .fuse("g.yo", "g.xo", "tile")
    .parallel("g.tile")
    .tile("g", yi=("yio", "ypair", 2), xi=("xio", "xvec", 4))
    .vectorize("g.xvec")
    .unroll("g.ypair"),
}


@pytest.mark.parametrize("name", LESSON_5)
def test_lesson_05_loops(name: str) -> None:
    schedule = LESSON_5[name]
    work = schedule.work
    y, x = grid(*work.outputs[0].shape)
    same(work, x + y, schedule=schedule)


@lw.operator
def four_neighbours(H: int, W: int) -> Any:
    """Lesson 8: a consumer that averages four points of a producer."""
    producer = lw.compute("producer", (H + 1, W + 1), lambda y, x: lw.sin(lw.cast("float32", x * y)))

    def value(y: Any, x: Any) -> Any:
        return (producer[y, x] + producer[y + 1, x] + producer[y, x + 1] + producer[y + 1, x + 1]) / 4

    return lw.compute("consumer", (H, W), value)


def lesson_8(H: int, W: int) -> lw.Schedule:
    return four_neighbours(H=H, W=W).schedule()


LESSON_8 = {
    "inlined": lesson_8(4, 4).compute_inline("producer"),
    "all of the producer first": lesson_8(4, 4),
    "a part for each row": lesson_8(4, 4).compute_at("producer", "consumer.y"),
    "a part for each point": lesson_8(4, 4).compute_at("producer", "consumer.x"),
    "a part for each tile": lesson_8(8, 8)
    .tile("consumer", y=("yo", "yi", 4), x=("xo", "xi", 4))
    .compute_at("producer", "consumer.xo"),
    "stored at root, computed for each row": lesson_8(4, 4)
    .compute_at("producer", "consumer.y")
    .store_root("producer"),
    "stored at root, computed for each point": lesson_8(4, 4)
    .compute_at("producer", "consumer.x")
    .store_root("producer"),
    "strips in parallel, a window in each": lesson_8(160, 160)
    .split("consumer.y", ("yo", "yi"), 16)
    .parallel("consumer.yo")
    .vectorize("consumer.x", 4)
    .compute_at("producer", "consumer.yi")
    .store_at("producer", "consumer.yo")
    .vectorize("producer.x", 4),
    "strips in parallel, in vectors": lesson_8(160, 160)
    .split("consumer.y", ("yo", "yi"), 16)
    .parallel("consumer.yo")
    .vectorize("consumer.x", 4)
    .compute_at("producer", "consumer.yi")
    .vectorize("producer.x", 4),
}


@pytest.mark.parametrize("name", LESSON_8)
def test_lesson_08_where_a_producer_is_computed(name: str) -> None:
    schedule = LESSON_8[name]
    H, W = schedule.work.outputs[0].shape
    y, x = grid(H + 1, W + 1)
    p = np.sin((x * y).astype(np.float32).astype(np.float64))
    want = (p[:-1, :-1] + p[1:, :-1] + p[:-1, 1:] + p[1:, 1:]) / 4
    got = lw.build(schedule.work, schedule=schedule)()
    np.testing.assert_allclose(got, want, atol=1e-6)


@lw.operator
def read_by_two(N: int) -> Any:
    """Lessons 19 and 20: one stage, two readers."""
    a = lw.input("a", (N, N))
    f = lw.compute("f", (N, N), lambda y, x: a[y, x] + 1)
    g = lw.compute("g", (N, N), lambda y, x: f[y, x] * 2)
    h = lw.compute("h", (N, N), lambda y, x: f[x, y] + 100)
    return g, h


def read_by_two_by_hand(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (a + 1) * 2, (a + 1).T + 100


LESSON_19 = {
    "a copy for all that read it": lambda s: s.cache_read("f", name="f_copy"),
    "a copy for one reader": lambda s: s.cache_read("f", name="f_copy", consumers=["g"]),
    "two copies, differently laid out": lambda s: (
        s.cache_read("f", name="for_g", consumers=["g"])
        .cache_read("f", name="for_h", consumers=["h"])
        .transform_layout("for_h", "x y")
    ),
    "an input staged by tiles": lambda s: s.tile("f", y=("yo", "yi", 4), x=("xo", "xi", 4)).cache_read(
        "a", "local", at="f.xo"
    ),
    "a result staged before it is stored": lambda s: s.tile(
        "g", y=("yo", "yi", 4), x=("xo", "xi", 4)
    ).cache_write("g", "local", at="g.xo"),
}


@pytest.mark.parametrize("name", LESSON_19)
def test_lesson_19_copies_of_a_stage(name: str) -> None:
    a = np.random.default_rng(0).integers(0, 9, (11, 11)).astype(np.float32)
    work = read_by_two(11)
    same(work, read_by_two_by_hand(a), a, schedule=LESSON_19[name](work.schedule()))


def test_lesson_20_a_stage_computed_twice() -> None:
    a = np.random.default_rng(1).integers(0, 9, (11, 11)).astype(np.float32)
    work = read_by_two(11)
    schedule = work.schedule().clone("f", ["h"]).compute_at("f", "g.y").compute_at("f_clone", "h.y")
    assert [nest.name for nest in schedule.nests.stages.values() if nest.place.kind == "at"] == [
        "f",
        "f_clone",
    ]
    same(work, read_by_two_by_hand(a), a, schedule=schedule)


def test_a_reduction_is_cloned_with_its_loops() -> None:
    @lw.operator
    def sums(N: int) -> Any:
        a = lw.input("a", (N, N))
        k = lw.reduce_axis("k", N)
        s = lw.compute("s", (N,), lambda i: lw.sum(a[i, k], over=k) * 2)
        return lw.compute("u", (N,), lambda i: s[i]), lw.compute("v", (N,), lambda i: s[N - 1 - i])

    a = np.random.default_rng(2).integers(0, 9, (9, 9)).astype(np.float32)
    work = sums(9)
    schedule = (
        work.schedule()
        .clone("s", ["v"], name="again")
        .split("again.k", ("ko", "ki"), 4)
        .compute_at("again", "v.i")
    )
    same(work, (2 * a.sum(1), 2 * a.sum(1)[::-1]), a, schedule=schedule)

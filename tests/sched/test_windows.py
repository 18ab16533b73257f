"""Stages stored farther out than they are computed: sliding windows and rolling buffers."""

from __future__ import annotations

import random

import pytest

import loopwright as lw
from loopwright.sched.lowering.loopnest import build
from loopwright.sched.lowering.stmt import Alloc, Sliding, walk_statements
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched import stencils
from tests.sched.stencils import SIZES, STENCILS
from tests.sched.workloads import check_kernel

TAILS = ("auto", "guard", "peel", "pad")


def computes(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


def sliding(schedule: Schedule, stage: str) -> Sliding:
    return build(schedule.nests).sliding[stage]


def buffer(schedule: Schedule, stage: str) -> tuple[int, ...]:
    found = [s.buffer for s in walk_statements(build(schedule.nests).body) if isinstance(s, Alloc)]
    return next(b.dims for b in found if b.name == stage)


@pytest.mark.parametrize("size", SIZES[:3])
@pytest.mark.parametrize("name", STENCILS)
def test_every_stencil_slides_at_every_loop(name: str, size: tuple[int, int]) -> None:
    """All pairs of loops of the reader: legal ones compute what the definition says."""
    work = STENCILS[name](*size)
    reader = work.outputs[-1].name
    loops = [f"{reader}.{shown(loop.name)}" for loop in work.schedule().nests.stages[reader].loops]
    made = 0
    for stage in work.schedule().nests.consumers(work.inputs[0].name)[:1]:
        for at in loops:
            for home in [None, *loops]:
                try:
                    schedule = work.schedule().compute_at(stage, at)
                    computes(schedule.store_at(stage, home) if home else schedule.store_root(stage))
                    made += 1
                except lw.ScheduleError:
                    continue
    assert made or name in ("three", "clamped", "apart", "beside", "diagonal")


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("size", SIZES[:3])
def test_tiles_with_every_tail(size: tuple[int, int], tail: str) -> None:
    tiles = stencils.two(*size).schedule().tile("c", y=("yo", "yi", 5), x=("xo", "xi", 6), tail=tail)
    computes(tiles.compute_at("b", "c.yi").store_at("b", "c.xo"))
    computes(tiles.compute_at("b", "c.yi").store_at("b", "c.yo"))
    computes(tiles.compute_at("b", "c.yi").store_root("b"))
    computes(tiles.compute_at("b", "c.xi").store_root("b"))
    computes(tiles.compute_at("b", "c.xo").store_root("b").vectorize("b.x", 4).vectorize("c.xi"))
    rows = tiles.reorder("c", "xo yo yi xi")
    computes(rows.compute_at("b", "c.yo").store_at("b", "c.xo").parallel("c.xo"))
    computes(rows.compute_at("b", "c.yi").store_at("b", "c.xo").split("b.y", ("q", "r"), 2, tail))


def test_an_iteration_adds_what_is_new_to_a_buffer_as_long_as_the_window() -> None:
    work = stencils.two(20, 8)
    schedule = work.schedule().compute_at("b", "c.y").store_root("b")
    assert sliding(schedule, "b") == Sliding((1, 8), (3, 8), {0: 4})
    assert buffer(schedule, "b") == (4, 8)
    assert buffer(work.schedule().compute_at("b", "c.y").store_root("b", fold=False), "b") == (22, 8)
    strips = work.schedule().split("c.y", ("yo", "yi"), 5).compute_at("b", "c.yi").store_at("b", "c.yo")
    assert buffer(strips, "b") == (4, 8)
    assert buffer(strips.compute_root("b"), "b") == (22, 8)
    computes(strips.parallel("c.yo"))


def test_the_eighth_lesson_of_halide() -> None:
    """``store_root, compute_at x``: every value is computed once, and two rows are kept."""
    schedule = stencils.square(6, 5).schedule().compute_at("b", "c.x").store_root("b")
    assert sliding(schedule, "b") == Sliding((1, 1), (2, 2), {0: 2})
    computes(schedule)
    strips = (
        stencils.square(160, 160)
        .schedule()
        .split("c.y", ("yo", "yi"), 16)
        .compute_at("b", "c.yi")
        .store_at("b", "c.yo")
        .parallel("c.yo")
        .vectorize("c.x", 4)
        .vectorize("b.x", 4)
    )
    assert buffer(strips, "b") == (2, 161)
    computes(strips)


def test_tiles_in_x_with_a_halo_fold_where_rows_come_back() -> None:
    """Every tile of columns needs all rows again: a buffer that all tiles share keeps them."""
    work = stencils.square(40, 24)
    tiles = work.schedule().split("c.x", ("xo", "xi"), 6).reorder("c", "xo y xi").compute_at("b", "c.y")
    assert buffer(tiles.store_root("b"), "b") == (41, 25)
    assert buffer(tiles.store_at("b", "c.xo"), "b") == (2, 7)
    for schedule in (tiles.store_root("b"), tiles.store_at("b", "c.xo").parallel("c.xo")):
        computes(schedule)
    with pytest.raises(lw.ScheduleError, match="run in parallel and would share the buffer"):
        tiles.store_root("b").parallel("c.xo")


def test_a_chain_of_three_slides_together() -> None:
    work = stencils.three(30, 9)
    strips = work.schedule().split("d.y", ("yo", "yi"), 8).parallel("d.yo")
    both = strips.compute_at("c", "d.yi").compute_at("b", "d.yi").store_at("c", "d.yo").store_at("b", "d.yo")
    assert sliding(both, "b") == Sliding((1, 9), (5, 9), {0: 8})
    assert sliding(both, "c") == Sliding((1, 9), (3, 9), {0: 4})
    computes(both)
    computes(work.schedule().compute_at("c", "d.y").compute_at("b", "d.y").store_root("b"))
    computes(work.schedule().compute_at("c", "d.y").compute_at("b", "d.y").store_root("c").store_root("b"))
    computes(strips.compute_at("c", "d.yo").compute_at("b", "c.y").store_at("b", "d.yo"))
    computes(
        strips.compute_at("c", "d.yi").store_at("c", "d.yo").compute_at("b", "c.y").store_at("b", "d.yi")
    )


def test_edges_repeated_between_stages_slide_too() -> None:
    work = stencils.clamped(21, 10)
    schedule = work.schedule().compute_at("c", "d.y").compute_at("b", "d.y").store_root("b")
    assert buffer(schedule, "b") == (4, 10)
    computes(schedule)


def test_steps_of_two_and_of_a_half() -> None:
    down = stencils.halved(15, 6).schedule().compute_at("b", "c.y").store_root("b")
    assert sliding(down, "b") == Sliding((2, 6), (4, 6), {0: 4})
    computes(down)
    up = stencils.doubled(15, 6).schedule().compute_at("b", "c.y").store_root("b")
    assert sliding(up, "b").added == (1, 6)
    computes(up)


def test_an_axis_that_moves_nothing_computes_once() -> None:
    work = stencils.channels(9, 5)
    schedule = work.schedule().compute_at("b", "c.y").store_root("b")
    assert buffer(schedule, "b") == (11, 5)
    computes(schedule)
    inner = work.schedule().reorder("c", "y o x").compute_at("b", "c.o").store_root("b")
    assert buffer(inner, "b") == (4, 5)
    computes(inner)


def test_windows_slide_along_a_reduction() -> None:
    work = stencils.along(17, 5)
    schedule = work.schedule().reorder("c", "k x").compute_at("b", "c.k").store_root("b")
    assert buffer(schedule, "b") == (4, 5)
    computes(schedule)
    computes(work.schedule().compute_at("b", "c.k").store_at("b", "c.x"))


def test_a_vector_along_the_window_keeps_it_whole() -> None:
    work = stencils.line(8, 8)
    plain = work.schedule().split("c.i", ("io", "ii"), 8).compute_at("b", "c.io").store_root("b")
    assert buffer(plain, "b") == (16,)
    assert buffer(plain.vectorize("c.ii"), "b") == (68,)
    for schedule in (plain, plain.vectorize("c.ii"), plain.vectorize("b.i", 4)):
        computes(schedule)


def test_layout_and_scope_stay() -> None:
    schedule = (
        stencils.two(12, 10)
        .schedule()
        .split("b.x", ("xo", "xi"), 4)
        .compute_at("b", "c.y")
        .store_root("b")
        .transform_layout("b", "y xo xi")
    )
    computes(schedule)
    rows = stencils.two(12, 10).schedule().compute_at("b", "c.y").store_root("b")
    rows = rows.cache_read("a", "local", at="c.y", name="rows").store_root("rows")
    assert buffer(rows, "rows") == (4, 12)
    computes(rows)


def test_order_of_writing_does_not_matter() -> None:
    work = stencils.two(12, 10)
    first = work.schedule().store_root("b").compute_at("b", "c.y")
    last = work.schedule().compute_at("b", "c.y").store_root("b")
    assert first.nests == last.nests


def test_forms_and_knobs() -> None:
    work = stencils.two(12, 10)
    fold = lw.knob("fold", [True, False])
    home = lw.knob("home", ["c.yo", "c.yi"])
    space = work.schedule().tile("c", y=("yo", "yi", 4), x=("xo", "xi", 4)).reorder("c", "yo yi xo xi")
    space = space.compute_at("b", "c.xo").store_at("b", home, fold=fold)
    assert space.valid_size == 4
    for choice in ({"home": "c.yo", "fold": False}, {"home": "c.yi", "fold": True}):
        schedule = space.fill(choice)
        assert Schedule.from_json(work, schedule.to_json()) == schedule
        names: dict[str, object] = {"work": work}
        exec(schedule.to_python(), names)
        assert names["schedule"] == schedule
        computes(schedule)


def test_translated_to_other_names() -> None:
    @lw.operator
    def other(H: int, W: int) -> object:
        img = lw.input("img", (H + 2, W + 2), "int32")
        c = lw.compute("c", (H + 2, W), lambda v, u: img[v, u] + img[v, u + 1] * 2 + img[v, u + 2])
        return lw.compute("b", (H, W), lambda v, u: c[v, u] + c[v + 1, u] * 3 + c[v + 2, u])

    work, theirs = other(12, 10), stencils.two(12, 10)
    schedule = theirs.schedule().compute_at("b", "c.x").store_at("b", "c.y")
    moved = Schedule.from_json(work, schedule.to_json(), theirs.names)
    assert moved == work.schedule().compute_at("c", "b.u").store_at("c", "b.v")
    computes(moved)


@pytest.mark.parametrize("seed", range(40))
def test_random_windows(seed: int) -> None:
    """Tiles, orders, places and homes at random; what is legal computes what the definition says."""
    rng = random.Random(seed)
    work = STENCILS[rng.choice(list(STENCILS))](*rng.choice(SIZES))
    schedule = work.schedule()
    for number in range(12):
        nest = schedule.nests.stages[rng.choice(list(schedule.nests.stages))]
        loops = [shown(loop.name) for loop in nest.loops]
        own = [f"{nest.name}.{loop}" for loop in loops]
        readers = [schedule.nests.stages[name] for name in schedule.nests.consumers(nest.name)]
        around = [f"{r.name}.{shown(loop.name)}" for r in readers for loop in r.loops]
        tried = rng.choice(["split", "reorder", "parallel", "at", "at", "store", "store", "root"])
        try:
            if tried == "split":
                factor, tail = rng.choice((1, 2, 3, 5, 8)), rng.choice(TAILS)
                schedule = schedule.split(rng.choice(own), (f"o{number}", f"i{number}"), factor, tail)
            elif tried == "reorder":
                schedule = schedule.reorder(nest.name, rng.sample(loops, len(loops)))
            elif tried == "parallel":
                schedule = schedule.parallel(rng.choice(own))
            elif tried == "root":
                schedule = schedule.store_root(nest.name, fold=rng.random() < 0.8)
            elif around:
                at = rng.choice(around)
                schedule = (
                    schedule.compute_at(nest.name, at) if tried == "at" else schedule.store_at(nest.name, at)
                )
        except lw.ScheduleError:
            continue
    computes(schedule)
    assert str(schedule)

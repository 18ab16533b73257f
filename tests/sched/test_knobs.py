"""Knobs: spaces of schedules, filling them, and what is legal in them."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.workloads import dense_apart, matmul, tiled_matmul


def template() -> Schedule:
    i_tile, j_tile = lw.knob("i_tile", [4, 6, 8, 12, 16]), lw.knob("j_tile", [16, 32, 48, 64])
    return tiled_matmul((256, 256, 256), i_tile, j_tile)


def test_a_template_is_a_space() -> None:
    space = template()
    assert list(space.knobs) == ["i_tile", "j_tile"]
    assert space.space_size == space.valid_size == 20
    assert space.check() == []
    assert space.chosen == {}
    filled = space.fill(i_tile=8, j_tile=32)
    assert filled.knobs == {}
    assert filled.space_size == filled.valid_size == 1
    assert filled.chosen == {"i_tile": 8, "j_tile": 32}
    assert filled == space.fill({"j_tile": 32, "i_tile": 8})
    assert filled != space.fill(i_tile=6, j_tile=32)
    assert Schedule.from_json(space.work, space.to_json()) == space
    again = Schedule.from_json(space.work, filled.to_json())
    assert again == filled
    assert again.chosen == filled.chosen
    assert filled.fill() == filled
    assert filled.fill().chosen == filled.chosen


def test_a_filled_schedule_is_the_one_written_by_hand() -> None:
    by_hand = tiled_matmul((256, 256, 256))
    assert template().fill(i_tile=8, j_tile=32) == by_hand
    assert template().fill(i_tile=8, j_tile=32).nests.stages["C"].loops == by_hand.nests.stages["C"].loops


def test_a_knob_stands_for_numbers_names_orders_and_choices() -> None:
    work = dense_apart(64, 64, 64)
    space = (
        work.schedule()
        .tile(
            "out",
            i=("io", "ii", lw.knob("tile", [4, 8])),
            j=("jo", "ji", 16),
            tail=lw.knob("tail", ["peel", "guard"]),
        )
        .compute_inline("biased")
        .compute_at("acc", lw.knob("at", ["out.io", "out.jo"]))
        .split("acc.k", ("ko", "ki"), lw.knob("k", [8, 16]))
        .reorder("acc", lw.knob("order", ["ko i ki j", "i ko ki j"]))
        .vectorize("acc.j", lw.knob("lanes", [4, 8]))
        .unroll("acc.ki", when=lw.knob("unroll", [True, False]))
        .cache_read("B", lw.knob("scope", ["local", "global"]), at="acc.ko", name="B_tile")
    )
    assert space.space_size == 256
    assert space.valid_size == 256
    choices = {name: knob.values[-1] for name, knob in space.knobs.items()}
    filled = space.fill(choices)
    assert [d.kind for d in filled.directives].count("unroll") == 0  # switched off: it is not written at all
    assert filled.nests.stages["acc"].place.loop == "jo"
    assert [loop.name for loop in filled.nests.stages["acc"].loops] == ["i", "ko", "ki", "j.o", "j.v"]
    on = space.fill({**choices, "unroll": True})
    assert on.directives[-2].args == (("loop", "acc.ki"),)
    for schedule in (space, filled, on):
        assert Schedule.from_json(work, schedule.to_json()) == schedule


def test_derived_knobs() -> None:
    t = lw.knob("t", [4, 8])
    work = matmul(64, 64, 64)
    space = (
        work.schedule()
        .split("C.i", ("io", "ii"), 2 * t)
        .split("C.j", ("jo", "ji"), (t + 4) // 2 - 1 + 10 % t)
    )
    assert list(space.knobs) == ["t"]
    assert [d.get("factor") for d in space.fill(t=8).directives] == [16, 7]
    assert [d.get("factor") for d in space.fill(t=4).directives] == [8, 5]
    assert Schedule.from_json(work, space.to_json()) == space
    with pytest.raises(lw.ScheduleError, match="divides by zero"):
        work.schedule().split("C.i", ("io", "ii"), 8 // (t - t))


def test_illegal_combinations_are_listed_with_their_reason() -> None:
    a, b = lw.knob("a", [8, 64]), lw.knob("b", [16, 128])
    work = matmul(512, 512, 64)
    space = (
        work.schedule()
        .split("C.i", ("io", "ii"), a)
        .split("C.j", ("jo", "ji"), b)
        .reorder("C", "io jo k ii ji")
        .unroll("C.ii")
        .unroll("C.ji")
    )
    assert space.space_size == 4
    assert space.valid_size == 3
    assert space.fill(a=8, b=128).chosen == {"a": 8, "b": 128}
    ((choices, reason),) = space.check()
    assert choices == {"a": 64, "b": 128}
    assert reason.startswith("unroll C.ji: the body would be written out 8192 times")
    with pytest.raises(lw.ScheduleError, match="unroll C.ji"):
        space.fill(choices)


def test_a_directive_is_refused_only_if_no_choice_is_legal() -> None:
    work = matmul(64, 64, 64)
    t = lw.knob("t", [0, -3, 4])
    assert work.schedule().split("C.i", ("io", "ii"), t).valid_size == 1
    with pytest.raises(lw.ScheduleError, match=r"(?s)the factor is -3.*no other choice is legal"):
        work.schedule().split("C.i", ("io", "ii"), lw.knob("t", [0, -3]))
    # The first choice is legal at first; a later directive needs the last one.
    order = lw.knob("order", ["i j k", "j i k", "k i j"])
    space = work.schedule().reorder("C", order)
    assert space.fuse("C.j", "C.i", name="f").valid_size == 1
    assert space.fuse("C.j", "C.i", name="f").witness == {"order": "j i k"}
    with pytest.raises(lw.ScheduleError, match="fuse C.k, C.i"):
        space.fuse("C.k", "C.i", name="f")


def test_large_spaces_are_sampled() -> None:
    space = matmul(64, 64, 64).schedule()
    for number in range(6):
        space = space.split(
            f"C.{'i' if number == 0 else f'o{number - 1}'}",
            (f"o{number}", f"i{number}"),
            lw.knob(f"k{number}", range(1, 9)),
        )
    assert space.space_size == 8**6
    assert space.valid_size == 8**6


def test_knobs_and_choices_are_checked() -> None:
    with pytest.raises(lw.ScheduleError, match="at least one value"):
        lw.knob("a", [])
    with pytest.raises(lw.ScheduleError, match="stands twice"):
        lw.knob("a", [1, True])
    with pytest.raises(lw.ScheduleError, match="no integer, text or bool"):
        lw.knob("a", [1.5])
    with pytest.raises(lw.ScheduleError, match="a list"):
        lw.knob("a", "abc")
    with pytest.raises(lw.ScheduleError, match="without spaces"):
        lw.knob("a b", [1])
    with pytest.raises(lw.ScheduleError, match="no value yet"):
        bool(lw.knob("a", [1]))
    with pytest.raises(lw.ScheduleError, match="takes integers and knobs"):
        lw.knob("a", [1]) * 1.5
    space = template()
    with pytest.raises(lw.ScheduleError, match="no value is given for j_tile"):
        space.fill(i_tile=4)
    with pytest.raises(lw.ScheduleError, match="there is no knob 'k_tile'"):
        space.fill(i_tile=4, j_tile=16, k_tile=1)
    with pytest.raises(lw.ScheduleError, match="not among the knob's values"):
        space.fill(i_tile=5, j_tile=16)
    with pytest.raises(lw.ScheduleError, match="two knobs are named 'i_tile'"):
        space.split("C.k", ("ko", "ki"), lw.knob("i_tile", [2]))
    assert space.split("C.k", ("ko", "ki"), lw.knob("i_tile", [4, 6, 8, 12, 16])).space_size == 20

"""Schedules as values: equality, forms, other processes, other names."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import Loop
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.generate import propose, schedules
from tests.sched.programs import run
from tests.sched.workloads import WORKLOADS, blur, check_kernel, matmul, softmax, tiled_matmul


def quickstart() -> Schedule:
    return tiled_matmul((500, 300, 200))


def loops(schedule: Schedule, stage: str = "C") -> str:
    return " ".join(shown(loop.name) for loop in schedule.nests.stages[stage].loops)


def test_a_schedule_does_not_change() -> None:
    base = matmul(500, 300, 200).schedule()
    assert loops(base.split("C.i", ("io", "ii"), 8)) == "io ii j k"
    assert loops(base) == "i j k"
    for name in ("work", "directives", "chosen", "other"):
        with pytest.raises(AttributeError):
            setattr(base, name, None)
    with pytest.raises(AttributeError):
        del base.directives


def test_schedules_compare_by_what_they_say() -> None:
    one, two = quickstart(), quickstart()
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two}) == 1
    assert one != one.work.schedule()
    assert one != "a schedule"
    work = matmul(500, 300, 200)
    assert work.schedule().reorder("C", "k i j") == work.schedule().reorder("C", ["k", "i", "j"])
    assert work.schedule().reorder("C", "k,i, j") == work.schedule().reorder("C", ("k", "i", "j"))
    assert work.schedule().cache_read("B") == work.schedule().cache_read("B", "global")
    assert work.schedule() != matmul(500, 300, 201).schedule()


def test_equal_formulas_in_other_names_are_other_schedules() -> None:
    @lw.operator
    def swapped(M: int, N: int, K: int) -> Any:
        B = lw.input("B", (M, K))
        A = lw.input("A", (K, N))
        k = lw.reduce_axis("k", K)
        return lw.compute("C", (M, N), lambda i, j: lw.sum(B[i, k] * A[k, j], over=k))

    ours, theirs = matmul(4, 5, 6), swapped(4, 5, 6)
    assert ours.key == theirs.key
    assert ours.schedule().cache_read("A") != theirs.schedule().cache_read("A")


def test_json_says_what_was_written() -> None:
    data = json.loads(quickstart().to_json())
    assert list(data) == ["v", "directives", "knobs", "chosen"]
    assert data["directives"][0] == [
        "split",
        {"loop": "C.i", "names": ["io", "ii"], "factor": 8, "tail": "auto"},
    ]
    assert data["directives"][2] == ["reorder", {"stage": "C", "order": "io jo k ii ji"}]
    assert data["directives"][3] == ["vectorize", {"loop": "C.ji"}]
    assert Schedule.from_json(matmul(500, 300, 200), data) == quickstart()
    assert Schedule.from_json(matmul(500, 300, 200), quickstart().to_json()) == quickstart()


def test_another_process_restores_an_equal_schedule() -> None:
    program = """
        import json, sys, loopwright as lw
        from loopwright.sched.language.workload import Workload
        work = Workload.from_json(json.loads(sys.argv[1]))
        print(json.dumps(lw.Schedule.from_json(work, sys.argv[2]).to_json()))
    """
    template = quickstart().split("C.k", ("ko", "ki"), 2 * lw.knob("t", [4, 8]))
    for schedule in (quickstart(), template, template.fill(t=8)):
        again = run(program, json.dumps(schedule.work.to_json()), schedule.to_json())
        assert again == schedule.to_json()


def test_copies_are_the_schedule_itself() -> None:
    schedule = quickstart()
    assert copy.copy(schedule) is schedule
    assert copy.deepcopy([schedule])[0] is schedule


@pytest.mark.parametrize(
    "text",
    [
        "", "nonsense", "[]", "3", "null", "{}", '{"v":2,"directives":[]}', '{"v":1}', '{"v":1,"directives":{}}',
        '{"v":1,"directives":[[]]}', '{"v":1,"directives":[["split"]]}', '{"v":1,"directives":[["split",[]]]}',
        '{"v":1,"directives":[[3,{}]]}', '{"v":1,"directives":[["bind",{"loop":"C.i"}]]}',
        '{"v":1,"directives":[["split",{"loop":"C.i","names":["a","b"]}]]}',
        '{"v":1,"directives":[["split",{"loop":3,"names":["a","b"],"factor":3}]]}',
        '{"v":1,"directives":[["split",{"loop":"C.i","names":["a",4],"factor":3}]]}',
        '{"v":1,"directives":[["split",{"loop":"C.i","names":["a","b"],"factor":{"knob":"x"}}]]}',
        '{"v":1,"directives":[["split",{"loop":"C.i","names":["a","b"],"factor":{"knob":["x"]}}]],"knobs":{"x":[1]}}',
        '{"v":1,"directives":[["split",{"loop":"C.i","names":["a","b"],"factor":{"op":"pow","of":[1,2]}}]]}',
        '{"v":1,"directives":[["split",{"loop":"C.i","names":["a","b"],"factor":3.5}]]}',
        '{"v":1,"directives":[["tile",{"stage":"C","tiles":[["i","a"]]}]]}',
        '{"v":1,"directives":[["tile",{"stage":"C","tiles":3}]]}',
        '{"v":1,"directives":[["unroll",{"loop":"C.i","when":3}]]}',
        '{"v":1,"directives":[["cache_read",{"tensor":["A"]}]]}',
        '{"v":1,"directives":[["cache_read",{"tensor":"A","consumers":"C"}]]}',
        '{"v":1,"directives":[["cache_read",{"tensor":"A","consumers":[["C"]]}]]}',
        '{"v":1,"directives":[["cache_read",{"tensor":"A","at":3}]]}',
        '{"v":1,"directives":[["cache_read",{"tensor":"A","name":3}]]}',
        '{"v":1,"directives":[["reorder",{"stage":"C","order":[["i"]]}]]}',
        '{"v":1,"directives":[["fuse",{"outer":"C.i","inner":"C.j","name":["f"]}]]}',
        '{"v":1,"directives":[],"knobs":[]}', '{"v":1,"directives":[],"knobs":{"x":3}}', '{"v":1,"directives":[],"chosen":3}',
    ],
)  # fmt: skip
def test_malformed_json_is_refused_by_name(text: str) -> None:
    with pytest.raises(lw.ScheduleError):
        Schedule.from_json(matmul(4, 5, 6), text)


def test_python_form_is_what_a_user_would_write() -> None:
    assert quickstart().to_python() == (
        "schedule = (\n"
        "    work.schedule()\n"
        '    .split("C.i", ("io", "ii"), 8)\n'
        '    .split("C.j", ("jo", "ji"), 32)\n'
        '    .reorder("C", "io jo k ii ji")\n'
        '    .vectorize("C.ji")\n'
        '    .unroll("C.ii")\n'
        '    .parallel("C.io")\n'
        ")\n"
    )
    assert matmul(4, 5, 6).schedule().to_python() == "schedule = work.schedule()\n"


def test_python_form_with_knobs() -> None:
    i_tile, order = lw.knob("i tile".replace(" ", "-"), [4, 8]), lw.knob("lambda", ["io k ii j", "k io ii j"])
    template = (
        matmul(8, 8, 8)
        .schedule()
        .split("C.i", ("io", "ii"), (i_tile + 4) // 2)
        .reorder("C", order)
        .unroll("C.ii", when=lw.knob("u", [True, False]))
    )
    names: dict[str, Any] = {"work": template.work, "lw": lw}
    exec(template.to_python(), names)
    assert names["schedule"] == template


# --- translation to other names ------------------------------------------------------------------------------------


def translated(schedule: Schedule, mine: Any) -> Schedule:
    assert mine.key == schedule.work.key
    return Schedule.from_json(mine, schedule.to_json(), names=schedule.work.names)


def test_translation_to_the_same_names_changes_nothing() -> None:
    assert translated(quickstart(), matmul(500, 300, 200)) == quickstart()


def test_translation_of_swapped_and_clashing_names() -> None:
    @lw.operator
    def renamed(M: int, N: int, K: int) -> Any:
        """A and B swapped, i and j swapped, and an axis that has the name of a loop that the schedule makes up."""
        B = lw.input("B", (M, K))
        A = lw.input("A", (K, N))
        r = lw.reduce_axis("io", K)
        return lw.compute("A_global", (M, N), lambda j, i: lw.sum(B[j, r] * A[r, i], over=r))

    schedule = (
        quickstart()
        .cache_read("A", at="C.io")
        .cache_read("B", "local", name="packed")
        .vectorize("packed.j", 8)
        .reorder("packed", "j k")
    )
    mine = translated(schedule, renamed(500, 300, 200))
    assert mine.to_python() == (
        "schedule = (\n"
        "    work.schedule()\n"
        '    .split("A_global.j", ("io_", "ii"), 8)\n'
        '    .split("A_global.i", ("jo", "ji"), 32)\n'
        '    .reorder("A_global", "io_ jo io ii ji")\n'
        '    .vectorize("A_global.ji")\n'
        '    .unroll("A_global.ii")\n'
        '    .parallel("A_global.io_")\n'
        '    .cache_read("B", "global", at="A_global.io_", name="A_global_")\n'
        '    .cache_read("A", "local", name="packed")\n'
        '    .vectorize("packed.i", 8)\n'
        '    .reorder("packed", "i io")\n'
        ")\n"
    )
    with pytest.raises(lw.ScheduleError, match="do not fit"):
        Schedule.from_json(mine.work, schedule.to_json(), names={"i0": "A"})


def test_translation_of_knobs_that_name_loops() -> None:
    @lw.operator
    def turned(H: int, W: int) -> Any:
        x = lw.input("x", (H, W))
        r = lw.reduce_axis("r", W)
        a = lw.compute("e", (H,), lambda z: lw.max(x[z, r], over=r))
        b = lw.compute("top", (H, W), lambda y, x_: lw.exp(x[y, x_] - a[y]))
        c = lw.compute("total", (H,), lambda y: lw.sum(b[y, r], over=r))
        return lw.compute("out", (H, W), lambda p, q: b[p, q] / c[p])

    work = softmax(6, 11)
    template = work.schedule().compute_at("total", lw.knob("at", ["y.i", "y.j"]))
    mine = translated(template, turned(6, 11))
    assert mine.knobs["at"].values == ("out.p", "out.q")
    for number in range(2):
        at = template.knobs["at"].values[number], mine.knobs["at"].values[number]
        assert translated(template.fill(at=at[0]), mine.work).directives == mine.fill(at=at[1]).directives


@pytest.mark.parametrize("name", ["dense apart", "softmax", "blur", "matmul 7x13x5", "residual"])
@settings(max_examples=15)
@given(data=st.data())
def test_translated_schedules_compute_the_same(name: str, data: st.DataObject) -> None:
    """Names moved around within the workload: every tensor gets the next one's, every axis the next one's."""
    from loopwright.sched.scheduling.translate import renamed

    work = WORKLOADS[name]()
    schedule = data.draw(schedules(work), label="schedule")
    tensors = [position for position in work.names if "." not in position]
    other = dict(work.names)
    for a, b in zip(tensors, [*tensors[1:], tensors[0]], strict=True):
        other[a] = work.names[b]
    for stage in tensors:
        axes = [position for position in work.names if position.startswith(f"{stage}.")]
        for a, b in zip(axes, [*axes[1:], *axes[:1]], strict=True):
            other[a] = work.names[b]
    theirs = renamed(work, other)
    moved = Schedule.from_json(theirs, schedule.to_json(), names=work.names)
    assert len(moved.directives) == len(schedule.directives)
    back = Schedule.from_json(work, moved.to_json(), names=theirs.names)
    assert [d.kind for d in back.directives] == [d.kind for d in schedule.directives]
    if data.draw(st.integers(0, 4)) == 0:
        check_kernel(work, lw.build(theirs, target="cpu", schedule=moved))


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKLOADS)
@settings(max_examples=30)
@given(data=st.data())
def test_every_refusal_names_directive_and_loop(name: str, data: st.DataObject) -> None:
    """Whatever is written, it is taken or refused by ScheduleError, in a few lines that begin with what was asked."""
    schedule = data.draw(schedules(WORKLOADS[name](), 6))
    kind, (args, options) = propose(schedule, lambda some: data.draw(st.sampled_from(some)), 99)
    try:
        getattr(schedule, kind)(*args, **options)
    except lw.ScheduleError as error:
        text = str(error)
        assert text.startswith(f"{kind} {args[0]}")
        assert 1 <= len(text.splitlines()) <= 6
        assert max(map(len, text.splitlines())) <= 200
        assert not re.search(r"\.\w+\.o\b", text), "the inner name of a vectorized loop's outer half"


def test_an_address_finds_the_longest_stage_name() -> None:
    schedule = WORKLOADS["normalise"]().schedule().vectorize("y.sum0.i", 4).parallel("y.sum0.i").unroll("y.i")
    assert schedule.nests.stages["y"].loops[0] == Loop("i", kind="unroll")
    assert [loop.kind for loop in schedule.nests.stages["y.sum0"].loops] == [
        "parallel",
        "serial",
        "vectorize",
    ]


def test_the_halves_of_a_vectorized_loop_are_addressed_by_its_name() -> None:
    base = blur(13, 19).schedule().compute_at("bx", "by.x").vectorize("by.x", 8)
    assert loops(base, "by") == "y x x.v"
    assert base.nests.stages["bx"].place.loop == "x.o"
    assert loops(base.reorder("by", "x y"), "by") == "x y x.v"
    with pytest.raises(lw.ScheduleError, match="vectorized already"):
        base.unroll("by.x.v")


def test_a_layout_of_an_input_is_refused_in_its_own_name() -> None:
    schedule = WORKLOADS["normalise"]().schedule()
    (x, *_) = schedule.work.inputs
    first = next(iter(schedule.nests.stages.values()))
    fetched = schedule.prefetch(x.name, f"{first.name}.{first.loops[0].name}", distance=1)
    axes = " ".join(axis.name for axis in first.stage.all_axes)
    with pytest.raises(lw.ScheduleError, match=f"^transform_layout {x.name}: nothing inside"):
        fetched.transform_layout(x.name, axes)

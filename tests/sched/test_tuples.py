"""Stages whose elements are tuples: one loop nest, several parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.expr import Result
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.stmt import Alloc, walk_statements
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.tuple_workloads import TUPLES, best, columns, halves, summary, twisted
from tests.sched.workloads import arrays, check_kernel

AVX2 = Target("cpu", "znver3", 2, ("avx2", "fma"), (32768, 524288, 33554432))


def check(schedule: Schedule) -> None:
    """A schedule computes what its workload says."""
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


# --- definitions -----------------------------------------------------------------------------------------------


def test_the_parts_are_tensors() -> None:
    x = lw.input("x", (4, 6))
    low, high = lw.compute("ends", (4,), lambda i: (x[i, 0], lw.cast("int32", x[i, 5])))
    assert (low.name, high.name) == ("ends.0", "ends.1")
    assert (low.shape, high.shape) == ((4,), (4,))
    assert (low.dtype, high.dtype) == ("float32", "int32")
    assert str(high[2]) == "ends.1[2]"
    assert repr(low[0].tensor) == "<stage ends (float32, int32)[4]>"


def test_a_tuple_of_one_is_a_stage() -> None:
    x = lw.input("x", (4,))
    (y,) = lw.compute("y", (4,), lambda i: (x[i] * 2,))
    assert y.name == "y"


def test_dtypes_are_given_for_each_part() -> None:
    x = lw.input("x", (4,))
    low, high = lw.compute("m", (4,), lambda i: (0, x[i]), dtype=("float16", None))
    assert (low.dtype, high.dtype) == ("float16", "float32")


def test_reductions_over_the_same_axes_share_their_loops() -> None:
    (stage,) = (s for s in summary(5, 7).stages if s.name == "summary")
    assert stage.reduce is not None
    assert [member.op for member in stage.reduce.members] == ["sum", "max", "argmax", "min"]
    assert [axis.name for axis in stage.all_axes] == ["i", "k"]
    assert [str(body) for body in stage.bodies] == ["result * 2", "result.1", "result.3", "result.4"]


def test_equal_reductions_are_done_once() -> None:
    x, k = lw.input("x", (4, 6)), lw.reduce_axis("k", 6)
    mean, var = lw.compute(
        "stats",
        (4,),
        lambda i: (
            lw.sum(x[i, k], over=k) / 6,
            lw.sum(x[i, k] * x[i, k], over=k) / 6 - lw.sum(x[i, k], over=k) * lw.sum(x[i, k], over=k) / 36,
        ),
    )
    stage = mean.stage
    assert stage is var.stage
    assert stage.reduce is not None
    assert [member.op for member in stage.reduce.members] == ["sum", "sum"]


def test_reductions_over_other_axes_are_stages_of_their_own() -> None:
    @lw.operator
    def both(M: int, N: int) -> Any:
        x = lw.input("x", (M, N))
        r, c = lw.reduce_axis("r", M), lw.reduce_axis("c", N)
        return lw.compute("ends", (1,), lambda z: (lw.sum(x[r, 0], over=r), lw.max(x[0, c], over=c)))

    work = both(5, 6)
    assert [stage.name for stage in work.stages] == ["ends.sum0", "ends.max0", "ends"]
    check(work.schedule())


def test_a_reduction_with_a_name_is_a_stage_and_the_others_share_their_loops() -> None:
    @lw.operator
    def named(M: int, K: int) -> Any:
        x, k = lw.input("x", (M, K), "int32"), lw.reduce_axis("k", K)

        def of_row(i: Any) -> Any:
            value, at = lw.argmax(x[i, k], over=k, both=True, name="top")
            return lw.sum(x[i, k], over=k) - value, lw.min(x[i, k], over=k) + at

        return lw.compute("s", (M,), of_row)

    work = named(4, 6)
    assert [(stage.name, len(stage.bodies)) for stage in work.stages] == [("top", 2), ("s", 2)]
    assert [member.op for member in work.stages[1].reduce.members] == ["sum", "min"]  # type: ignore[union-attr]
    check(work.schedule())


def test_an_inner_reduction_is_hoisted_and_the_outer_ones_stay() -> None:
    @lw.operator
    def spread(M: int, K: int) -> Any:
        x, k = lw.input("x", (M, K), "int32"), lw.reduce_axis("k", K)
        j = lw.reduce_axis("j", K)

        def of_row(i: Any) -> Any:
            away = x[i, k] - lw.max(x[i, j], over=j)
            return lw.sum(away, over=k), lw.argmin(away, over=k)

        return lw.compute("s", (M,), of_row)

    work = spread(4, 6)
    assert [stage.name for stage in work.stages] == ["s.max0", "s"]
    check(work.schedule())


@pytest.mark.parametrize("name", TUPLES)
def test_the_json_form_and_the_key(name: str) -> None:
    work = TUPLES[name]()
    again = Workload.from_json(json.loads(json.dumps(work.to_json())))
    assert again.key == work.key
    assert [t.name for t in again.outputs] == [t.name for t in work.outputs]
    check_kernel(work, lw.build(again, target="cpu"))


def test_which_part_is_returned_is_part_of_the_key() -> None:
    def work(part: int) -> Workload:
        @lw.operator
        def one() -> Any:
            x = lw.input("x", (4,))
            return lw.compute("m", (4,), lambda i: (x[i], x[i]))[part]

        return one()

    assert work(0).key != work(1).key


def test_a_schedule_speaks_to_an_equal_workload_of_other_names() -> None:
    def named(stage: str, axis: str) -> Workload:
        @lw.operator
        def op() -> Any:
            x, k = lw.input("x", (6, 9)), lw.reduce_axis(axis, 9)
            return lw.compute(stage, (6,), lambda i: (lw.argmax(x[i, k], over=k), lw.sum(x[i, k], over=k)))

        return op()

    theirs, mine = named("a", "k"), named("b", "r")
    assert theirs.key == mine.key
    text = theirs.schedule().split("a.k", ("ko", "ki"), 4).reorder("a", "ko i ki").cache_write("a").to_json()
    schedule = Schedule.from_json(mine, text, names=theirs.names)
    check(schedule)


# --- schedules -------------------------------------------------------------------------------------------------


def test_one_stage_is_scheduled_whatever_it_has_of_parts() -> None:
    plain = summary(16, 33).schedule()
    check(
        plain.split("summary.i", ("io", "ii"), 8)
        .reorder("summary", "io k ii")
        .vectorize("summary.ii")
        .unroll("summary.io")
    )
    check(plain.split("summary.k", ("ko", "ki"), 8).reorder("summary", "ko i ki").unroll("summary.ki"))
    check(plain.parallel("summary.i").cache_read("summary", at="shifted.i"))
    check(plain.cache_write("summary").vectorize("shifted.j", 8))
    check(plain.split("summary.k", ("ko", "ki"), 8).rfactor("summary.ki").vectorize("summary_rf.ki"))


def test_a_stage_of_tuples_is_computed_where_it_is_read() -> None:
    plain = twisted(7, 12).schedule()
    for at in ("product.i", "product.k"):
        check(plain.compute_at("z", at).vectorize("z.j"))
    check(plain.split("product.k", ("ko", "ki"), 5).compute_at("z", "product.ko").vectorize("z.j"))
    check(plain.compute_inline("z"))
    check(plain.transform_layout("z", "j i"))
    check(plain.split("z.j", ("jo", "ji"), 4).transform_layout("z", "jo i ji").parallel("z.i"))
    check(plain.cache_write("z", "global", at="z.i"))


def test_a_stage_follows_one_of_tuples_inside_its_loops() -> None:
    plain = halves(8, 12).schedule().cache_write("ends", "local", at="ends.i")
    check(plain)
    check(plain.vectorize("ends.j").vectorize("ends_local.j"))


def test_a_large_tile_accumulates_in_the_stage_itself() -> None:
    work = columns(3000, 5)
    schedule = work.schedule().reorder("least", "k j").vectorize("least.j", 8)
    made = [s for s in walk_statements(program_of(schedule, AVX2).body) if isinstance(s, Alloc)]
    assert made == []
    check(schedule)


def test_a_part_that_nobody_reads_is_not_stored() -> None:
    made = {
        s.buffer.name
        for s in walk_statements(program_of(summary(5, 7).schedule(), AVX2).body)
        if isinstance(s, Alloc) and s.buffer.scope == "global"
    }
    assert made == {"summary.0"}


def test_every_component_is_combined_from_the_old_ones() -> None:
    """In whatever order the parts are stored: here each becomes the other."""
    swapped = lw.reducer(lambda a, b: (a[0] + b[0], a[1] + b[1] + a[0] * b[0]), (0, 0), name="pairs")
    flipped = lw.reducer(lambda a, b: (a[0] + b[0] + a[1] * b[1], a[1] + b[1]), (0, 0), name="pairs")

    for reducer, at in ((swapped, 1), (flipped, 0)):

        @lw.operator
        def pairs(M: int, K: int, reducer: Any = reducer) -> Any:
            x, k = lw.input("x", (K, M), "int64"), lw.reduce_axis("k", K)
            zero = lw.const(0, "int64")
            terms = (x[k, M - 1], zero) if reducer is swapped else (zero, x[k, M - 1])
            return lw.compute("p", (M,), lambda i: reducer(terms, over=k))

        work = pairs(9, 6)
        x = np.random.default_rng(0).integers(-3, 4, (6, 9))
        total = x[:, -1].sum()
        products = (total**2 - (x[:, -1] ** 2).sum()) // 2
        for schedule in (work.schedule(), work.schedule().reorder("p", "k i").vectorize("p.i", 4)):
            got = lw.build(work, target="cpu", schedule=schedule)(x)
            assert (int(got[at][0]), int(got[1 - at][0])) == (products, total)


@pytest.mark.parametrize("name", TUPLES)
def test_the_default_schedule_and_the_tuner_take_them(name: str, tmp_path: Path) -> None:
    work = TUPLES[name]()
    schedule = default_schedule(work, AVX2)
    check(schedule)
    assert str(schedule)
    assert schedule.explain()
    if name in ("columns 21x7", "summary"):
        assert lw.tune(work, target="cpu", trials=4, log=tmp_path / "log.jsonl", seed=0).failures == {}


# --- kernels ---------------------------------------------------------------------------------------------------


def test_a_kernel_fills_a_tuple_of_arrays_and_travels(tmp_path: Path) -> None:
    work = summary(6, 8)
    given = arrays(work)
    kernel = lw.build(work, target="cpu")
    want = kernel(*given)
    assert [param.name for param in kernel.signature.outputs] == ["shifted", "summary.2", "summary.1"]
    out = tuple(np.empty_like(array) for array in want)
    assert all(a is b for a, b in zip(kernel(*given, out=out), out, strict=True))
    loaded = lw.load(kernel.export(tmp_path / "summary.so"))
    for arrays_ in (out, loaded(*given)):
        for a, b in zip(arrays_, want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_bodies_are_results_of_their_own_part() -> None:
    (stage,) = columns(3, 4).stages
    assert [(body.part, body.dtype) for body in stage.bodies if isinstance(body, Result)] == [
        (0, "float32"),
        (1, "int32"),
    ]
    (lone,) = best(3, 4).stages
    assert [str(body) for body in lone.bodies] == ["result.1"]

"""Weights: declared, packed once, handed to many calls; whatever the schedule packs, the result is the reference's."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import ArgumentError, ArgumentTypeError, DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.build import build_schedule
from loopwright.sched.runtime.kernel import Kernel
from loopwright.sched.runtime.target import host
from loopwright.sched.scheduling.schedule import Schedule
from tests.recipes.judging import assert_golden
from tests.sched.programs import run


def product(M: int = 9, N: int = 18, K: int = 6, dtype: str = "float32") -> Workload:
    return ops.matmul(M=M, N=N, K=K, dtype=dtype, weights="B")


def packed_in_panels(work: Workload) -> Schedule:
    return (
        work.schedule()
        .transform_layout("B", "j//8 k j%8")
        .prepack("B_packed")
        .vectorize("B_packed.ji")
        .parallel("B_packed.jo")
        .split("C.j", ("jo", "ji"), 8)
        .reorder("C", "jo i k ji")
        .vectorize("C.ji")
        .parallel("C.jo")
    )


def offset_product(M: int, N: int, K: int, zero: int = 7) -> Workload:
    """int8: a correction for the inputs' zero point is made of the weights alone, and read beside them."""

    @lw.operator
    def offset() -> Any:
        A, W = lw.input("A", (M, K), "uint8"), lw.input("W", (K, N), "int8", weight=True)
        scale = lw.input("scale", (N,), weight=True)
        k, r = lw.reduce_axis("k", K), lw.reduce_axis("r", K)
        wide = lw.compute("wide", (K, N), lambda r, j: lw.cast("int32", W[r, j]) * zero)
        sums = lw.compute("sums", (N,), lambda j: lw.sum(wide[r, j], over=r))
        acc = lw.compute(
            "acc",
            (M, N),
            lambda i, j: lw.sum(lw.cast("int32", A[i, k]) * lw.cast("int32", W[k, j]), over=k) - sums[j],
        )
        return lw.compute("C", (M, N), lambda i, j: lw.cast("float32", acc[i, j]) * scale[j])

    return offset()


def halves(N: int) -> Workload:
    """A stage of tuples, of which both parts are read."""

    @lw.operator
    def parts() -> Any:
        x, W = lw.input("x", (N,)), lw.input("W", (N,), weight=True)
        low, high = lw.compute("ends", (N,), lambda i: (W[i] - 1, W[i] + 1))
        return lw.compute("y", (N,), lambda i: lw.min(lw.max(x[i], low[i]), high[i]))

    return parts()


def total_beside() -> Workload:
    """An output that is made of weights alone, and read by what is prepacked alone."""

    @lw.operator
    def beside() -> Any:
        x, W = lw.input("x", (5,)), lw.input("W", (5,), weight=True)
        squares = lw.compute("squares", (5,), lambda i: W[i] * W[i])
        scaled = lw.compute("scaled", (5,), lambda i: squares[i] + 1)
        return squares, lw.compute("y", (5,), lambda i: x[i] * scaled[i])

    return beside()


def assert_right(schedule: Schedule) -> Kernel:
    """With packed weights, with plain arrays and by name, the kernel computes what the formula means."""
    work = schedule.work
    kernel = build_schedule(schedule, host())
    inputs = random_inputs(work, seed=1)
    expected = Expected.of(work, inputs)
    arrays = dict(zip(work.inputs, inputs, strict=True))
    weights = [tensor for tensor in arrays if tensor.weight]
    packed = kernel.prepack(*(arrays[tensor].copy() for tensor in weights))
    named = {t.name: packed if t.weight else a for t, a in arrays.items() if t not in weights[1:]}
    for result in (kernel(*named.values()), kernel(*inputs), kernel(**named)):
        assert expected.check(result if isinstance(result, tuple) else (result,)) is None, schedule
    return kernel


def test_a_weight_is_declared() -> None:
    work = product()
    assert [t.weight for t in work.inputs] == [False, True]
    assert str(work).endswith("weights='B')")
    assert ops.dense(M=2, N=3, K=4, weights=("W", "bias")).args["weights"] == "W bias"
    again = Workload.from_json(work.to_json())
    assert again.key == work.key and [t.weight for t in again.inputs] == [False, True]
    plain = ops.matmul(M=9, N=18, K=6)
    declared = plain.with_weights("B")
    assert (declared.key, declared.args, str(declared)) == (work.key, work.args, str(work))
    assert declared.numpy is not None and not any(t.weight for t in plain.inputs)
    assert [t.weight for t in declared.with_weights("A").inputs] == [True, True]
    assert plain.with_weights() is plain
    rows = ops.matmul(M=lw.size("M"), N=4, K=4, weights="B")
    assert [t.weight for t in rows.at(M=3).inputs] == [False, True]


def test_times_without_packing_are_of_a_workload_of_its_own() -> None:
    plain = ops.matmul(M=9, N=18, K=6)
    assert product().key != plain.key
    assert product().key == "a593ac7e0b56831f833d60c89d08263fedd6d6d396fcbd7abc50ac8ed9ea564c"
    assert ops.matmul(M=9, N=18, K=6, weights="A").key != product().key
    with pytest.raises(lw.ScheduleError, match="depends on B, which may differ from call to call"):
        Schedule.from_json(plain, packed_in_panels(product()).to_json())


@pytest.mark.parametrize("weights", ["Q", ("B", "Q"), 3, ("B", 3)])
def test_weights_are_names_of_inputs(weights: Any) -> None:
    with pytest.raises(
        DefinitionError, match="matmul: weights= takes names|matmul has no input 'Q' to be a weight"
    ):
        ops.matmul(M=2, N=2, K=2, weights=weights)


@pytest.mark.parametrize("size", [(9, 18, 6), (1, 1, 1), (4, 0, 3), (3, 5, 0)])
def test_packed_products(size: tuple[int, int, int]) -> None:
    assert_right(packed_in_panels(product(*size)))


@pytest.mark.parametrize("dtype", ["float64", "int8", "bfloat16"])
def test_types(dtype: str) -> None:
    assert_right(packed_in_panels(product(dtype=dtype)))
    assert_right(product(dtype=dtype).schedule())


def test_bools() -> None:
    @lw.operator
    def masked() -> Any:
        x, keep = lw.input("x", (5, 9)), lw.input("keep", (9, 5), "bool", weight=True)
        return lw.compute("y", (5, 9), lambda i, j: lw.select(keep[j, i], x[i, j], 0.0))

    assert_right(masked().schedule().cache_read("keep", name="kept").prepack("kept"))


def test_whatever_depends_on_weights_alone() -> None:
    work = offset_product(5, 19, 12)
    plain = work.schedule()
    kernel = assert_right(plain.prepack("sums"))
    assert [p.name for p in kernel.entry.inputs] == ["A", "W", "scale", "sums"]
    tiled = plain.split("sums.j", ("jo", "ji"), 8).reorder("sums", "jo r ji").vectorize("sums.ji")
    assert_right(tiled.compute_at("wide", "sums.jo").prepack("sums"))
    assert_right(plain.compute_inline("wide").decompose_reduction("sums").prepack("sums"))
    both = plain.prepack("sums").transform_layout("W", "r//4 j r%4").prepack("W_packed")
    kernel = assert_right(both)
    assert [p.name for p in kernel.entry.inputs] == ["A", "scale", "W_packed", "sums"]
    assert_right(plain.prepack("wide"))
    assert_right(plain.prepack("wide").prepack("sums").storage_align("wide", "r", 16))
    assert_right(plain.cache_read("W", name="Wp").pad("Wp", "j", 16).prepack("Wp"))
    assert_right(total_beside().schedule().prepack("scaled"))
    assert_right(halves(7).schedule().vectorize("ends.i", 4).prepack("ends"))


def test_what_runs_when_is_printed() -> None:
    assert_golden("prepacked", offset_product(5, 19, 12).schedule().compute_inline("wide").prepack("sums"))


def test_a_schedule_shows_and_restores_it() -> None:
    schedule = packed_in_panels(product())
    assert Schedule.from_json(schedule.work, schedule.to_json()) == schedule
    names: dict[str, Any] = {"work": schedule.work}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule
    explained = schedule.explain()
    assert [(b.name, b.place) for b in explained.buffers][:2] == [
        ("A", "the caller's"),
        ("B_packed", "prepacked"),
    ]
    assert [stage.name for stage in explained.stages] == ["C"]
    assert "prepack:" in schedule.draw().svg
    kernel = build_schedule(schedule, host())
    a, b = (np.asarray(array) for array in random_inputs(product(), seed=2))
    assert [stage.name for stage in kernel.profile(a, kernel.prepack(b)).stages] == ["C"]
    rows = ops.matmul(M=lw.size("M"), N=18, K=6, weights="B")
    symbolic = build_schedule(packed_in_panels(rows), host())
    assert symbolic.profile(a, symbolic.prepack(b)).stages[0].operations > 0


def test_a_handle_holds_copies_and_may_be_shared() -> None:
    kernel = build_schedule(packed_in_panels(product()), host())
    a, b = (np.asarray(array) for array in random_inputs(product(), seed=2))
    untouched, again = kernel(a, b), b.copy()
    packed, plain = kernel.prepack(again), build_schedule(product().schedule(), host())
    as_given = plain.prepack(again)
    again[...] = 0
    np.testing.assert_array_equal(kernel(a, packed), untouched)
    np.testing.assert_allclose(plain(a, as_given), untouched, rtol=1e-5)
    other = build_schedule(packed_in_panels(product(M=4)), host())
    np.testing.assert_array_equal(other(a[:4], packed), other(a[:4], b))
    assert packed.nbytes == 3 * 6 * 8 * 4 and "B: float32[6, 18] of matmul" in repr(packed)
    np.testing.assert_array_equal(kernel(a, pickle.loads(pickle.dumps(packed))), untouched)


def test_rows_of_any_number() -> None:
    work = ops.matmul(M=lw.size("M"), N=18, K=6, weights="B")
    kernel = build_schedule(packed_in_panels(work), host())
    a, b = (np.asarray(array) for array in random_inputs(product(), seed=2))
    packed = kernel.prepack(b)
    for rows in (9, 1, 0):
        np.testing.assert_allclose(kernel(a[:rows], packed), a[:rows] @ b, rtol=1e-4)
    with pytest.raises(ArgumentError, match="A has shape"):
        kernel(a[:, :5].copy(), packed)
    untuned = build_schedule(default_schedule(work, host()), host())
    np.testing.assert_allclose(untuned(a, untuned.prepack(b)), a @ b, rtol=1e-4)


def test_one_handle_for_all_kernels_of_a_dispatch() -> None:
    rows = lw.size("rows")
    works = [ops.matmul(M=m, N=18, K=6, weights="B") for m in (4, rows)]
    schedules = [packed_in_panels(works[0]), works[1].schedule()]
    several = lw.Dispatch([build_schedule(schedule, host()) for schedule in schedules])
    a, b = (np.asarray(array) for array in random_inputs(product(), seed=2))
    packed = several.prepack(b)
    assert len(packed.layouts) == 2
    for count in (4, 9):
        for result in (several(a[:count], packed), several(a[:count], b), several(B=packed, A=a[:count])):
            np.testing.assert_allclose(result, a[:count] @ b, rtol=1e-4)
    with pytest.raises(ArgumentError, match="packed for another kernel"):
        several(a, several.kernels[0].prepack(b))
    with pytest.raises(ArgumentError, match="argument B has shape"):
        several.prepack(b.T.copy())
    with pytest.raises(ArgumentTypeError, match="stand once"):
        several(packed, a)


def test_what_is_no_weight_is_refused() -> None:
    kernel, plain = (build_schedule(s, host()) for s in (packed_in_panels(product()), product().schedule()))
    a, b = (np.asarray(array) for array in random_inputs(product(), seed=2))
    packed = kernel.prepack(b)
    refused: list[tuple[Any, type[Exception], str]] = [
        (lambda: kernel.prepack(b.T.copy()), ArgumentError, "matmul.prepack: argument B has shape"),
        (lambda: kernel.prepack(b.astype("f8")), ArgumentTypeError, "matmul.prepack: argument B has dtype"),
        (lambda: kernel.prepack(b[:, ::-1]), ArgumentError, "has strides"),
        (lambda: kernel.prepack(), ArgumentTypeError, "missing: B"),
        (lambda: kernel.prepack(a, b), ArgumentTypeError, "2 were given"),
        (lambda: kernel.prepack(None), ArgumentTypeError, "is None, not an array"),
        (lambda: kernel(a, plain.prepack(b)), ArgumentError, "packed for another kernel"),
        (lambda: plain(a, packed), ArgumentError, "packed for another kernel"),
        (lambda: kernel(packed, a), ArgumentTypeError, "stand once, in the place of B"),
        (lambda: kernel(packed), ArgumentTypeError, "missing: B"),
        (lambda: kernel(a, b, packed), ArgumentTypeError, "3 were given"),
        (lambda: kernel(a, packed, a), ArgumentTypeError, "3 were given"),
        (lambda: kernel(a.astype("f8"), packed), ArgumentTypeError, "argument A has dtype"),
        (lambda: kernel(a, packed, out=a), ArgumentError, "output C has shape"),
        (lambda: lw.build(ops.relu((4,)), cache=False).prepack(a), ArgumentTypeError, "relu has no weights"),
    ]
    for call, kind, message in refused:
        with pytest.raises(kind, match=message):
            call()


def test_libraries_carry_it(tmp_path: Path) -> None:
    kernel = build_schedule(packed_in_panels(product()), host())
    offset = offset_product(5, 19, 12)
    sums = build_schedule(offset.schedule().prepack("sums"), host())
    a, b = (np.asarray(array) for array in random_inputs(product(), seed=2))
    wanted = kernel(a, b)
    loaded = lw.load(kernel.export(tmp_path / "product.so"))
    assert loaded.prepacking == kernel.prepacking
    np.testing.assert_array_equal(loaded(a, loaded.prepack(b)), wanted)
    np.testing.assert_array_equal(kernel(a, loaded.prepack(b)), wanted)
    lw.Bundle([kernel, sums]).export(tmp_path / "both.so")
    program = f"""
import json, sys, numpy as np, loopwright as lw
rng = np.random.default_rng(0)
both = lw.load({str(tmp_path / "both.so")!r})
(kernel,), (offset,) = both["matmul"].kernels, both["offset"].kernels
a, b = rng.random((9, 6), "float32"), rng.random((6, 18), "float32")
np.testing.assert_allclose(kernel(a, kernel.prepack(b)), a @ b, rtol=1e-5)
a, w = rng.integers(0, 255, (5, 12), "uint8"), rng.integers(-128, 127, (12, 19), "int8")
scale = rng.random(19, "float32")
right = (a.astype(int) - 7) @ w.astype(int) * scale
np.testing.assert_allclose(offset(a, offset.prepack(w, scale)), right, rtol=1e-5)
print(json.dumps("tvm" in sys.modules))
"""
    assert run(program) is False


def test_builds_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_CACHE", str(tmp_path))
    schedule = packed_in_panels(product())
    first, second = (lw.build(product(), schedule=schedule) for _ in range(2))
    assert second._module is None
    a, b = (np.asarray(array) for array in random_inputs(product(), seed=2))
    np.testing.assert_array_equal(second(a, first.prepack(b)), first(a, second.prepack(b)))

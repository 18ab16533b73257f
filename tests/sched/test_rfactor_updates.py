"""rfactor of updates that accumulate: histograms and scatters into slices, which run in parallel and are combined last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.recurrences import histogram, histogram_numpy, weighted

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "mul": lambda old, new: new * old,
    "min": lambda old, new: lw.min(old, new),
    "max": lambda old, new: lw.max(new, old),
    "and": lambda old, new: old & new,
    "or": lambda old, new: new | old,
    "xor": lambda old, new: old ^ new,
}


@lw.operator
def scatter(N: int, bins: int, op: str, dtype: str) -> Any:
    """``op`` of a value into each bin that ``at`` names, where it is not masked; bins start at 3 or True."""
    at, a, mask = lw.input("at", (N,), "int16"), lw.input("a", (N,), dtype), lw.input("mask", (N,), "bool")
    t = lw.reduce_axis("t", N)
    out = lw.compute("out", (bins,), lambda b: lw.const(True if dtype == "bool" else 3, dtype))
    return out.update(lambda old: OPERATIONS[op](old, a[t]), at=at[t], over=t, where=mask[t])


def drawn(work: lw.Workload, bins: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    found = []
    for tensor in work.inputs:
        low, high = (-1, bins + 2) if tensor.name == "at" else (0, 2) if tensor.dtype == "bool" else (0, 200)
        found.append(rng.integers(low, high, tensor.shape).astype(tensor.dtype))
    return found


def check(schedule: Schedule, *arrays: np.ndarray) -> None:
    """The schedule computes, bit for bit, what the workload means."""
    want = schedule.work.reference(*arrays)
    got = lw.build(schedule.work, target="cpu", schedule=schedule)(*arrays)
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "float32", "bool"])
def test_every_operation(op: str, dtype: str) -> None:
    if (dtype == "bool" and op in ("add", "sub", "mul", "xor")) or (
        dtype == "float32" and op in ("and", "or", "xor")
    ):
        pytest.skip("the type has no such operation")  # fmt: skip
    for length, bins in ((0, 5), (1, 1), (85, 5)):
        work = scatter(N=length, bins=bins, op=op, dtype=dtype)
        arrays = drawn(work, bins)
        if dtype == "float32":  # so that sums and products are exact
            arrays[1] = np.sign(arrays[1] - 100) * 2
            arrays[2][12:] = False
        split = work.schedule().split("out.u0.t", ("to", "ti"), 8)
        check(split.rfactor("out.u0.to").parallel("out_rf.u0.to").vectorize("out.u0.b", 4), *arrays)


def test_each_half_of_a_split_and_the_whole_loop() -> None:
    for length in (1, 7, 64, 85):
        work = scatter(N=length, bins=5, op="sub", dtype="int32")
        arrays = drawn(work, 5)
        split = work.schedule().split("out.u0.t", ("to", "ti"), 8)
        check(split.rfactor("out.u0.ti", name="F").parallel("F.u0.ti"), *arrays)
        check(work.schedule().rfactor("out.u0.t"), *arrays)


def test_a_histogram_in_parallel() -> None:
    """Halide's lesson 18, by a directive: rows in parallel, each into a histogram of its own."""
    work = histogram(H=123, W=77, bins=100)
    img = np.random.default_rng(1).integers(-128, 128, (123, 77), dtype="int8")
    with pytest.raises(
        ScheduleError, match=r"rfactor\('hist.u0.y'\) first gives each of them elements of its own"
    ):
        work.schedule().parallel("hist.u0.y")
    schedule = work.schedule().rfactor("hist.u0.y").parallel("hist_rf.u0.y").parallel("hist_rf.y")
    schedule = schedule.vectorize("hist_rf.b", 8).vectorize("hist.u0.b", 8)
    kernel = lw.build(work, target="cpu", schedule=schedule)
    assert kernel.parallel
    assert kernel(img).tolist() == histogram_numpy(img, 100).tolist()
    again = Schedule.from_json(work, schedule.to_json())
    assert str(again) == str(schedule)
    assert "rfactor" in schedule.to_python()
    assert schedule.explain() is not None
    assert "<svg" in schedule.draw().svg
    assert {"hist_rf", "hist_rf.u0", "hist.u0"} <= {stage.name for stage in kernel.profile(img).stages}


def test_the_printed_nest() -> None:
    schedule = (
        histogram(H=12, W=7, bins=16).schedule().split("hist.u0.y", ("yo", "yi"), 5).rfactor("hist.u0.yo")
    )
    assert str(schedule.parallel("hist_rf.u0.yo")).splitlines()[1:] == [
        "buffer hist_rf: int32[3, 16] global",
        "for hist_rf.yo in 3",
        "  for hist_rf.b in 16",
        "    hist_rf[yo, b] = 0",
        "parallel hist_rf.u0.yo in 3",
        "  for hist_rf.u0.yi in 5  # domain",
        "    for hist_rf.u0.x in 7  # domain",
        "      if yo * 5 + yi < 12 and img[yo * 5 + yi, x] >= 0 and img[yo * 5 + yi, x] < 16: "
        "hist_rf[yo, img[yo * 5 + yi, x]] = hist_rf[yo, img[yo * 5 + yi, x]] + 1",
        "for hist.b in 16",
        "  hist[b] = 0",
        "for hist.u0.b in 16",
        "  for hist.u0.yo in 3  # domain",
        "    hist[b] = hist[b] + hist_rf[yo, b]",
    ]


def test_kinds_and_splits_go_on_in_the_slices() -> None:
    work = histogram(H=9, W=33, bins=16)
    schedule = (
        work.schedule()
        .split("hist.u0.x", ("xo", "xi"), 4)
        .reorder("hist.u0", "xo y xi")
        .unroll("hist.u0.xi")
        .rfactor("hist.u0.y", name="rows")
    )
    nests = schedule.nests.stages
    assert [(loop.name, loop.reduce, loop.kind) for loop in nests["rows.u0"].loops] == [
        ("xo", True, "serial"), ("y", False, "serial"), ("xi", True, "unroll"),
    ]  # fmt: skip
    assert [(loop.name, loop.reduce) for loop in nests["hist.u0"].loops] == [("b", False), ("y", True)]
    assert [axis.name for axis in nests["rows"].stage.axes] == ["y", "b"]
    check(schedule, np.random.default_rng(2).integers(-128, 128, (9, 33), dtype="int8"))


@lw.operator
def by_channel(C: int, N: int, bins: int) -> Any:
    """A histogram of each channel of something computed; it is read upside down."""
    img = lw.input("img", (N, C), "uint8")
    dim = lw.compute("dim", (N, C), lambda i, c: img[i, c] // 2)
    t = lw.reduce_axis("t", N)
    hist = lw.compute("hist", (C, bins), lambda c, b: lw.const(7, "int32"))
    hist = hist.update(lambda c: ((c, dim[t, c]), hist[c, dim[t, c]] + 1), over=t)
    hist = hist.update(lambda c: ((c, dim[t, c] // 3), hist[c, dim[t, c] // 3] + 2), over=t)
    return lw.compute("out", (bins, C), lambda b, c: hist[c, b] * 2)


ROWS: dict[str, Callable[[Schedule], Schedule]] = {
    "in parallel": lambda s: s.rfactor("hist.u0.t").parallel("hist_rf.u0.t"),
    "with own axes in vectors": lambda s: (
        s.split("hist.u0.t", ("to", "ti"), 8).rfactor("hist.u0.to")
        .reorder("hist_rf.u0", "to ti c").parallel("hist_rf.u0.to").vectorize("hist_rf.u0.c")
    ),
    "both updates": lambda s: s.rfactor("hist.u0.t").rfactor("hist.u1.t", name="second").parallel("second.u0.t"),
    "where it is read": lambda s: s.compute_at("hist", "out.c").rfactor("hist.u0.t").parallel("out.c"),
    "with what it reads inside": lambda s: (
        s.split("hist.u0.t", ("to", "ti"), 8).compute_at("dim", "hist.u0.to").rfactor("hist.u0.to")
    ),
    "a fused loop": lambda s: (
        s.split("hist.u0.t", ("to", "ti"), 8).split("hist.u0.ti", ("tm", "tl"), 2)
        .fuse("hist.u0.to", "hist.u0.tm", "f").rfactor("hist.u0.f").parallel("hist_rf.u0.f")
    ),
    "slices laid out otherwise": lambda s: (
        s.split("hist.u0.t", ("to", "ti"), 8).rfactor("hist.u0.to").transform_layout("hist_rf", "c b to")
    ),
    "slices merged in lanes": lambda s: (
        s.rfactor("hist.u0.t").reorder("hist.u0", "t c b").vectorize("hist.u0.b", 8)
    ),
    "the copy that is read": lambda s: s.rfactor("hist.u1.t").cache_read("hist", name="copy"),
    "slices of slices": lambda s: (
        s.split("hist.u0.t", ("to", "ti"), 4).rfactor("hist.u0.to").rfactor("hist_rf.u0.ti", name="deeper")
        .parallel("deeper.u0.to")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(("C", "N", "bins"), [(3, 45, 128), (1, 1, 1), (2, 16, 50)])
def test_what_it_is_scheduled_with(name: str, C: int, N: int, bins: int) -> None:
    work = by_channel(C=C, N=N, bins=bins)
    schedule = work.schedule()
    if name == "with what it reads inside":  # the second update would read it too
        work = one_update(C=C, N=N, bins=bins)
        schedule = work.schedule()
    img = np.random.default_rng(3).integers(0, 256, (N, C), dtype="uint8")
    check(ROWS[name](schedule), img)


@lw.operator
def one_update(C: int, N: int, bins: int) -> Any:
    """As by_channel, of one update."""
    img = lw.input("img", (N, C), "uint8")
    dim = lw.compute("dim", (N, C), lambda i, c: img[i, c] // 2)
    t = lw.reduce_axis("t", N)
    hist = lw.compute("hist", (C, bins), lambda c, b: lw.const(7, "int32"))
    return hist.update(lambda c: ((c, dim[t, c]), hist[c, dim[t, c]] + 1), over=t)


def test_symbolic_sizes() -> None:
    n = lw.size("n")
    x, t = lw.input("x", (n,), "uint8"), lw.reduce_axis("t", n)
    hist = lw.compute("hist", (256,), lambda b: lw.const(0, "int32"))
    hist = hist.update(lambda old: old + 1, at=x[t], over=t)
    work = lw.Workload("counted", {}, [x], [hist])
    schedule = (
        work.schedule().split("hist.u0.t", ("to", "ti"), 100).rfactor("hist.u0.to").parallel("hist_rf.u0.to")
    )
    kernel = lw.build(work, target="cpu", schedule=schedule)
    for size in (0, 1, 99, 100, 101, 1000):
        a = np.random.default_rng(size).integers(0, 256, size, dtype="uint8")
        assert kernel(a).tolist() == np.bincount(a, minlength=256).tolist()


def test_floats_up_to_rounding() -> None:
    work = weighted(N=1000, bins=10)
    rng = np.random.default_rng(4)
    at, weight = rng.integers(-1, 12, 1000), rng.standard_normal(1000).astype("float32")
    schedule = (
        work.schedule().split("hist.u0.t", ("to", "ti"), 64).rfactor("hist.u0.to").parallel("hist_rf.u0.to")
    )
    got = lw.build(work, target="cpu", schedule=schedule)(at, weight)
    np.testing.assert_allclose(got, work.reference(at, weight), rtol=1e-4, atol=1e-4)


def test_an_axis_called_like_the_loop() -> None:
    x, b = lw.input("x", (20,), "uint8"), lw.reduce_axis("b", 20)
    hist = lw.compute("hist", (9,), lambda b: lw.const(0, "int32"))
    hist = hist.update(lambda old: old + 1, at=x[b], over=b)
    schedule = lw.Workload("w", {}, [x], [hist]).schedule().rfactor("hist.u0.b").parallel("hist_rf.u0.b")
    assert [loop.name for loop in schedule.nests.stages["hist.u0"].loops] == ["d0", "b"]
    check(schedule, np.random.default_rng(5).integers(0, 11, 20, dtype="uint8"))


def test_knobs_and_the_log(tmp_path: Path) -> None:
    work = histogram(H=64, W=64, bins=16)
    factor = lw.knob("rows", [4, 16])
    space = (
        work.schedule()
        .split("hist.u0.y", ("yo", "yi"), factor)
        .rfactor("hist.u0.yo")
        .parallel("hist_rf.u0.yo")
    )
    result = lw.tune(work, target="cpu", space=space, trials=2, log=tmp_path / "log.jsonl")
    assert result.best is not None
    img = np.random.default_rng(6).integers(-128, 128, (64, 64), dtype="int8")
    got = lw.build(work, target="cpu", log=tmp_path / "log.jsonl")(img)
    assert got.tolist() == histogram_numpy(img, 16).tolist()


def test_minima_of_bools() -> None:
    """Found here: LLVM refused them."""
    x, y = lw.input("x", (9,), "bool"), lw.input("y", (9,), "bool")
    both = lw.compute("both", (9,), lambda i: (lw.min(x[i], y[i]), lw.max(x[i], y[i])))
    work = lw.Workload("both", {}, [x, y], list(both))
    a, b = np.random.default_rng(7).integers(0, 2, (2, 9)).astype(bool)
    for schedule in (work.schedule(), work.schedule().vectorize("both.i", 4)):
        low, high = lw.build(work, target="cpu", schedule=schedule)(a, b)
        assert low.tolist() == (a & b).tolist()
        assert high.tolist() == (a | b).tolist()

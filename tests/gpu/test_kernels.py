"""Kernels for GPUs: what they compute, on whatever device pyopencl lists, and what is made of them for others."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.dtypes import limits
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.device.opencl import devices
from loopwright.sched.scheduling.schedule import Schedule
from tests.gpu.generate import random_schedule
from tests.sched.recurrences import cumsum, histogram
from tests.sched.tuple_workloads import composed
from tests.sched.workloads import WORKLOADS, arrays, blur, checked, matmul, softmax

CUDA = {"kind": "cuda", "arch": "sm_90"}
on_device = pytest.mark.skipif(
    not devices(), reason="pyopencl lists no device; apt-get install pocl-opencl-icd"
)


def tiled(work: Workload, tile: int = 16, step: int = 8) -> Schedule:
    """A product in tiles of a block, its operands copied into shared memory step by step."""
    return (
        work.schedule()
        .tile("C", i=("ib", "it", tile), j=("jb", "jt", tile))
        .split("C.k", ("ko", "ki"), step)
        .reorder("C", "ib jb it jt ko ki")
        .bind("C.ib", "blockIdx.y").bind("C.jb", "blockIdx.x").bind("C.it", "threadIdx.y").bind("C.jt", "threadIdx.x")
        .cache_read("A", "shared", at="C.ko")
        .cache_read("B", "shared", at="C.ko")
    )  # fmt: skip


def virtual(work: Workload) -> Schedule:
    """Each thread computes a strided tile: two virtual threads along each axis, four elements in each."""
    return (
        work.schedule()
        .tile("C", i=("ib", "ir", 16), j=("jb", "jr", 16))
        .split("C.ir", ("iv", "is"), 8).split("C.is", ("it", "ii"), 2)
        .split("C.jr", ("jv", "js"), 8).split("C.js", ("jt", "ji"), 2)
        .split("C.k", ("ko", "ki"), 4)
        .reorder("C", "ib jb iv jv it jt ko ki ii ji")
        .bind("C.ib", "blockIdx.y").bind("C.jb", "blockIdx.x").bind("C.iv", "vthread").bind("C.jv", "vthread")
        .bind("C.it", "threadIdx.y").bind("C.jt", "threadIdx.x").unroll("C.ii").unroll("C.ji")
        .cache_read("A", "shared", at="C.ko").cache_read("B", "shared", at="C.ko")
    )  # fmt: skip


def together(work: Workload) -> Schedule:
    """A row of a softmax in each block: its maximum and its sum are put together from partial ones of the threads."""
    s = work.schedule().bind("y.i", "blockIdx.x").bind("y.j", "threadIdx.x")
    for whole in ("top", "total"):
        s = s.split(f"{whole}.k", ("ko", "kt"), 4).rfactor(f"{whole}.kt", name=f"{whole}_part")
        s = s.reorder(f"{whole}_part", "kt ko")
    places = {"total": "y.i", "total_part": "total.i", "e": "y.i", "top": "y.i", "top_part": "top.i"}
    for stage, at in places.items():
        s = s.compute_at(stage, at).set_scope(stage, "shared")
    return s.bind("total_part.kt", "threadIdx.x").bind("top_part.kt", "threadIdx.x")


def stencil(work: Workload) -> Schedule:
    """A blur whose first pass is computed for a tile, with its halo, in shared memory."""
    return (
        work.schedule()
        .tile("by", y=("yb", "yt", 4), x=("xb", "xt", 8))
        .bind("by.yb", "blockIdx.y").bind("by.xb", "blockIdx.x").bind("by.yt", "threadIdx.y").bind("by.xt", "threadIdx.x")
        .compute_at("bx", "by.xt").set_scope("bx", "shared")
    )  # fmt: skip


def scan(work: Workload) -> Schedule:
    """A running sum down columns, each a thread's."""
    s = work.schedule()
    for name, nest in s.nests.stages.items():
        own = next(loop.name for loop in nest.loops if not loop.reduce and loop.name != "r")
        s = s.bind(f"{name}.{own}", "threadIdx.x") if len(nest.loops) > 1 else s
    return s


CASES: dict[str, tuple[Callable[[], Workload], Callable[[Workload], Schedule]]] = {
    "tiles that do not divide": (lambda: matmul(9, 11, 7), lambda w: tiled(w, 4, 4)),
    "tiles that do": (lambda: matmul(8, 12, 8), lambda w: tiled(w, 4, 4)),
    "a single element": (lambda: matmul(1, 1, 1), lambda w: tiled(w, 4, 4)),
    "no rows": (lambda: matmul(0, 5, 3), lambda w: tiled(w, 4, 4)),
    "no terms": (lambda: matmul(4, 5, 0), lambda w: w.schedule().bind("C.i", "blockIdx.x")),
    "small integers": (lambda: matmul(9, 11, 6, "int8"), lambda w: tiled(w, 4, 4)),
    "virtual threads": (lambda: matmul(17, 9, 5), virtual),
    "a halo": (lambda: blur(13, 19), stencil),
    "a local copy": (
        lambda: matmul(9, 11, 6),
        lambda w: w.schedule().bind("C.i", "blockIdx.x").bind("C.j", "threadIdx.x").cache_read("A", "local", at="C.j"),
    ),
    "results through shared memory": (
        lambda: matmul(9, 11, 6),
        lambda w: w.schedule().split("C.i", ("ib", "it"), 4).bind("C.ib", "blockIdx.x").bind("C.it", "threadIdx.x")
        .cache_write("C", "shared", at="C.ib"),
    ),
    "bools": (lambda: checked(5, 8), lambda w: bound_all(w.schedule())),
    "several kernels": (lambda: softmax(6, 11), lambda w: bound_all(w.schedule())),
    "sums across threads": (lambda: softmax(3, 11), together),
    "vectors": (
        lambda: matmul(8, 32, 4),
        lambda w: tiled(w, 8, 4).vectorize("B_shared.j", 4),
    ),
}  # fmt: skip


def bound_all(s: Schedule) -> Schedule:
    """The outermost loop of each stage given to blocks."""
    for name, nest in s.nests.stages.items():
        s = s.bind(f"{name}.{nest.loops[0].name}", "blockIdx.x")
    return s


def check(work: Workload, schedule: Schedule, target: str = "opencl") -> lw.Kernel:
    given, kernel = arrays(work), lw.build(work, target=target, schedule=schedule)
    want, got = work.reference(*given), kernel(*given)
    wants, gots = (x if isinstance(x, tuple) else (x,) for x in (want, got))
    for expected, actual in zip(wants, gots, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    return kernel


@on_device
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_computes_what_the_formula_says(name: str) -> None:
    make, schedule = CASES[name]
    work = make()
    check(work, schedule(work))


@on_device
def test_a_scan_of_columns() -> None:
    work = cumsum(7, 12, 0)
    check(work, scan(work))


@on_device
def test_values_are_bound_and_used_under_one_condition() -> None:
    """A tuple's old and new values, in threads some of which hang over, after what the threads copy together."""
    work = composed(9, 8)
    schedule = (
        work.schedule()
        .tile("f", i=("io", "ii", 4), k=("ko", "ki", 1))
        .bind("f.io", "threadIdx.x")
        .cache_read("x", "shared", at="f.ii")
    )
    check(work, schedule)


@on_device
@pytest.mark.parametrize("first", [0, 100])
def test_random_schedules(first: int) -> None:
    """What passes the checks computes what the reference does; most of what is refused is refused where it is written."""
    built = 0
    works = [make for name, make in WORKLOADS.items() if "float16" not in name]
    for seed in range(first, first + 16):
        work = works[seed % len(works)]()
        schedule = random_schedule(work, random.Random(seed).choice)
        try:
            lw.lower(work, target="opencl", schedule=schedule)
        except lw.ScheduleError:
            continue
        check(work, schedule)
        built += 1
    assert built >= 6


KINDS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64")


@on_device
@settings(deadline=None, max_examples=40)
@given(
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS), st.sampled_from(KINDS)),
    lanes=st.sampled_from([2, 4, 8, 16, 32, 48]),
    first=st.integers(0, 3),
    step=st.sampled_from([0, 1, 1, 2, 3]),
    divisor=st.sampled_from([1, 3, 9, 255]),
    seed=st.integers(0, 9),
)
def test_vectors_of_all_kinds(
    kinds: tuple[str, str, str], lanes: int, first: int, step: int, divisor: int, seed: int
) -> None:
    """Vectors at any place and any step, converted, added and multiplied modulo the width, and divided."""
    of_a, of_b, kind = kinds

    @lw.operator
    def computed() -> Any:
        a = lw.input("a", (5, step * lanes + first + 1), of_a)
        b = lw.input("b", (5, lanes + 1), of_b)

        def value(i: Axis, j: Axis) -> Expr:
            x, y = (lw.cast(kind, v) for v in (a[i, step * j + first], b[i, j + 1]))
            whole = x * y + y - x
            return whole // divisor if kind.startswith("uint") else whole

        return lw.compute("c", (5, lanes), value)

    work = computed()
    # Conversions of floats to integers have a value in the range of these alone.
    rng = np.random.default_rng(seed)
    values = [
        rng.integers(0, 100, (5, size)).astype(dtype)
        if dtype.startswith("float")
        else rng.integers(*limits(dtype), (5, size), dtype=dtype, endpoint=True)
        for size, dtype in ((step * lanes + first + 1, of_a), (lanes + 1, of_b))
    ]
    schedule = work.schedule().bind("c.i", "blockIdx.x").vectorize("c.j")
    got = lw.build(work, target="opencl", schedule=schedule)(*values)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, work.reference(*values), rtol=1e-6)


@on_device
def test_a_kernel_is_timed_and_shown() -> None:
    work = matmul(16, 16, 8)
    kernel = lw.build(work, target="opencl", schedule=tiled(work, 8))
    assert kernel.time(*arrays(work), repeats=2) > 0  # type: ignore[attr-defined]
    assert "__kernel" in kernel.source() and "A_shared" in kernel.source("tir")
    with pytest.raises(lw.BuildError, match="no source of kind 'llvm'; known: 'device', 'tir'"):
        kernel.source("llvm")
    with pytest.raises(lw.ExportError, match="libraries hold kernels for CPUs"):
        kernel.export("product.so")
    with pytest.raises(lw.ArgumentTypeError, match="has dtype float64"):
        kernel(np.ones((16, 8)), np.ones((8, 16)))


@pytest.mark.parametrize(
    ("target", "words"),
    [("opencl", "__local"), (CUDA, "__shared__"), ("metal", "threadgroup"), ("webgpu", "var<workgroup>")],
)
def test_source_needs_no_device(target: object, words: str) -> None:
    work = matmul(25, 19, 13)
    assert words in lw.lower(work, target=target, schedule=tiled(work)).source()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the path")
def test_resources_of_cuda_kernels() -> None:
    work = matmul(25, 19, 13)
    (found,) = lw.lower(work, target=CUDA, schedule=tiled(work)).resources()  # type: ignore[attr-defined]
    assert found.shared == 2 * 16 * 8 * 4 and found.registers > 0 and found.spills == (0, 0)


def test_resources_are_of_cuda() -> None:
    work = matmul(25, 19, 13)
    with pytest.raises(lw.TargetError, match="of kernels for cuda, not for metal"):
        lw.lower(work, target="metal", schedule=tiled(work)).resources()  # type: ignore[attr-defined]


def test_a_block_loads_each_element_once() -> None:
    facts = tiled(matmul(250, 190, 130)).explain(CUDA)
    assert facts.buffer("A_shared").loads_per_block == 16 * 8 * 17
    with pytest.raises(lw.ScheduleError, match="there is no buffer 'X'; there are A, B"):
        facts.buffer("X")


@pytest.mark.parametrize("name", ["dense", "softmax", "blur", "checked", "conv", "chain 0", "histogram"])
def test_there_is_a_default(name: str) -> None:
    """Without a schedule, elements are divided among threads; every kernel has bound loops."""
    work = WORKLOADS[name]() if name in WORKLOADS else histogram(5, 6, 4)
    assert "__global__" in lw.lower(work, target=CUDA).source()

"""What is made for devices by structure: defaults that every workload has, and spaces with next to nothing illegal in them."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.device import one_by_one, runs_on
from loopwright.sched.runtime.device.target import DeviceTarget
from tests.gpu.test_kernels import CUDA, on_device
from tests.gpu.test_kernels import check as check_on_device
from tests.gpu.test_threads import check as check_threads
from tests.sched.workloads import WORKLOADS, blur, matmul, softmax

SMALL_GPU = DeviceTarget("webgpu", threads=256, block=(256, 256, 64), shared=16384)
AS_CPU = DeviceTarget("opencl", "a CPU", 2, threads=4096, block=(4096, 4096, 4096), cpu_vectors=32)
TARGETS = {"cuda": lw.Target.parse(CUDA), "a small one": SMALL_GPU, "a CPU": AS_CPU}
WORKS = {
    "product": ops.matmul(M=256, N=192, K=160),
    "product and more": ops.matmul(M=100, N=90, K=70, bias=True, activation="relu"),
    "softmax": ops.softmax(M=64, N=500),
    "convolution": ops.conv2d(N=1, H=14, W=14, C=16, K=32, R=3, S=3, padding="same"),
    "depthwise": ops.depthwise_conv2d(N=1, H=28, W=28, C=16, R=3, S=3, padding="same"),
    "rows": ops.sum(X=(64, 1000), axis=1),
    "elements": ops.relu(X=(100, 77)),
}
# Workloads as small as the simulator likes them.
TINY = {
    "product": lambda: matmul(9, 11, 8),
    "softmax": lambda: softmax(3, 11),
    "blur": lambda: blur(7, 9),
    "rows": lambda: WORKLOADS["columns 21x7"](),
}


def space_of(work: Workload, target: lw.Target) -> SearchSpace:
    return SearchSpace(sketches(work, target), target)


def test_next_to_none_of_the_candidates_are_invalid() -> None:
    tried, invalid = 0, []
    for named, target in TARGETS.items():
        assert isinstance(target, DeviceTarget)
        for name, work in WORKS.items():
            space = space_of(work, target)
            assert len(space.sketches) > 1
            for point in [*space.seeds(), *space.sample(np.random.default_rng(0), 6)]:
                tried += 1
                schedule = space.schedule(point)
                if schedule is None or not runs_on(schedule, target):
                    invalid.append((named, name, space.sketches[point.space].name, point))
    assert len(invalid) < tried / 10, invalid


@pytest.mark.parametrize("name", TINY)
def test_candidates_for_gpus_do_not_race(name: str) -> None:
    work = TINY[name]()
    space = space_of(work, SMALL_GPU)
    for point in space.sample(np.random.default_rng(1), 4):
        schedule = space.schedule(point)
        if schedule is not None and runs_on(schedule, SMALL_GPU):
            check_threads(work, schedule)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the path")
def test_candidates_compile_for_cuda() -> None:
    target = lw.Target.parse(CUDA)
    space = space_of(WORKS["product"], target)
    for point in space.seeds()[:3]:
        (found,) = lw.lower(WORKS["product"], target=CUDA, schedule=space.schedule(point)).resources()  # type: ignore[attr-defined]
        assert found.registers > 0 and found.spills == (0, 0)


def test_the_sketches_are_those_of_the_structure() -> None:
    names = {name: [s.name for s in sketches(work, TARGETS["cuda"])] for name, work in WORKS.items()}
    assert names["product"] == ["default", "tiles, shared", "tiles, read by each", "grid"]
    assert names["softmax"] == ["default", "rows of blocks, stored", "rows of blocks, computed again"]
    assert names["rows"] == ["default", "across threads", "grid"]
    assert names["elements"] == names["depthwise"] == ["default", "grid"]
    assert all(
        name.endswith("in blocks") for name in [s.name for s in sketches(WORKS["softmax"], AS_CPU)][1:]
    )


@pytest.mark.parametrize(
    "name", ["dense", "softmax", "normalise", "blur", "best 6x13", "stats", "cumsum 0", "padded"]
)
def test_defaults_do_not_race(name: str) -> None:
    work = WORKLOADS[name]()
    check_threads(work, default_schedule(work, SMALL_GPU))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_workload_has_a_default(target: DeviceTarget) -> None:
    planned = 0
    for make in WORKLOADS.values():
        work = make()
        schedule = default_schedule(work, target)
        assert runs_on(schedule, target)
        planned += schedule != one_by_one(work, target)
    assert planned > len(WORKLOADS) / 2


@on_device
@pytest.mark.parametrize(
    "name", ["dense", "softmax", "blur", "conv", "best 6x13", "checked", "pooled", "chain 0", "cumsum 1"]
)
def test_defaults_run_on_a_device(name: str) -> None:
    work = WORKLOADS[name]()
    check_on_device(work, lw.build(work, target="opencl").schedule)  # type: ignore[arg-type]


@on_device
@pytest.mark.parametrize("lanes", [2, 12, 16, 24, 40, 48, 7])
def test_vectors_of_any_length(lanes: int) -> None:
    """Those that the language has not are put together of those that it has."""
    work = matmul(6, 96, 5)
    schedule = (
        work.schedule().split("C.j", ("jo", "ji"), lanes).reorder("C", "i jo k ji").bind("C.i", "blockIdx.x")
    )
    check_on_device(work, schedule.vectorize("C.ji"))


def test_the_model_sees_threads_and_shared_memory() -> None:
    space = space_of(WORKS["product"], TARGETS["cuda"])
    point = next(p for p in space.seeds() if space.sketches[p.space].name == "tiles, shared")
    seen = dict(zip(space.feature_names, space.rows([point])[0].tolist(), strict=True))
    chosen = space.sketches[point.space].chosen(point.choice)
    rows, columns = chosen["C.down"] * chosen["C.rows"], chosen["C.across"] * chosen["C.columns"]
    assert 2 ** seen["threads"] == chosen["C.down"] * chosen["C.across"]
    assert round(2 ** seen["parallel"]) == -(-256 // rows) * -(-192 // columns)
    assert round(2 ** seen["shared_bytes"]) == 1 + 4 * chosen["C.depth"] * (rows + columns)


def test_a_cpu_behind_opencl_asks_for_edges_at_edges_alone() -> None:
    for target, steady in ((AS_CPU, True), (replace(AS_CPU, cpu_vectors=0), False)):
        lines = lw.lower(blur(40, 64), target=target).source().splitlines()
        reads = [line for line in lines if "img_ptr" in line and "__kernel" not in line]
        assert any("min(" not in line and "max(" not in line for line in reads) == steady


@on_device
def test_bytes_that_do_not_lie_side_by_side() -> None:
    """TVM's text for a vector of these is wrong: they are moved one by one."""

    @lw.operator
    def turned(M: int, N: int) -> Stage:
        A = lw.input("A", (M, N), "int8")
        return lw.compute("B", (N, M), lambda i, j: A[j, i])

    work = turned(8, 6)
    check_on_device(work, work.schedule().bind("B.i", "blockIdx.x").vectorize("B.j", 4))

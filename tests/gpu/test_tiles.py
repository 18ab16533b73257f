"""Tiles of blocks: virtual threads, rows of copies an odd step apart, and what follows a product."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.device import planned, runs_on
from loopwright.sched.recipes.graph import inline_all
from loopwright.sched.recipes.roles import roles_of
from loopwright.sched.recipes.tiles import TilesPlan, tiles
from loopwright.sched.scheduling.schedule import Schedule
from tests.gpu.test_kernels import CUDA, on_device
from tests.gpu.test_kernels import check as check_on_device
from tests.gpu.test_sketches import SMALL_GPU, TARGETS, space_of
from tests.gpu.test_threads import check as check_threads

WORKS = {
    "plain": lambda: ops.matmul(M=9, N=13, K=5),
    "both turned": lambda: ops.matmul(M=9, N=13, K=5, ta=True, tb=True),
    "batched": lambda: ops.matmul(M=5, N=9, K=3, tb=True, batch_a=(2,), batch_b=(2,)),
    "convolution": lambda: ops.conv2d(N=1, H=3, W=4, C=2, K=5, R=3, S=3, padding="same"),
}
PLANS = {
    "virtual": TilesPlan(4, 2, columns=1, rows=2, virtual_across=3, virtual_down=2, depth=4, parity=2),
    "one side": TilesPlan(4, 2, columns=2, rows=2, virtual_across=2, depth=3, shared=False),
}


def tiled(work: Workload, plan: TilesPlan) -> Schedule:
    base = inline_all(work.schedule())
    (name,) = (n for n, nest in base.nests.stages.items() if nest.stage.reduce is not None)
    return planned(tiles(base, roles_of(base.nests, name), plan), SMALL_GPU, {name})


@lw.operator
def followed(M: int, N: int, K: int) -> Stage:
    """A product of which every element is read twice by what follows."""
    A, B = lw.input("A", (M, K)), lw.input("B", (N, K))
    k = lw.reduce_axis("k", K)
    C = lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[j, k], over=k))
    return lw.compute("D", (M, N), lambda i, j: lw.exp(C[i, j]) + C[i, j])


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", WORKS)
def test_virtual_threads_do_not_race(name: str, plan: str) -> None:
    work = WORKS[name]()
    check_threads(work, tiled(work, PLANS[plan]))


@on_device
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", WORKS)
def test_virtual_threads_on_a_device(name: str, plan: str) -> None:
    work = WORKS[name]()
    check_on_device(work, tiled(work, PLANS[plan]))


def test_neighbouring_threads_read_neighbouring_elements() -> None:
    work = ops.matmul(M=64, N=64, K=16, ta=True)
    schedule = tiled(work, TilesPlan(16, 4, columns=1, rows=2, virtual_across=4, virtual_down=2))
    text = lw.lower(work, target=CUDA, schedule=schedule).source()
    read = set(re.findall(r"\* B_shared_ptr\[([^;]*)\]\)\);", text))
    assert len(read) == 4 and all(place.endswith("((int)threadIdx.x))") for place in read), read


def test_rows_that_threads_read_crosswise_lie_an_odd_step_apart() -> None:
    """A's rows are along the steps, and those of B along the threads."""
    shown = str(tiled(ops.matmul(M=64, N=64, K=16), PLANS["virtual"]))
    assert "A_shared: float32[8, 4] shared, a step of i is 5 elements" in shown
    assert "B_shared: float32[4, 12] shared\n" in shown


def test_sketches_have_virtual_threads() -> None:
    target = TARGETS["cuda"]
    space = space_of(ops.matmul(M=256, N=256, K=256), target)
    points = [
        p for p in space.sample(np.random.default_rng(2), 40) if "tiles" in space.sketches[p.space].name
    ]
    chosen = [space.sketches[p.space].chosen(p.choice) for p in points]
    virtual = [
        p for p, c in zip(points, chosen, strict=True) if c["C.virtual_across"] * c["C.virtual_down"] > 1
    ]
    assert len(virtual) > 5
    schedules = [space.schedule(p) for p in virtual[:8]]
    assert all(s is not None and runs_on(s, target) for s in schedules)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the path")
def test_virtual_threads_compile_for_cuda() -> None:
    work = ops.matmul(M=250, N=190, K=130, tb=True)
    schedule = tiled(work, TilesPlan(16, 8, columns=1, rows=2, virtual_across=4, virtual_down=2, parity=2))
    (found,) = lw.lower(work, target=CUDA, schedule=schedule).resources()
    assert found.spills == (0, 0)


def test_what_follows_a_product_is_computed_by_the_threads_that_have_it() -> None:
    work = followed(9, 11, 16)
    schedule = default_schedule(work, SMALL_GPU)
    assert schedule.nests.stages["D"].place.kind == "after" and schedule.nests.stages["C"].scope == "local"
    check_threads(work, schedule)
    space = space_of(work, SMALL_GPU)
    assert [s.name for s in space.sketches] == ["default", "tiles, shared", "tiles, read by each", "grid"]
    for point in space.sample(np.random.default_rng(4), 4):
        sample = space.schedule(point)
        assert sample is not None
        check_threads(work, sample)

"""Matrices that a warp multiplies in fragments: what each thread would do instead, what the fragments do, and CUDA's text."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.sched.language.expr import Load
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering import stmt
from loopwright.sched.lowering.device.builder import build
from loopwright.sched.recipes.device import runs_on
from loopwright.sched.recipes.roles import roles_of
from loopwright.sched.recipes.warps import WarpsPlan, warps
from loopwright.sched.scheduling.schedule import Schedule
from tests.gpu import simulator
from tests.gpu.warps import followed, named, tiled
from tests.sched.workloads import arrays

CUDA = {"kind": "cuda", "arch": "sm_80"}
on_path = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the path")


def by_recipe(work: Workload, plan: WarpsPlan) -> Schedule:
    base = work.schedule()
    return warps(base, roles_of(base.nests, "C"), plan, "wmma.16x16x16.f16.f32")


CASES: dict[str, Any] = {
    "plain": lambda: (w := ops.matmul(M=32, N=32, K=32, dtype="float16"), tiled(w)),
    "both turned": lambda: (
        w := ops.matmul(M=32, N=16, K=32, dtype="float16", ta=True, tb=True),
        tiled(w, tiles=1),
    ),
    "followed": lambda: (w := named(16, 32, 16), followed(w)),
    "padded": lambda: (w := named(17, 33, 17), followed(w)),
    "by recipe": lambda: (
        w := ops.matmul(M=33, N=17, K=17, dtype="float16", tb=True),
        by_recipe(w, WarpsPlan(1, 2, 1, 1, 1)),
    ),
    "batched": lambda: (
        w := ops.matmul(M=16, N=16, K=16, dtype="float16", batch_a=(2,), batch_b=(2,)),
        by_recipe(w, WarpsPlan(1, 1, 1, 1, 1)),
    ),
}


class WithFragments(simulator._Thread):
    """The first thread of a warp does its steps as the fragments do them, the others nothing."""

    def steps(self, s: stmt.Stmt) -> Iterator[object]:
        if not isinstance(s, stmt.Warp):
            yield from super().steps(s)
            return
        place = {axis: self.values[var] for axis, var in self.block.launch.axes.items()}
        if place.pop("threadIdx.x"):
            return
        held = self.block.__dict__.setdefault("fragments", {})
        number = tuple(int(self.value(index)) for index in s.accumulators.indices)
        key = (s.accumulators.tensor, number, *place.items())
        if not s.matrices:
            held[key] = np.zeros((16, 16), s.accumulators.dtype)
        elif len(s.matrices) == 2:
            a, b = (self.elements(load, steps)[0] for load, steps in s.matrices)
            held[key] += a.astype(s.accumulators.dtype) @ b.astype(s.accumulators.dtype)
        else:
            ((load, steps),) = s.matrices
            _, memory, places = self.elements(load, steps, stored=False)
            memory.values[places], memory.stored[places] = held[key], True
        yield from ()

    def elements(self, load: Load, steps: tuple[int, int], stored: bool = True) -> Any:
        memory = self.memory(load.tensor)  # type: ignore[arg-type]
        first = memory.place([int(self.value(index)) for index in load.indices])
        places = first + np.arange(16)[:, None] * steps[0] + np.arange(16) * steps[1]
        assert not stored or memory.stored[places].all()
        return memory.values[places], memory, places


@pytest.mark.parametrize("by", ["threads", "fragments"])
@pytest.mark.parametrize("name", CASES)
def test_tiles_are_what_the_formula_says(name: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "fragments":
        monkeypatch.setattr(simulator, "_Thread", WithFragments)
    work, schedule = CASES[name]()
    given = arrays(work)
    (got,) = simulator.simulate(build(schedule.nests), given)
    np.testing.assert_allclose(got, work.reference(*given), rtol=1e-5, atol=1e-5)


def test_the_nest_says_who_does_what() -> None:
    shown = str(CASES["plain"]()[1])
    assert "threadIdx.x C.it_jt_lane in 32\n" in shown
    assert "by wmma.16x16x16.f16.f32" in shown


def test_fragments_are_loaded_as_the_operands_lie() -> None:
    work, schedule = CASES["plain"]()
    text = lw.lower(work, target=CUDA, schedule=schedule).source()
    assert "wmma::accumulator, 16, 16, 16, float> C_acc_ptr[2]" in text
    assert (
        "load_matrix_sync(A_shared_fragment_ptr[0], (&(A_shared_ptr[(((int)threadIdx.y) * 384)])), 24)"
        in text
    )
    assert "alignas(32) half A_shared_ptr" in text and "mem_row_major" in text
    work, schedule = CASES["both turned"]()
    text = lw.lower(work, target=CUDA, schedule=schedule).source()
    assert text.count("col_major> ") == 2 and "row_major> " not in text


@on_path
@pytest.mark.parametrize("name", ["plain", "followed"])
def test_tiles_compile_to_instructions_of_tensor_cores(name: str, tmp_path: Path) -> None:
    work, schedule = CASES[name]()
    (found,) = lw.lower(work, target={"kind": "cuda", "arch": "sm_90"}, schedule=schedule).resources()
    assert found.spills == (0, 0)
    (tmp_path / "kernel.cu").write_text(lw.lower(work, target=CUDA, schedule=schedule).source())
    subprocess.run(
        ["nvcc", "-ptx", "-arch=sm_80", "kernel.cu"], cwd=tmp_path, check=True, capture_output=True
    )
    text = (tmp_path / "kernel.ptx").read_text()
    assert "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32" in text


@on_path
def test_sums_in_float16() -> None:
    work = named(16, 32, 16, dtype="float16")
    lowered = lw.lower(work, target=CUDA, schedule=followed(work, "f16.f16"))
    assert "accumulator, 16, 16, 16, half>" in lowered.source()
    assert lowered.resources()[0].spills == (0, 0)


def test_older_gpus_and_other_languages_have_no_tensor_cores() -> None:
    work, schedule = CASES["plain"]()
    for target in ({"kind": "cuda", "arch": "sm_61"}, "metal"):
        with pytest.raises(lw.ScheduleError, match="needs cuda sm_70 or later, and the target is"):
            lw.lower(work, target=target, schedule=schedule)


def test_sketches_for_tensor_cores() -> None:
    work, target = ops.matmul(M=200, N=190, K=130, dtype="float16"), lw.Target.parse(CUDA)
    space = SearchSpace(sketches(work, target), target)
    number = [s.name for s in space.sketches].index("warps")
    assert number == 1 and any(point.space == number for point in space.seeds())
    points = [p for p in space.sample(np.random.default_rng(0), 60) if p.space == number]
    made = [space.schedule(p) for p in points]
    assert len(made) > 5 and all(s is not None and runs_on(s, target) for s in made)  # type: ignore[arg-type]
    assert np.isfinite(space.rows(points)[:, :4]).all()
    for other in (
        ops.matmul(M=200, N=190, K=130),
        ops.matmul(M=200, N=190, K=130, dtype="float16", bias=True),
    ):
        assert "warps" not in [s.name for s in sketches(other, target)]
    old = lw.Target.parse({"kind": "cuda", "arch": "sm_61"})
    assert "warps" not in [s.name for s in sketches(work, old)]

"""Sketches come from structure alone, and every candidate they allow is legal and computes the right thing."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import ops
from loopwright.autotune.verify import Guarded
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.roles import roles_of
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.build import build_schedule
from loopwright.sched.runtime.target import Target, host
from loopwright.sched.scheduling.schedule import Schedule

from .spaces import (
    AVX2,
    AVX512,
    bias_relu,
    column_sum,
    conv2d,
    dense,
    row_norm,
    softmax,
    space_of,
    total,
    transpose,
)

WORKLOADS = {
    "matmul": ops.matmul(M=50, N=40, K=30),
    "matmul, B transposed": ops.matmul(M=37, N=41, K=43, tb=True),
    "matmul, A transposed": ops.matmul(M=24, N=48, K=16, ta=True),
    "one row": ops.matmul(M=1, N=100, K=64),
    "one column": ops.matmul(M=100, N=1, K=64),
    "one element": ops.matmul(M=1, N=1, K=20),
    "tiny": ops.matmul(M=3, N=3, K=3),
    "float64": ops.matmul(M=20, N=20, K=20, dtype="float64"),
    "int8": ops.matmul(M=20, N=36, K=20, dtype="int8"),
    "batched": ops.batch_matmul(B=3, M=20, N=24, K=16, tb=True),
    "row norm": row_norm(M=30, K=20),
    "column sum": column_sum(M=30, N=100),
    "bias and relu": bias_relu(M=30, N=33),
    "transpose": transpose(M=30, N=20),
    "total": total(M=20, N=30),
    "softmax": softmax(M=10, N=30),
    "dense": dense(M=30, N=33, K=20),
    "conv2d": conv2d(H=6, W=7, C=4, O=16),
    "empty": ops.matmul(M=0, N=4, K=4),
    "nothing to sum": ops.matmul(M=4, N=4, K=0),
}


def assert_right(work: Workload, schedule: Schedule) -> None:
    inputs = random_inputs(work, seed=1)
    kernel = build_schedule(schedule, host())
    expected = Expected.of(work, inputs)
    outputs = [Guarded(value) for value in expected.values]
    arrays = tuple(guarded.array for guarded in outputs)
    kernel(*inputs, out=arrays if len(arrays) > 1 else arrays[0])
    assert expected.check(arrays) is None
    assert not any(guarded.harmed for guarded in outputs)


@pytest.mark.parametrize("name", WORKLOADS)
def test_default_schedules_are_right(name: str) -> None:
    work = WORKLOADS[name]
    assert_right(work, default_schedule(work, host()))


@pytest.mark.parametrize("name", WORKLOADS)
def test_sampled_candidates_are_legal_and_right(name: str) -> None:
    work = WORKLOADS[name]
    space = space_of(work, host())
    points = space.sample(np.random.default_rng(0), 12)
    schedules = [space.schedule(point) for point in points]
    assert points
    assert None not in schedules
    for schedule in schedules[:2]:
        assert schedule is not None
        assert schedule.knobs == {}
        assert_right(work, schedule)


def test_a_short_last_vector_beside_whole_ones_stays_inside() -> None:
    work = ops.matmul(M=1, N=768, K=16)
    template = next(
        sketch.schedule for sketch in space_of(work, host()).sketches if "reduction" in sketch.name
    )
    lanes = next(value for value in (56, 40, 48) if value in template.knobs["C.lanes"].values)
    assert_right(work, template.fill({"C.lanes": lanes, "C.copies": 16, "C.unroll": 1}))


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=["avx2", "avx512"])
def test_register_tiles_fit_the_registers(target: object) -> None:
    assert target in (AVX2, AVX512)
    space = space_of(ops.matmul(M=512, N=512, K=512), target)  # type: ignore[arg-type]
    lanes = target.vector_bytes // 4  # type: ignore[attr-defined]
    points = [point for point in space.sample(np.random.default_rng(0), 200) if point.space]
    assert len(points) > 100
    for point in points:
        values = space.sketches[point.space].chosen(point.choice)
        accumulators = values["C.rows"] * -(-values["C.columns"] // lanes)
        assert 6 <= accumulators <= target.registers  # type: ignore[attr-defined]


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=["avx2", "avx512"])
@pytest.mark.parametrize("size", [512, 1009])
def test_every_way_to_tile_has_a_first_guess(target: Target, size: int) -> None:
    """The default's unrolling may be more than a search is to compile; its tile is tried nevertheless."""
    space = space_of(ops.matmul(M=size, N=size, K=size), target)
    tried = {point.space for point in space.seeds()}
    tiled = [n for n, sketch in enumerate(space.sketches) if sketch.name.startswith("gemm")]
    assert tiled and len(tried.intersection(tiled)) > len(tiled) / 2


def test_structure_decides_the_rule() -> None:
    def kinds(work: Workload) -> set[str]:
        default, *others = space_of(work).sketches
        assert default.name == "default"
        return {sketch.name.partition(",")[0] for sketch in others}

    assert kinds(ops.matmul(M=64, N=64, K=64)) == {"gemm"}
    assert kinds(ops.batch_matmul(B=2, M=64, N=64, K=64)) == {"gemm"}
    assert kinds(conv2d(H=8, W=8, C=8, O=32)) == {"gemm"}
    assert kinds(ops.matmul(M=1, N=64, K=64)) == {"stream", "stream in pieces", "reduction"}
    assert kinds(ops.matmul(M=1, N=64, K=64, tb=True)) == {"lanes"}
    assert kinds(row_norm(M=8, K=40)) == {"lanes"}
    assert kinds(row_norm(M=8, K=8)) == {"reduction"}
    assert kinds(bias_relu(M=8, N=8)) == {"elementwise", "elementwise by rows"}


def test_a_transposed_operand_is_always_packed() -> None:
    names = [sketch.name for sketch in space_of(ops.matmul(M=64, N=64, K=64, tb=True)).sketches]
    assert names
    assert not any("none packed" in name for name in names)


def test_roles_of_a_product() -> None:
    work = ops.batch_matmul(B=2, M=64, N=64, K=64, tb=True)
    roles = roles_of(work.schedule().nests, "C")
    assert roles.vector is not None
    assert roles.rows is not None
    assert (roles.vector.name, roles.rows.name) == ("j", "i")
    assert [axis.name for axis in roles.outer] == ["b"]
    assert [operand.name for operand in roles.pack] == ["B"]


def test_default_schedules_have_no_scalar_inner_loop() -> None:
    """Every innermost loop over data that lies along memory is a vector loop."""
    for name in ("matmul", "bias and relu", "column sum", "batched"):
        nests = default_schedule(WORKLOADS[name], AVX2).nests
        kinds = [nest.loops[-1].kind for nest in nests.stages.values()]
        assert set(kinds) == {"vectorize"}, name

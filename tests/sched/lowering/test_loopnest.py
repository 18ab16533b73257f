"""Statement trees: where loops, tails, buffers and register tiles come to stand, and that they compute what they should."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.registers import register_cut
from loopwright.sched.lowering.stmt import Alloc, For, If, Program, Store, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

AVX2 = Target.parse({"kind": "cpu", "mcpu": "haswell", "cores": 2})


def program(schedule: Schedule) -> Program:
    return program_of(schedule, AVX2)


def loops(schedule: Schedule, label: str) -> list[For]:
    return [s for s in walk_statements(program(schedule).body) if isinstance(s, For) and s.label == label]


def buffers(schedule: Schedule) -> dict[str, tuple[int, ...]]:
    """The shape of each buffer, at its first (steady) allocation."""
    found: dict[str, tuple[int, ...]] = {}
    for s in walk_statements(program(schedule).body):
        if isinstance(s, Alloc):
            found.setdefault(s.buffer.name, s.buffer.shape)
    return found


def check(work: Workload, schedule: Schedule, rng: np.random.Generator) -> None:
    arrays = [rng.standard_normal(t.shape).astype(t.dtype) for t in work.inputs]
    np.testing.assert_allclose(
        lw.build(work, schedule=schedule)(*arrays), work.reference(*arrays), rtol=1e-4, atol=1e-4
    )


@lw.operator
def stencil(H: int, W: int) -> object:
    x = lw.input("x", (H + 2, W + 2))
    rows = lw.compute("rows", (H + 2, W), lambda y, x_: x[y, x_] + x[y, x_ + 1] * 2.0 + x[y, x_ + 2])
    return lw.compute("out", (H, W), lambda y, x_: rows[y, x_] + rows[y + 1, x_] + rows[y + 2, x_])


TAILS = ["guard", "peel", "pad", "auto"]
ALL_TAILS = [*TAILS, "shift_inward"]


@pytest.mark.parametrize("tail", ALL_TAILS)
@pytest.mark.parametrize("place", ["yo", "xo", "yi", "root", "inline"])
def test_a_producer_is_right_wherever_it_is_computed(tail: str, place: str, rng: np.random.Generator) -> None:
    work = stencil(H=27, W=35)
    s = (
        work.schedule()
        .split("out.y", ("yo", "yi"), 8, tail=tail)
        .split("out.x_", ("xo", "xi"), 16, tail=tail)
    )
    s = s.reorder("out", "yo xo yi xi").vectorize("out.xi").parallel("out.yo")
    if place == "inline":
        s = s.compute_inline("rows")
    elif place != "root":
        s = s.compute_at("rows", f"out.{place}")
    check(work, s, rng)


def test_a_producer_in_a_tile_has_the_box_its_readers_need() -> None:
    work = stencil(H=64, W=64)
    s = work.schedule().tile("out", y=("yo", "yi", 8), x_=("xo", "xi", 16))
    assert buffers(s.compute_at("rows", "out.xo"))["rows"] == (10, 16)
    assert buffers(s.compute_at("rows", "out.yo"))["rows"] == (10, 64)
    assert buffers(s)["rows"] == (66, 64)


ORDERS = [
    "i0 j0 j1 i1 k0 k1 i2 j2",
    "k0 i0 j0 j1 i1 k1 i2 j2",
    "k0 j2 k1 i0 j0 j1 i1 i2",
    "j0 j2 k0 i0 i1 j1 k1 i2",
]


def tiled(work: Workload, tail: str, order: str) -> Schedule:
    s = work.schedule().split("C.i", ("i0", "ir"), 12, tail=tail).split("C.ir", ("i1", "i2"), 4, tail=tail)
    s = s.split("C.j", ("j0", "jr"), 32, tail=tail).split("C.jr", ("j1", "j2"), 16, tail=tail)
    return s.split("C.k", ("k0", "k1"), 4, tail=tail).reorder("C", order).unroll("C.i2").vectorize("C.j2")


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("order", ORDERS)
def test_matmul_tiled_in_every_order(tail: str, order: str, rng: np.random.Generator) -> None:
    work = ops.matmul(M=37, N=45, K=19)
    check(work, tiled(work, tail, order), rng)


@pytest.mark.parametrize(("M", "N", "K"), [(1, 1, 1), (8, 16, 3), (5, 100, 0), (0, 4, 4), (13, 70, 9)])
def test_matmul_of_every_size(M: int, N: int, K: int, rng: np.random.Generator) -> None:
    work = ops.matmul(M=M, N=N, K=K)
    for tail in TAILS:
        check(work, tiled(work, tail, ORDERS[0]), rng)


def test_each_lane_has_its_own_accumulator_wherever_the_vector_stands(rng: np.random.Generator) -> None:
    work = ops.dense(M=12, N=10, K=8)
    (stage,) = (s.name for s in work.stages)
    for order in ("j0 j1 i k", "i j0 j1 k", "j1 k i j0"):
        s = (
            work.schedule()
            .split(f"{stage}.j", ("j0", "j1"), 8)
            .reorder(stage, order)
            .vectorize(f"{stage}.j1")
        )
        check(work, s, rng)


@pytest.mark.parametrize(("at", "layout"), list(product(["root", "C.j0", "C.k0", "C.j1"], [False, True])))
def test_packed_operands(at: str, layout: bool, rng: np.random.Generator) -> None:
    work = ops.matmul(M=30, N=70, K=33)
    s = work.schedule().tile("C", i=("i0", "i1", 6), j=("jt", "j2", 16)).split("C.jt", ("j0", "j1"), 2)
    s = s.split("C.k", ("k0", "k1"), 8).reorder("C", "j0 k0 i0 j1 k1 i1 j2").vectorize("C.j2").unroll("C.i1")
    s = s.cache_read("B", name="packed", at=None if at == "root" else at)
    s = s.split("packed.j", ("jo", "ji"), 16).reorder("packed", "jo k ji").vectorize("packed.ji")
    check(work, s.transform_layout("packed", "jo k ji") if layout else s, rng)


def test_no_predicate_stands_inside_an_inner_loop() -> None:
    """Sizes that no tile divides: every condition is outside the reduction loop."""
    work = ops.matmul(M=500, N=300, K=200)
    s = (
        work.schedule()
        .split("C.i", ("io", "ii"), 6)
        .split("C.j", ("jo", "ji"), 16)
        .reorder("C", "io jo k ii ji")
    )
    s = s.vectorize("C.ji").unroll("C.ii").parallel("C.io")
    for loop in loops(s, "C.k"):
        assert not any(isinstance(inner, If) for inner in walk_statements(loop))


def test_accumulators_of_a_register_tile_have_a_buffer_of_their_own() -> None:
    work = ops.matmul(M=48, N=64, K=32)
    s = work.schedule().tile("C", i=("io", "ii", 6), j=("jo", "ji", 16)).reorder("C", "io jo k ii ji")
    assert buffers(s.vectorize("C.ji").unroll("C.ii"))["C_acc"] == (6, 16)


def test_a_tile_larger_than_the_registers_is_cut() -> None:
    work = ops.matmul(M=64, N=64, K=32)
    s = work.schedule().tile("C", i=("io", "ii", 8), j=("jo", "ji", 32)).reorder("C", "io jo k ii ji")
    assert buffers(s.vectorize("C.ji").unroll("C.ii"))["C_acc"] == (4, 16)


@pytest.mark.parametrize("native", [4, 8, 16])
@pytest.mark.parametrize("registers", [16, 32])
def test_a_cut_tile_fits_and_divides(native: int, registers: int) -> None:
    for rows, lanes in product(range(1, 17), [4, 8, 16, 32, 64]):
        r, n = register_cut(rows, lanes, native, registers)
        assert rows % r == 0 and lanes % n == 0
        if lanes % native == 0:
            assert r * (n // native) + 2 <= registers


def test_partial_sums_of_a_blocked_reduction_are_held_in_registers() -> None:
    """With a reduction block outside the tiles, the tile is read and written once per block, not per step."""
    work = ops.matmul(M=64, N=64, K=64)
    s = work.schedule().tile("C", i=("i0", "i1", 8), j=("j0", "j1", 16)).split("C.k", ("k0", "k1"), 16)
    s = s.reorder("C", "k0 i0 j0 k1 i1 j1").unroll("C.i1").vectorize("C.j1")
    inner = loops(s, "C.k1")
    stores = [x for loop in inner for x in walk_statements(loop) if isinstance(x, Store)]
    assert stores and all(x.buffer.scope == "local" for x in stores)


@pytest.mark.parametrize("lanes", [3, 7, 12, 24, 48, 100])
def test_a_vector_of_any_length_is_cut_into_powers_of_two(lanes: int, rng: np.random.Generator) -> None:
    work = ops.matmul(M=5, N=200, K=7)
    s = work.schedule().split("C.j", ("jo", "ji"), lanes).reorder("C", "i jo k ji").vectorize("C.ji")
    for loop in loops(s, "C.ji"):
        if loop.kind == "vectorize":
            assert loop.extent & (loop.extent - 1) == 0
    check(work, s, rng)

"""Products of narrow elements in the tile registers of x86: chosen where rows and steps are whole tiles, and right to the bit.

Where the CPU has no tiles, their instructions are emulated; all around them is as it would be there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.target import Target, host
from loopwright.sched.scheduling.schedule import Schedule

from ..sched.test_tensorize import extremes, product
from .emulated import emulated
from .judging import assert_right
from .test_products import cpu, instruction

HAS_TILES = {"amx-tile", "amx-int8", "amx-bf16"} <= set(host().features)
AMX = cpu("avx512f", "avx512bw", "avx512vnni", "avx512bf16", "amx-tile", "amx-int8", "amx-bf16")
KINDS = {
    ("int8", "int8"): "i8",
    ("uint8", "int8"): "u8i8",
    ("int8", "uint8"): "i8u8",
    ("uint8", "uint8"): "u8",
}


def assert_exact(schedule: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same integers as the reference, emulated; and by the instructions where this CPU has them."""
    arrays = extremes(schedule.work)
    wanted = schedule.work.reference(*arrays)
    with emulated(monkeypatch):
        np.testing.assert_array_equal(lw.build(schedule.work, schedule=schedule)(*arrays), wanted)
    if HAS_TILES:
        kernel = lw.build(schedule.work, schedule=schedule)
        np.testing.assert_array_equal(kernel(*arrays), wanted)
        assert "tdpb" in kernel.source("asm")


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize(
    ("size", "tile"),
    [
        ((32, 32, 64), "32x32x64"),
        ((64, 96, 512), "32x32x512"),
        ((128, 192, 192), "64x64x64"),
        ((48, 40, 128), "16x32x64"),  # columns are filled up
        ((32, 64, 2048), "32x32x1024"),
    ],
)
def test_products_of_bytes(
    kinds: tuple[str, str], size: tuple[int, int, int], tile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = default_schedule(product(*size, *kinds), AMX)
    assert instruction(schedule) == f"amx.tile{tile}.{KINDS[kinds]}"
    assert_exact(schedule, monkeypatch)


@pytest.mark.parametrize(
    ("size", "feature"),
    [((33, 32, 64), "rows"), ((32, 32, 65), "steps"), ((8, 32, 64), "rows"), ((32, 20, 64), "columns")],
)
def test_what_is_no_whole_tile_is_left_to_vectors(
    size: tuple[int, int, int], feature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = default_schedule(product(*size, "uint8", "int8"), AMX)
    assert instruction(schedule) == (
        "avx512.vnni.dot16x4" if feature != "columns" else "amx.tile32x32x64.u8i8"
    )
    with emulated(monkeypatch):
        arrays = extremes(schedule.work)
        kernel = lw.build(schedule.work, schedule=schedule)
        np.testing.assert_array_equal(kernel(*arrays), schedule.work.reference(*arrays))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tb": True},
        {"ta": True},
        {"bias": True, "activation": "relu"},
        {"batch_a": (2,)},
        {"batch_a": (2,), "batch_b": (2,)},
    ],
)
def test_products_of_bfloat16(options: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    work = ops.matmul(**{"M": 64, "N": 64, "K": 160, "dtype": "bfloat16", **options})  # type: ignore[arg-type]
    schedule = default_schedule(work, AMX)
    assert instruction(schedule) == "amx.tile32x32x32.bf16"
    with emulated(monkeypatch):
        assert_right(schedule)
    if HAS_TILES:
        assert_right(schedule)


def test_weights_are_packed_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    work = ops.matmul(M=32, N=96, K=256, dtype=("uint8", "int8"), weights="B")
    schedule = default_schedule(work, AMX)
    assert instruction(schedule) == "amx.tile32x32x256.u8i8"
    with emulated(monkeypatch):
        arrays = random_inputs(work, 0)
        kernel = lw.build(work, schedule=schedule)
        packed = kernel.prepack(B=arrays[1])
        np.testing.assert_array_equal(kernel(arrays[0], packed), work.reference(*arrays))


def test_sketches_have_tiles_and_seeds_that_are_legal(monkeypatch: pytest.MonkeyPatch) -> None:
    space = SearchSpace(tuple(sketches(product(64, 128, 1024, "int8", "int8"), AMX)), AMX)
    found = [space.schedule(point) for point in space.seeds()]
    by_tiles = [s for s in found if s is not None and (instruction(s) or "").startswith("amx.tile")]
    assert by_tiles
    assert np.isfinite(space.rows(space.seeds())[:, 0]).all()
    assert_exact(by_tiles[0], monkeypatch)
    drawn = [space.schedule(point) for point in space.sample(np.random.default_rng(0), 12)]
    with emulated(monkeypatch):
        for schedule in drawn:
            if schedule is not None:
                arrays = extremes(schedule.work)
                kernel = lw.build(schedule.work, schedule=schedule)
                np.testing.assert_array_equal(kernel(*arrays), schedule.work.reference(*arrays))


def test_rows_may_lie_apart_and_neighbours_may_not() -> None:
    work = product(32, 32, 64, "uint8", "int8")
    tiled = work.schedule().split("C.k", ("kq", "kg"), 4).reorder("C", "i j kq kg")
    with pytest.raises(lw.ScheduleError, match="pack B: cache_read") as told:
        tiled.tensorize("C.i", "amx.tile32x32x64.u8i8")
    assert "goes 1 elements on in B, and must go 4" in str(told.value)


@pytest.mark.skipif(not HAS_TILES, reason="this CPU has no tiles")
def test_a_target_may_go_without() -> None:
    target = Target.parse({"kind": "cpu", "features": ["-amx-tile", "-amx-int8"]})
    schedule = default_schedule(product(32, 32, 64, "uint8", "int8"), target)
    assert instruction(schedule) == "avx512.vnni.dot16x4"
    assert replace(host(), features=target.features) == target

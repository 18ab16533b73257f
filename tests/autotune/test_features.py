"""Features computed for many candidates at once agree with what a loop nest does."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import ops
from loopwright.autotune.features.filling import points
from loopwright.autotune.features.nestshape import NestShape, access_of
from loopwright.autotune.features.program import GROWING, NAMES, Numbers, Structure, features
from loopwright.autotune.space import Point, SearchSpace, Sketch
from loopwright.sched.language.expr import loads
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.knobs import knob

from .spaces import AVX2, space_of


def test_extents_and_footprints_for_a_population() -> None:
    work = ops.matmul(M=100, N=64, K=32)
    schedule = (
        work.schedule()
        .split("C.i", ("io", "ii"), knob("tile", [8, 16]))
        .split("C.j", ("jo", "ji"), 16)
        .reorder("C", "io jo k ii ji")
    )
    nest = schedule.nests.stages["C"]
    tiles = np.array([8, 16])
    domain = {"i": np.asarray(100), "j": np.asarray(64), "k": np.asarray(32)}
    shape = NestShape(nest, {"io": tiles}, domain)
    assert shape.extent["io"].tolist() == [13, 7]
    assert shape.extent["ii"].tolist() == [8, 16]
    assert int(shape.extent["jo"]) == 4
    assert int(shape.extent["ji"]) == 16
    assert nest.stage.reduce is not None
    a, b = (access_of(load) for load in loads(nest.stage.reduce.value))
    inside = frozenset(("k", "ii", "ji"))
    assert [np.broadcast_to(n, 2).tolist() for n in shape.covered(a, inside)] == [[8, 16], [32, 32]]
    assert [int(n) for n in shape.covered(b, inside)] == [32, 16]


def test_rows_do_not_depend_on_company() -> None:
    space = space_of(ops.matmul(M=128, N=96, K=64))
    points = space.sample(np.random.default_rng(3), 40)
    together = space.rows(points)
    alone = np.concatenate([space.rows([point]) for point in points])
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    assert not np.isnan(together[:, : len(NAMES)]).any()


@pytest.mark.parametrize(
    "work",
    [
        ops.matmul(M=128, N=96, K=64),
        ops.conv2d(N=1, H=14, W=14, C=16, K=32, R=3, S=3, padding=1),
        ops.depthwise_conv2d(N=1, H=14, W=14, C=16, R=3, S=3, padding=1),
        ops.softmax(M=24, N=100),
        ops.attention(B=1, H=2, M=24, N=40, D=16),
        ops.sum(X=(4, 50, 60), axis=(1, 2)),
    ],
    ids=lambda work: work.name,
)
def test_a_row_is_what_the_filled_schedule_gives(work: Workload) -> None:
    space = space_of(work)
    for point in space.sample(np.random.default_rng(4), 12):
        schedule = space.schedule(point)
        assert schedule is not None
        row = features(Structure.of(schedule.nests), Numbers(), AVX2, 1)[0]
        row[GROWING] -= np.log2(points(work))
        found = dict(zip(NAMES, space.rows([point])[0], strict=False))
        np.testing.assert_allclose(list(found.values()), row, rtol=1e-4, atol=1e-4, err_msg=str((found, row)))


def test_what_grows_with_a_workload_is_counted_per_point() -> None:
    """A schedule whose tiles divide both shapes does the same work per point of either."""
    rows = []
    for M in (64, 128):
        work = ops.matmul(M=M, N=64, K=64)
        schedule = work.schedule().split("C.i", ("io", "ii"), knob("rows", [4])).vectorize("C.j", 8)
        rows.append(SearchSpace((Sketch("t", schedule),), AVX2).rows([Point(0, (0,))])[0])
    for name in ("compute", "fetch", "all_operations", "all_fetches"):
        assert NAMES.index(name) in GROWING
        assert rows[0][NAMES.index(name)] == pytest.approx(rows[1][NAMES.index(name)], abs=1e-4)


def test_derived_and_structural_knobs() -> None:
    work = ops.matmul(M=64, N=64, K=64)
    tile = knob("tile", [2, 4])
    template = (
        work.schedule()
        .split("C.i", ("io", "ii"), 2 * tile)
        .split("C.j", ("jo", "ji"), 16)
        .reorder("C", knob("order", ["io jo k ii ji", "jo io k ii ji"]))
        .vectorize("C.ji", when=knob("vector", [True, False]))
    )
    space = SearchSpace((Sketch("t", template),), AVX2)
    rows = space.rows(list(space.all_points()))
    lanes = rows[:, NAMES.index("lanes")]
    assert rows.shape[0] == 8
    assert sorted(set(lanes.tolist())) == [0.0, 4.0]
    assert len(np.unique(rows[:, NAMES.index("chains")])) > 1


def test_the_estimate_prefers_register_tiles_that_keep_the_units_busy() -> None:
    space = space_of(ops.matmul(M=480, N=512, K=512))
    sketch = space.sketches[1]
    base = dict(sketch.seeds[0]) | {"C.columns": 16}
    small, large = (sketch.choice_of({**base, "C.rows": n}) for n in (1, 6))
    assert small is not None
    assert large is not None
    found = space._fillings[1].rows(sketch, np.array([small, large]))
    assert found[0, 0] > found[1, 0]

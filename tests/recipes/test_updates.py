"""Updates run side by side where they know nothing of each other: along memory, as rows of a scan, as slices of a histogram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule

from .judging import ONE_CORE, assert_golden, assert_space_is_right

TWO_CORES = replace(ONE_CORE, cores=2)


@lw.operator
def last_index(N: int, bins: int) -> Any:
    """Where each value stood last: what is written later wins, so the order of the domain matters."""
    x, t = lw.input("x", (N,), "uint8"), lw.reduce_axis("t", N)
    f = lw.compute("f", (bins,), lambda b: -lw.const(1, "int32") + b * 0)
    return f.update(lambda old: t + old * 0, at=lw.min(lw.cast("int32", x[t]), bins - 1), over=t)


@lw.operator
def doubled_part(M: int, N: int) -> Any:
    """An update of a part of each row, in which no element knows of another."""
    x, t = lw.input("x", (M, N)), lw.reduce_axis("t", N // 2)
    f = lw.compute("f", (M, N), lambda i, j: x[i, j])
    return f.update(lambda i: ((i, t), f[i, t] * 2), over=t)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "down": lambda: ops.cumsum(X=(37, 301), axis=0),
    "down, batched": lambda: ops.cumsum(X=(3, 11, 50), axis=1, dtype="float64"),
    "down, a narrow one": lambda: ops.cumsum(X=(300, 3), axis=0, dtype="int32"),
    "along rows": lambda: ops.cumprod(X=(19, 203), axis=1),
    "along one row": lambda: ops.cumsum(X=(1, 999), axis=1),
    "batched rows": lambda: ops.cumsum(X=(2, 5, 40), axis=2, dtype="int16"),
    "histogram": lambda: ops.histogram(X=(301, 203), bins=16),
    "counts": lambda: ops.bincount(N=60_001, bins=5),
    "weighted counts": lambda: ops.bincount(N=60_001, bins=5, weights=True),
    "more bins than numbers": lambda: ops.bincount(N=40, bins=5000),
    "the last of each": lambda: last_index(N=30_001, bins=7),
    "greatest": lambda: ops.top_k(X=(9, 70), K=5),
    "a part of each row": lambda: doubled_part(M=23, N=130),
    "scattered": lambda: ops.scatter_add(M=20, N=33, K=50),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_candidate_is_right(name: str) -> None:
    assert_space_is_right(WORKLOADS[name](), drawn=20, built=2)


def test_default_nests() -> None:
    assert_golden("default_cumsum_down", default_schedule(ops.cumsum(X=(512, 2048), axis=0), ONE_CORE))
    assert_golden("default_cumsum_along", default_schedule(ops.cumsum(X=(512, 2048), axis=1), ONE_CORE))


def test_counting_is_shared_out_only_where_it_pays() -> None:
    def slices(work: Workload) -> bool:
        return "Y_slices" in default_schedule(work, TWO_CORES).nests.stages

    assert slices(ops.bincount(N=1_000_000, bins=1000))
    assert not slices(ops.bincount(N=1_000_000, bins=900_000))
    assert not slices(ops.bincount(N=1000, bins=4))
    on_one_core = default_schedule(ops.bincount(N=1_000_000, bins=1000), ONE_CORE)
    assert "Y_slices" not in on_one_core.nests.stages


def test_a_domain_without_an_order_runs_in_vectors() -> None:
    loops = default_schedule(doubled_part(M=64, N=256), ONE_CORE).nests.stages["f.u0"].loops
    assert [(loop.name, loop.kind) for loop in loops][-1] == ("t.v", "vectorize")


def test_order_is_kept_where_it_matters() -> None:
    schedule = default_schedule(last_index(N=100_000, bins=7), TWO_CORES)
    assert [loop.kind for loop in schedule.nests.stages["f.u0"].loops] == ["serial"]

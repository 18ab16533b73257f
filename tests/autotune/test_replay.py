"""A record is served to an equal workload, whatever its parts are called."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw
from loopwright.autotune.record import Record
from loopwright.autotune.replay import schedule_of
from loopwright.sched.errors import LogError
from loopwright.sched.language.workload import Workload
from tests.autotune.logs import failed, make


def layer(names: str = "A B C i j k", swapped: bool = False) -> Workload:
    """``relu(A @ B)`` and a row sum, with the names asked for."""
    a, b, c, i, j, k = names.split()

    @lw.operator
    def relu_rows(M: int, N: int, K: int):  # type: ignore[no-untyped-def]
        if swapped:
            right, left = lw.input(b, (K, N)), lw.input(a, (M, K))
        else:
            left, right = lw.input(a, (M, K)), lw.input(b, (K, N))
        over = lw.reduce_axis(k, K)
        body = f"lambda {i}, {j}: lw.max(lw.sum(left[{i}, over] * right[over, {j}], over=over), 0)"
        product = lw.compute(c, (M, N), eval(body, {"lw": lw, "left": left, "right": right, "over": over}))
        row = lw.reduce_axis("n", N)
        return lw.compute("rows", (M,), lambda m: lw.sum(product[m, row], over=row))

    return relu_rows(M=12, N=10, K=8)


def scheduled(work: Workload) -> lw.Schedule:
    schedule = work.schedule().split("C.i", ("io", "j_"), 4).split("C.j", ("jo", "ji"), 8)
    return schedule.reorder("C", "io jo k j_ ji").vectorize("C.ji").parallel("C.io")


def record_of(work: Workload) -> Record:
    return make(3, workload=work.key, name=work.name, schedule=scheduled(work).to_json(), names=work.names)


@pytest.mark.parametrize(
    "other",
    [
        layer("X Y Z p q r"),
        layer("B A C j i k", swapped=True),
        layer("A B C k j i"),
        layer("A B io ii i jo"),
        layer("j_ io jo ji k i", swapped=True),
    ],
    ids=lambda work: " ".join(work.names.values()),
)
def test_a_record_of_other_names_builds_the_same_kernel(other: Workload, rng: np.random.Generator) -> None:
    schedule = schedule_of(record_of(layer()), other)
    assert schedule.work is other
    original = scheduled(layer())
    assert [d.kind for d in schedule.directives] == [d.kind for d in original.directives]
    for nest, like in zip(schedule.nests.stages.values(), original.nests.stages.values(), strict=True):
        assert [(loop.kind, loop.reduce) for loop in nest.loops] == [
            (loop.kind, loop.reduce) for loop in like.loops
        ]
        assert [r.factor for r in nest.relations] == [r.factor for r in like.relations]
    a, b = rng.standard_normal((12, 8), np.float32), rng.standard_normal((8, 10), np.float32)
    first_is_b = other.inputs[0].shape == b.shape
    got = lw.build(other, target="cpu", schedule=schedule)(*((b, a) if first_is_b else (a, b)))
    np.testing.assert_allclose(got, np.maximum(a @ b, 0).sum(1), rtol=1e-4)


def test_a_record_without_names_speaks_in_the_workloads_own() -> None:
    work = layer()
    record = make(workload=work.key, schedule=scheduled(work).to_json())
    assert schedule_of(record, work) == scheduled(work)


def test_names_that_do_not_fit_are_refused() -> None:
    work = layer()
    for names in (
        {"i0": "A"},
        {**work.names, "i0": "B"},
        {**work.names, "s0.a0": "j"},
        {**work.names, "s0": "not a name"},
    ):
        with pytest.raises(LogError, match="cannot be replayed"):
            schedule_of(make(workload=work.key, schedule=scheduled(work).to_json(), names=names), work)


def test_a_record_that_cannot_be_replayed() -> None:
    work = layer()
    with pytest.raises(LogError, match="has key"):
        schedule_of(make(), work)
    with pytest.raises(LogError, match="not in the record"):
        schedule_of(failed(workload=work.key, schedule=None), work)
    text = scheduled(work).to_json().replace('"C.i"', '"C.nosuch"').replace('"i"', '"nosuch"')
    with pytest.raises(LogError, match="cannot be replayed"):
        schedule_of(make(workload=work.key, schedule=text, names=work.names), work)

"""A record is served to an equal workload, whatever its parts are called."""

from __future__ import annotations

import numpy as np
import pytest
from loopwright.autotune.replay import renamed, schedule_of
from loopwright.sched.errors import LogError
from loopwright.sched.workload import Workload

import loopwright as lw
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
    return (
        work.schedule()
        .split("C.i", ("io", "j_"), 4)
        .split("C.j", ("jo", "ji"), 8)
        .vectorize("C.ji")
        .parallel("C.io")
    )


def record_of(work: Workload) -> object:
    return make(3, workload=work.key, name=work.name, schedule=scheduled(work).to_json(), names=work.names)


def test_renamed_keeps_the_formula_and_the_order_of_inputs() -> None:
    work = layer()
    for other in (layer("X Y Z p q r"), layer("B A C j i k", swapped=True), layer("A B io ii i jo")):
        assert other.key == work.key
        there = renamed(other, work.names)
        assert there.key == work.key
        assert there.names == work.names
        back = {name: position for position, name in other.names.items() if position.startswith("i")}
        assert [t.name for t in there.inputs] == [work.names[back[t.name]] for t in other.inputs]
    assert renamed(work, work.names) is work
    assert renamed(work, {}) is work


def test_names_that_do_not_fit_are_refused() -> None:
    work = layer()
    for names in (
        {**work.names, "s7": "D"},
        {"i0": "A"},
        {**work.names, "i0": "B"},
        {**work.names, "s0.a0": "j"},
        {**work.names, "s0": "not a name"},
    ):
        with pytest.raises(LogError, match="names in the record"):
            renamed(work, names)


def test_a_record_of_other_names_builds_the_same_kernel(rng: np.random.Generator) -> None:
    record = record_of(layer())
    assert schedule_of(record, layer()) == scheduled(layer())
    other = layer("j_ io jo ji k i", swapped=True)
    schedule = schedule_of(record, other)
    assert schedule.workload.key == other.key
    b, a = rng.standard_normal((8, 10), np.float32), rng.standard_normal((12, 8), np.float32)
    got = lw.build(other, target="cpu", schedule=schedule)(b, a)
    np.testing.assert_allclose(got, np.maximum(a @ b, 0).sum(1), rtol=1e-4)


def test_a_record_that_cannot_be_replayed() -> None:
    work = layer()
    with pytest.raises(LogError, match="has key"):
        schedule_of(make(), work)
    with pytest.raises(LogError, match="no schedule"):
        schedule_of(failed(workload=work.key, schedule=None), work)
    text = scheduled(work).to_json().replace('"C.i"', '"C.nosuch"').replace('"i"', '"nosuch"')
    with pytest.raises(LogError, match="cannot be replayed"):
        schedule_of(make(workload=work.key, schedule=text, names=work.names), work)

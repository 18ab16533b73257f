"""Versions of a kernel for special cases."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.expr import Select, loads, walk
from loopwright.sched.lowering.loopnest import build
from loopwright.sched.lowering.stmt import If, Store, walk_statements
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.stencils import two
from tests.sched.workloads import check_kernel, matmul


@lw.operator
def scaled(M: int, N: int, dtype: str = "float32") -> object:
    """``beta * C`` is added unless beta is 0; mode 1 takes absolute values."""
    a, c = lw.input("a", (M, N), dtype), lw.input("c", (M, N), dtype)
    beta, mode = lw.input("beta", (1,), dtype), lw.input("mode", (), "int32")
    x = lw.compute("x", (M, N), lambda i, j: lw.select(mode[()] == 1, lw.abs(a[i, j]), a[i, j]))
    return lw.compute("y", (M, N), lambda i, j: x[i, j] + lw.select(beta[0] == 0, 0, c[i, j] * beta[0]))


def runs(schedule: Schedule) -> None:
    """The kernel is right whichever version runs."""
    work = schedule.work
    kernel = lw.build(work, target="cpu", schedule=schedule)
    rng = np.random.default_rng(3)
    a, c = (rng.integers(-4, 5, work.inputs[0].shape).astype(work.inputs[0].dtype) for _ in range(2))
    for beta in (0, 2):
        for mode in (0, 1, 2):
            given = (a, c, np.full(1, beta, a.dtype), np.array(mode, "int32"))
            np.testing.assert_array_equal(kernel(*given), work.reference(*given))


def test_a_version_for_a_value_of_an_input() -> None:
    plain = scaled(7, 13).schedule().compute_at("x", "y.i")
    schedule = plain.specialize("beta[0] == 0", lambda s: s.vectorize("y.j", 8).parallel("y.i"))
    assert str(schedule).split("\n")[1] == "if beta[0] == 0:"
    assert "else:" in str(schedule)
    runs(schedule)
    runs(schedule.vectorize("x.j", 4))
    runs(schedule.specialize("mode == 1", lambda s: s.compute_root("x").unroll("y.j", 2)))
    runs(plain.specialize("(mode == 1) & (beta[0] == 0)", lambda s: s.vectorize("y.j", 8)))
    runs(plain.specialize("(mode < 1) | (mode > 1)", lambda s: s.specialize("beta[0] != 0", lambda t: t)))


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_what_the_condition_says_is_known(dtype: str) -> None:
    schedule = scaled(7, 13, dtype).schedule().specialize("beta[0] == 0", lambda s: s.vectorize("y.j", 8))
    top = next(s for s in walk_statements(build(schedule.nests).body) if isinstance(s, If))
    assert top.otherwise is not None
    read = [
        {e.tensor.name for s in walk_statements(side) if isinstance(s, Store) for e in loads(s.value)}
        for side in (top.then, top.otherwise)
    ]
    assert [sorted(names & {"c", "beta"}) for names in read] == [[], ["beta", "c"]]
    chosen = [
        sum(
            isinstance(e, Select)
            for s in walk_statements(side)
            if isinstance(s, Store)
            for e in walk(s.value)
        )
        for side in (top.then, top.otherwise)
    ]
    assert chosen == [1, 1]  # that on the mode: it is open in both
    runs(schedule)


def test_versions_for_symbolic_sizes() -> None:
    n = lw.size("n")

    @lw.operator
    def add() -> object:
        a, b = lw.input("a", (n,)), lw.input("b", (n,))
        return lw.compute("c", (n,), lambda i: a[i] + b[i])

    work = add()
    schedule = work.schedule().specialize("(n >= 16) & (n % 8 == 0)", lambda s: s.vectorize("c.i", 8))
    kernel = lw.build(work, target="cpu", schedule=schedule)
    for length in (0, 1, 8, 15, 16, 17, 24, 1000):
        x = np.arange(length, dtype=np.float32)
        np.testing.assert_array_equal(kernel(x, x), x + x)


def test_copies_and_windows_inside() -> None:
    work = two(13, 9)
    schedule = work.schedule().specialize(
        "a[0, 0] > 0", lambda s: s.compute_at("b", "c.y").store_root("b").cache_write("c")
    )
    check_kernel(work, lw.build(work, target="cpu", schedule=schedule))
    check_kernel(work, lw.build(work, target="cpu", schedule=schedule.cache_read("a", at="b.y")))


def test_forms_knobs_and_names() -> None:
    work = scaled(7, 13)
    width, grain = lw.knob("width", [4, 8]), lw.knob("grain", [1, 2])
    space = work.schedule().specialize(
        "beta[0] == 0", lambda s: s.vectorize("y.j", width).parallel("y.i", grain)
    )
    assert list(space.knobs) == ["width", "grain"]
    assert space.valid_size == 4
    assert Schedule.from_json(work, space.to_json()) == space
    schedule = space.fill(width=8, grain=2)
    runs(schedule)
    assert Schedule.from_json(work, schedule.to_json()) == schedule
    names: dict[str, object] = {"work": work}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule

    @lw.operator
    def other(M: int, N: int) -> object:
        beta, mode = lw.input("beta", (M, N)), lw.input("mode", (M, N))
        a, c = lw.input("a", (1,)), lw.input("c", (), "int32")
        y = lw.compute("y", (M, N), lambda u, v: lw.select(c[()] == 1, lw.abs(beta[u, v]), beta[u, v]))
        return lw.compute("x", (M, N), lambda u, v: y[u, v] + lw.select(a[0] == 0, 0, mode[u, v] * a[0]))

    theirs = other(7, 13)
    assert theirs.key == work.key
    moved = Schedule.from_json(theirs, schedule.to_json(), work.names)
    assert moved.directives[0].get("condition") == "a[0] == 0"
    assert moved.directives[0].get("then")[0].get("loop") == "x.v"


def test_the_rest_of_the_house_takes_the_general_version() -> None:
    work = matmul(9, 11, 6)
    schedule = work.schedule().specialize("A[0, 0] > 0", lambda s: s.vectorize("C.j", 8))
    assert schedule.explain()
    assert schedule.diff(work.schedule())
    check_kernel(work, lw.build(work, target="cpu", schedule=schedule))

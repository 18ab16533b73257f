"""Stages: their normal form, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Expr, Result
from loopwright.sched.language.workload import Workload, topological
from loopwright.sched.reference import Expected, random_inputs


def work_of(define: Callable[[], Any]) -> Workload:
    return lw.operator(define)()


def names(stage: Any) -> list[str]:
    return [s.name for s in topological([stage])]


def test_a_plain_reduction_is_its_own_body() -> None:
    A = lw.input("A", (4, 8))
    k = lw.reduce_axis("k", 8)
    C = lw.compute("C", (4,), lambda i: lw.sum(A[i, k], over=k))
    assert isinstance(C.body, Result)
    assert C.reduce is not None
    assert [axis.name for axis in C.all_axes] == ["i", "k"]
    assert [axis.reduce for axis in C.all_axes] == [False, True]
    assert C.shape == (4,)


def test_what_surrounds_a_reduction_stays_in_its_stage() -> None:
    A, bias = lw.input("A", (4, 8)), lw.input("bias", (4,))
    k = lw.reduce_axis("k", 8)
    C = lw.compute("C", (4,), lambda i: lw.max(lw.sum(A[i, k], over=k) * 0.5 + bias[i], 0.0))
    assert str(C.body) == "max(result * 0.5 + bias[i], 0)"
    assert names(C) == ["C"]


def test_one_reduction_used_twice_is_computed_once() -> None:
    A = lw.input("A", (4, 8))
    k = lw.reduce_axis("k", 8)

    def square(i: Any) -> Any:
        total = lw.sum(A[i, k], over=k)
        return total * total + lw.sum(A[i, k], over=k)

    C = lw.compute("C", (4,), square)
    assert names(C) == ["C"]
    assert str(C.body) == "result * result + result"


def test_several_reductions_become_stages_of_the_axes_they_use() -> None:
    A = lw.input("A", (4, 8))
    k = lw.reduce_axis("k", 8)
    C = lw.compute(
        "C",
        (4, 8),
        lambda i, j: (
            A[i, j] / lw.sum(A[i, k], over=k) - lw.sum(A[k % 4, j], over=k) + lw.max(A[0, k], over=k)
        ),
    )
    stages = {s.name: [axis.name for axis in s.all_axes] for s in topological([C])}
    assert stages == {"C.sum0": ["i", "k"], "C.sum1": ["j", "k"], "C.max0": ["k"], "C": ["i", "j"]}
    assert all(stage.reduce_axes[0] is not k for stage in topological([C])[:3])


def test_the_two_maxima_of_a_naive_softmax_are_one_stage() -> None:
    def define() -> Any:
        X = lw.input("X", (5, 9))
        k, k2, k3 = (lw.reduce_axis("k", 9) for _ in range(3))

        def softmax(i: Any, j: Any) -> Any:
            total = lw.sum(lw.exp(X[i, k2] - lw.max(X[i, k3], over=k3)), over=k2)
            return lw.exp(X[i, j] - lw.max(X[i, k], over=k)) / total

        return lw.compute("Y", (5, 9), softmax)

    work = work_of(define)
    assert [stage.name for stage in work.stages] == ["Y.max0", "Y.sum0", "Y"]
    x = np.random.default_rng(0).standard_normal((5, 9), dtype=np.float32)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(work.reference(x), e / e.sum(1, keepdims=True), rtol=1e-5)


def test_nested_reductions() -> None:
    def define() -> Any:
        A = lw.input("A", (3, 4, 5))
        j, k = lw.reduce_axis("j", 4), lw.reduce_axis("k", 5)
        return lw.compute("C", (3,), lambda i: lw.max(lw.sum(A[i, j, k], over=k) * 2, over=j) + 1)

    work = work_of(define)
    assert [(s.name, [a.name for a in s.all_axes]) for s in work.stages] == [
        ("C.sum0", ["i", "j", "k"]),
        ("C", ["i", "j"]),
    ]
    x = np.random.default_rng(0).standard_normal((3, 4, 5), dtype=np.float32)
    np.testing.assert_allclose(work.reference(x), x.sum(2).max(1) * 2 + 1, rtol=1e-5)


def test_an_inner_reduction_over_the_same_axis_object_is_its_own() -> None:
    def define() -> Any:
        A = lw.input("A", (6,))
        k = lw.reduce_axis("k", 6)
        return lw.compute("C", (), lambda: lw.sum(A[k] * lw.sum(A[k], over=k), over=k))

    x = np.arange(6, dtype=np.float32)
    assert work_of(define).reference(x) == 15 * 15


def test_a_named_reduction_is_a_stage() -> None:
    A, B = lw.input("A", (4, 8)), lw.input("B", (8, 5))
    k = lw.reduce_axis("k", 8)
    C = lw.compute("C", (4, 5), lambda i, j: lw.max(lw.sum(A[i, k] * B[k, j], over=k, name="acc"), 0))
    assert names(C) == ["acc", "C"]
    assert [axis.name for axis in topological([C])[0].all_axes] == ["i", "j", "k"]
    assert C.reduce is None


def test_one_reduce_axis_serves_several_stages() -> None:
    A = lw.input("A", (4, 8))
    k = lw.reduce_axis("k", 8)
    first = lw.compute("first", (4,), lambda i: lw.sum(A[i, k], over=k))
    second = lw.compute("second", (4,), lambda i: lw.max(A[i, k] - first[i], over=k))
    assert first.reduce_axes[0] is not second.reduce_axes[0]


def test_dtype_converts_what_is_stored() -> None:
    A = lw.input("A", (4, 8), "float16")
    k = lw.reduce_axis("k", 8)
    C = lw.compute("C", (4,), lambda i: lw.sum(A[i, k], over=k), dtype="float16")
    assert (C.dtype, str(C.body)) == ("float16", "float16(result)")
    assert lw.compute("Z", (4,), lambda i: 0, dtype="float32").body.value == 0.0  # type: ignore[attr-defined]
    assert lw.compute("Z", 4, lambda i: i, dtype=np.int8).dtype == "int8"
    with pytest.raises(DefinitionError, match="unknown dtype 'f99'"):
        lw.compute("Z", 4, lambda i: i, dtype="f99")


def test_sizes_none_zero_and_one() -> None:
    def define() -> Any:
        A = lw.input("A", (0, 3))
        k = lw.reduce_axis("k", 0)
        scalar = lw.compute("scalar", (), lambda: 7)
        one = lw.compute("one", (1, 1), lambda i, j: i + j + scalar[()])
        nothing = lw.compute("nothing", (0, 3), lambda i, j: A[i + 5, j])
        return scalar, one, nothing, lw.compute("sums", (3,), lambda j: lw.sum(A[k, j], over=k))

    scalar, one, nothing, sums = work_of(define).reference(np.zeros((0, 3), "f"))
    assert (scalar.shape, scalar.dtype, int(scalar)) == ((), np.int32, 7)
    assert one.tolist() == [[7]]
    assert nothing.shape == (0, 3)
    assert sums.tolist() == [0, 0, 0]


def test_axis_names_come_from_the_function() -> None:
    A = lw.input("A", (4, 8))
    assert [a.name for a in lw.compute("C", (4, 8), lambda *at: A[at]).axes] == ["i0", "i1"]
    assert [a.name for a in lw.compute("C", (4,), lambda row, n=3: A[row, n]).axes] == ["row"]


A = lw.input("A", (4, 8))
E = lw.input("E", (0,))
k = lw.reduce_axis("k", 8)
over = lw.reduce_axis("k", 8)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: lw.compute("C", (4, 8), lambda i: A[i, 0]),
            "the shape has 2 dimensions, but the function takes 1 axes (i)",
        ),
        (lambda: lw.compute("C", (4,), lambda: A[0, 0]), "the function takes 0 axes (none)"),
        (
            lambda: lw.compute("C", (4,), lambda i: A[i, k]),
            "the axis k stands outside every loop that runs over it; write lw.sum(..., over=k)",
        ),
        (
            lambda: lw.compute("C", (4,), lambda i: lw.sum(A[i, k], over=k) + A[i, k]),
            "the axis k stands outside",
        ),
        (
            lambda: lw.compute("C", (8,), lambda k: lw.sum(A[0, k] * A[1, over], over=over)),
            "two axes are named 'k'",
        ),
        (
            lambda: lw.compute("C", (4,), lambda i: A[i + 1, 0]),
            "`A[i + 1, 0]` reads A at index 0 from 1 to 4, outside 0..3",
        ),
        (lambda: lw.compute("C", (4,), lambda i: A[i - 1, 0]), "from -1 to 2, outside 0..3"),
        (lambda: lw.compute("C", (4,), lambda i: A[i, 8]), "from 8 to 8, outside 0..7"),
        (lambda: lw.compute("C", (4,), lambda i: E[i]), "which has no elements"),
        (lambda: lw.compute("C", (4,), lambda i: None), "NoneType None is no expression"),
        (lambda: lw.compute("C", (4,), lambda i: "x"), "str 'x' is no expression"),
        (lambda: lw.compute("C.x", (4,), lambda i: i), "has a dot in it"),
        (lambda: lw.compute("1C", (4,), lambda i: i), "'1C' is no name"),
        (lambda: lw.compute("C", (-4,), lambda i: i), "the size -4"),
        (lambda: lw.compute("C", (4,), lambda i: lw.sum(A[i, k], over=k, name="a.b")), "has a dot in it"),
    ],
)
def test_refused(build: Callable[[], Any], words: str) -> None:
    with pytest.raises((DefinitionError, TypeError)) as caught:
        build()
    assert words in str(caught.value)


def test_formulas_are_of_a_size_to_work_with() -> None:
    def long_sum(terms: int) -> Workload:
        def define() -> Any:
            x = lw.input("x", (4 + terms,))

            def value(i: Any) -> Any:
                total = x[i]
                for n in range(1, terms):
                    total = total + x[i + n]
                return total

            return lw.compute("y", (4,), value)

        return work_of(define)

    work = long_sum(300)
    assert work.reference(np.ones(304, "f")).tolist() == [300] * 4
    assert Workload.from_json(work.to_json()).key == work.key
    assert len(str(work.stages[0].body)) > 300
    with pytest.raises(DefinitionError, match="nested 502 deep.*\n.*lw.sum over a reduction axis"):
        long_sum(500)


def test_a_select_guards_what_it_decides() -> None:
    lw.compute("C", (4,), lambda i: lw.select(i >= 1, A[i - 1, 0], 0.0))
    lw.compute("C", (4,), lambda i: A[lw.max(i - 1, 0), 0])
    with pytest.raises(DefinitionError, match="guard it with lw.select"):
        lw.compute("C", (4,), lambda i: lw.select(A[i - 1, 0] > 0, 1.0, 0.0))


def test_no_expression_is_ever_compared_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """`==` builds an expression, which is true of nothing: a look for one in a list would find the wrong one."""

    def compared(self: Expr, other: object) -> None:
        raise AssertionError(f"{self!r} == {other!r}")

    monkeypatch.setattr(Expr, "__eq__", compared)
    monkeypatch.setattr(Expr, "__ne__", compared)
    for work in (ops.softmax(M=3, N=5), ops.dense(M=3, N=4, K=5, activation="relu")):
        again = Workload.from_json(work.to_json())
        assert (again.key, again.names) == (work.key, work.names)
        schedule = again.schedule()
        assert str(schedule)
        arrays = random_inputs(again)
        assert (
            Expected.of(again, arrays).check(lw.build(again, target="cpu", schedule=schedule)(*arrays))
            is None
        )

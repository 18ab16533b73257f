"""Keys and the JSON form. The golden keys must never change: tuning logs are filed under them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.canonical import expr_from_json, expr_to_json
from loopwright.sched.language.expr import Const
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import random_inputs
from tests.sched.formulas import workloads

GOLDEN = {
    "matmul": (
        lambda: ops.matmul(M=512, N=512, K=512),
        "c9fe45254cfd0131531a4d293dcf9ddf5b52abf3c834e4d9c4c700148c317133",
    ),
    "matmul int8 transposed": (
        lambda: ops.matmul(M=3, N=4, K=5, dtype="int8", tb=True),
        "719c01dbd0dfbed1c71d19144c7b0406805537e098ee003f47faf98c91ec8676",
    ),
    "batch_matmul": (
        lambda: ops.batch_matmul(B=12, M=128, N=128, K=64, tb=True),
        "2365080d9856677443fcd286e2f1baf1f47807981e12d15ff129867b74881a1d",
    ),
    "dense relu": (
        lambda: ops.dense(M=8, N=16, K=32, activation="relu"),
        "e85e690539054dae167e71e9b8891aaf4ed5396cc85d13d610ffcdeb9f617553",
    ),
    "dense gelu float16": (
        lambda: ops.dense(M=8, N=16, K=32, activation="gelu", dtype="float16"),
        "f7080452a98cb3dcd9591d1cec3557bb02db8d96ccfb808af8f87053ee441ae2",
    ),
    "softmax": (
        lambda: ops.softmax(M=128, N=1000),
        "0e9459fddb5131de604ecfacfe4a79ddd4c853be7301ab3410c7165cc49384d2",
    ),
    "layer_norm": (
        lambda: ops.layer_norm(M=128, N=768),
        "15bf5699b4a4e4d7d30db4c3584e3b1d5bf15ccee76efc07d561deb36394c71d",
    ),
    "row_max": (
        lambda: ops.max(X=(3, 7), axis=1, dtype="uint8"),
        "e430f72c0c75063bc2cdbf104240079253a3c41438689b0ee0abfcc2b79e8728",
    ),
    "add": (
        lambda: ops.add(A=(1, 1), B=(1, 1)),
        "26311eef06ef832e944b9cbcebafdfc8462482c83f7bd676f99b45cc67ee78df",
    ),
}


def work_of(define: Callable[[], Any]) -> Workload:
    return lw.operator(define)()


def product(
    names: str = "A B C i j k", sizes: tuple[int, int, int] = (4, 6, 5), swap: bool = False, **options: Any
) -> Workload:
    """A matrix product, in names of one's own, its inputs declared in either order."""
    a, b, c, _i, _j, k = names.split()
    m, n, depth = sizes
    dtype = options.get("dtype", "float32")

    def define() -> Any:
        if swap:
            right, left = lw.input(b, (depth, n), dtype), lw.input(a, (m, depth), dtype)
        else:
            left, right = lw.input(a, (m, depth), dtype), lw.input(b, (depth, n), dtype)
        over = lw.reduce_axis(k, depth)
        term = options.get("term", lambda x, y: x * y)
        after = options.get("after", lambda x: x)
        return lw.compute(
            c, (m, n), lambda p, q: after(lw.sum(term(left[p, over], right[over, q]), over=over))
        )

    return work_of(define)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_keys(name: str) -> None:
    make, key = GOLDEN[name]
    assert make().key == key


def test_names_and_the_order_of_inputs_do_not_count() -> None:
    key = product().key
    assert product("left right out p q depth").key == key
    assert product(swap=True).key == key
    assert product(swap=True).inputs[0].name == "B"
    assert ops.matmul(M=4, N=6, K=5).key == key
    assert lw.operator(lambda: lw.einsum("O[a,b] += X[a,c] * Y[c,b]", a=4, b=6, c=5))().key == key


def test_a_schedule_of_an_equal_workload_keeps_the_arguments_apart() -> None:
    def difference(swap: bool) -> Workload:
        def define() -> Any:
            first, second = (lw.input(name, (4,)) for name in ("xy", "yx")[swap])
            x, y = (second, first) if swap else (first, second)
            return lw.compute("z", (4,), lambda i: x[i] - y[i])

        return work_of(define)

    ours, theirs = difference(False), difference(True)
    assert ours.key == theirs.key
    kernel = lw.build(theirs, schedule=ours.schedule(), cache=False)
    five, two = np.full(4, 5, "float32"), np.full(4, 2, "float32")
    np.testing.assert_array_equal(kernel(two, five), theirs.reference(two, five))
    np.testing.assert_array_equal(kernel(x=five, y=two), five - two)


def test_the_formula_counts() -> None:
    variants = [
        product(),
        product(sizes=(6, 4, 5)),
        product(sizes=(4, 6, 6)),
        product(dtype="float64"),
        product(dtype="float16"),
        product(term=lambda x, y: y * x),
        product(term=lambda x, y: x + y),
        product(term=lambda x, y: x * y * 1.0),
        product(after=lambda x: x + 1),
        product(after=lambda x: x + 2),
        product(after=lambda x: x + 0.1),
        product(after=lambda x: x + 0.0),
        product(after=lambda x: x + -0.0),
        product(after=lambda x: lw.max(x, 0)),
        product(after=lambda x: lw.exp(x)),
        product(after=lambda x: lw.cast("float16", x)),
        product(after=lambda x: lw.select(x > 0, x, 0)),
        product(after=lambda x: lw.select(x >= 0, x, 0)),
    ]
    assert len({work.key for work in variants}) == len(variants)


def test_a_number_counts_by_its_value() -> None:
    exact = float(np.float32(0.1))
    assert product(after=lambda x: x + 0.1).key == product(after=lambda x: x + exact).key
    assert product(after=lambda x: x + 0.1).key == product(after=lambda x: x + np.float32(0.1)).key
    assert (
        product(after=lambda x: x + 1).key
        == product(after=lambda x: x + 1.0).key
        == product(after=lambda x: x + True).key
    )


def test_arguments_and_the_name_of_the_operator_do_not_count() -> None:
    @lw.operator
    def other(rows: int, option: str = "x") -> Any:
        x = lw.input("x", (rows, 3))
        return lw.compute("y", (rows, 3), lambda i, j: x[i, j] + x[i, j])

    @lw.operator
    def twice(M: int) -> Any:
        x = lw.input("x", (M, 3))
        return lw.compute("y", (M, 3), lambda i, j: x[i, j] + x[i, j])

    assert other(4, option="y").key == twice(4).key


def test_unused_inputs_count() -> None:
    def define(extra: bool) -> Callable[[], Any]:
        def made() -> Any:
            if extra:
                lw.input("unused", (2,))
            x = lw.input("x", (3,))
            return lw.compute("y", (3,), lambda i: x[i])

        return made

    assert work_of(define(True)).key != work_of(define(False)).key


def test_names_by_position() -> None:
    assert product("P Q R i j depth", swap=True).names == {
        "i0": "P",
        "i1": "Q",
        "s0": "R",
        "s0.a0": "p",
        "s0.a1": "q",
        "s0.r0": "depth",
    }


@given(work=workloads())
def test_json_restores_any_definition(work: Workload) -> None:
    text = json.dumps(work.to_json(), allow_nan=False)
    again = Workload.from_json(json.loads(text))
    assert again.key == work.key
    assert again.names == work.names
    assert json.dumps(again.to_json()) == text
    arrays = random_inputs(work, 1)
    got, want = again.reference(*arrays), work.reference(*arrays)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, want)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", GOLDEN)
def test_json_restores_operators(name: str) -> None:
    work = GOLDEN[name][0]()
    again = Workload.from_json(json.loads(json.dumps(work.to_json())))
    assert (again.key, str(again), repr(again)) == (work.key, str(work), repr(work))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), -0.0, 1e-45, 0.1, 3.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_json_restores_every_float(value: float, dtype: str) -> None:
    const = lw.const(value, dtype)
    text = json.dumps(expr_to_json(const, str), allow_nan=False)
    again = expr_from_json(json.loads(text), {}, {})
    assert isinstance(again, Const)
    assert np.float64(again.value).tobytes() == np.float64(const.value).tobytes()
    assert again.dtype == dtype

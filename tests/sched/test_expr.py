"""Expressions: the types they get, what is refused, and their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.errors import DefinitionError, ExpressionTypeError
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Const,
    Expr,
    constant,
    same,
    structure,
    substitute,
    walk,
    wrap,
)
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.measure import tree_size
from loopwright.sched.language.stage import Input

f = Input("f", (8,), "float32")
h = Input("h", (8,), "float16")
n = Input("n", (8,), "int32")
b = Input("b", (8,), "int8")
u = Input("u", (8,), "uint8")
t = Input("t", (8,), "bool")
i, j = Axis("i", 8), Axis("j", 4)


@pytest.mark.parametrize(
    ("expr", "dtype"),
    [
        (f[i] + 1, "float32"),
        (1 - f[i], "float32"),
        (h[i] * 2.5, "float16"),
        (b[i] + 1, "int8"),
        (n[i] // 3, "int32"),
        (f[i] / 3, "float32"),
        (2 ** f[i], "float32"),
        (f[i] + h[i], "float32"),
        (b[i] + u[i], "int16"),
        (n[i] + f[i], "float64"),
        (b[i] + i, "int32"),
        (f[i] < 1, "bool"),
        ((f[i] < 1) & t[i], "bool"),
        (~t[i], "bool"),
        (~b[i], "int8"),
        (n[i] << 2, "int32"),
        (u[i] & 7, "uint8"),
        (-f[i], "float32"),
        (abs(b[i]), "int8"),
        (lw.exp(h[i]), "float16"),
        (lw.cast("int32", f[i]), "int32"),
        (lw.select(t[i], f[i], 0), "float32"),
        (lw.max(n[i], 0), "int32"),
        (f[i] + np.float64(0.1), "float32"),
        (f[i] + True, "float32"),
    ],
)
def test_types(expr: Expr, dtype: str) -> None:
    assert expr.dtype == dtype


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: (n[i] > 0) / (n[i] > 1), "is bool: use & | ^ ~"),
        (lambda: n[i] + 0.5, "the number 0.5 does not fit the int32 expression `n[i]`"),
        (lambda: b[i] + 300, "the number 300 does not fit the int8 expression"),
        (lambda: u[i] - -1, "the number -1 does not fit the uint8 expression"),
        (lambda: h[i] * 1e6, "the number 1000000.0 does not fit the float16 expression"),
        (lambda: f[i] * 10**50, "does not fit the float32 expression"),
        (lambda: f[i] & 1, "bit operations and shifts take integers"),
        (lambda: t[i] + t[i], "use & | ^ ~ or lw.select"),
        (lambda: t[i] << t[i], "cannot be shifted"),
        (lambda: n[i] ** n[i], "of integers, the exponent is a constant from 0 to 64"),
        (lambda: n[i] ** -1, "of integers, the exponent is a constant from 0 to 64"),
        (lambda: n[i] ** 65, "of integers, the exponent is a constant from 0 to 64"),
        (lambda: 2 ** n[i], "of integers, the exponent is a constant from 0 to 64"),
        (lambda: -t[i], "negates a bool"),
        (lambda: ~f[i], "bit operations take integers"),
        (lambda: lw.exp(n[i]), "cast to a float first"),
        (lambda: lw.select(n[i], 1, 2), "not bool; compare it"),
        (lambda: lw.max(f[i]), "two operands"),
        (lambda: lw.max(f[i], 0, over=lw.reduce_axis("k", 3)), "two operands"),
        (lambda: lw.sum(f[i], over=i), "over= takes reduction axes"),
        (lambda: lw.sum(f[i]), "over= takes reduction axes"),
        (lambda: lw.any(f[i], over=lw.reduce_axis("k", 3)), "not bool; compare it first"),
        (lambda: lw.cast("float12", f[i]), "unknown dtype 'float12'"),
        (lambda: lw.cast("int8", 300), "300 is outside int8's -128..127"),
        (lambda: lw.const(1.5, "int32"), "1.5 is no int32"),
        (lambda: lw.const(float("nan"), "int32"), "nan is no int32"),
        (lambda: lw.const(-1, "uint8"), "-1 is outside uint8's 0..255"),
        (lambda: lw.const(1e39, "float32"), "too large for float32"),
        (lambda: f[i, i], "f has 1 dimensions (8,), but 2 indices were given"),
        (lambda: f[f[i]], "is float32; an index is an integer"),
        (lambda: f[0:2], "slices and lists are not elements"),
        (lambda: f[...], "slices and lists are not elements"),
        (lambda: f["x"], "str 'x' is no expression"),
        (lambda: lw.input("a b", (3,)), "'a b' is no name"),
        (lambda: lw.input("a.b", (3,)), "has a dot in it"),
        (lambda: lw.reduce_axis("k", -1), "the size -1"),
        (lambda: lw.reduce_axis("k", 2.5), "is no integer"),
        (lambda: lw.input("a", (3, f[i])), "is no integer"),
        (lambda: lw.input("a", "xy"), "is no tuple of sizes"),
    ],
)
def test_refused_definitions(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        build()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: 1 if f[i] > 0 else 2, "use lw.select(condition, a, b)"),
        (lambda: f[i] > 0 and f[i] < 1, "`&` for `and`"),
        (lambda: not t[i], "`~` for `not`"),
        (lambda: 0 < f[i] < 1, "no truth value"),
        (lambda: max(f[i], 0.0), "no truth value"),
        (lambda: i in (j, i), "no truth value"),
        (lambda: range(n[i]), "no plain integer"),
        (lambda: list(f[i]), "cannot be iterated over"),
        (lambda: list(f), "cannot be iterated over"),
        (lambda: bool(f), "no truth value"),
        (lambda: f[i] + "1", "is no expression"),
        (lambda: f[i] + None, "is no expression"),
        (lambda: f[i] + f, "is no expression; write an element"),
    ],
)
def test_mistakes_of_type(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(ExpressionTypeError) as caught:
        build()
    assert words in str(caught.value)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [
        (0.1, "float32", float(np.float32(0.1))),
        (np.float32(0.1), None, float(np.float32(0.1))),
        (1, "float32", 1.0),
        (True, "float32", 1.0),
        (True, "int8", 1),
        (2, "bool", True),
        (2.9, "int32", 2),
        (-2.9, "int32", -2),
        (2**31, None, 2**31),
        (float("inf"), "float16", float("inf")),
    ],
)
def test_a_number_has_one_form(value: Any, dtype: str | None, want: Any) -> None:
    const = lw.cast(dtype, value) if dtype else wrap(value)
    assert isinstance(const, Const)
    assert (type(const.value), const.value) == (type(want), want)


def test_a_large_plain_integer_takes_a_wider_type() -> None:
    assert wrap(2**31).dtype == "int64"
    with pytest.raises(DefinitionError, match="outside int64"):
        wrap(2**63)


def test_numpy_numbers_on_the_left() -> None:
    for number in (np.float32(2), np.float64(2), np.int64(2)):
        assert str(number * f[i]) == "2 * f[i]"


def test_indices_are_folded() -> None:
    assert str(substitute(i * 4 + j, {i: constant(2, "int32"), j: constant(1, "int32")})) == "9"
    assert str(lw.const(7, "int32") // 0) == "7 // 0"
    assert str(lw.const(2**31 - 1, "int32") + 1) == "2147483647 + 1"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((f[i] + 1) * 2, "(f[i] + 1) * 2"),
        (f[i] - (f[i] - 1), "f[i] - (f[i] - 1)"),
        (-(f[i] + 1), "-(f[i] + 1)"),
        (lw.max(f[i], 0), "max(f[i], 0)"),
        ((t[i] | ~t[i]) & (f[i] >= 0), "(t[i] | ~t[i]) & (f[i] >= 0)"),
        (lw.select(i < j, f[i], 0.5), "select(i < j, f[i], 0.5)"),
        (lw.cast("int8", f[i]) % 3, "int8(f[i]) % 3"),
        (lw.sum(f[i], over=lw.reduce_axis("k", 2)), "sum(f[i], over=k)"),
    ],
)
def test_text(expr: Expr, text: str) -> None:
    assert str(expr) == text


def test_comparison_builds_an_expression_and_same_compares() -> None:
    assert isinstance(i == j, Binary)
    assert same(f[i] + 1, f[i] + 1)
    assert not same(f[i] + 1, f[j] + 1)
    assert not same(f[i], h[i])
    k, m = lw.reduce_axis("k", 8), lw.reduce_axis("m", 8)
    assert same(lw.sum(f[k] * f[i], over=k), lw.sum(f[m] * f[i], over=m))
    assert not same(lw.sum(f[k], over=k), lw.sum(f[m], over=m, name="total"))
    assert not same(lw.sum(lw.sum(f[k] * n[m], over=m), over=k), lw.sum(lw.sum(f[k] * n[m], over=k), over=m))
    assert len({structure(f[i]), structure(f[i]), structure(f[j])}) == 2


def test_size_of_what_is_shared_is_known_without_writing_it_out() -> None:
    x: Expr = f[i]
    for _ in range(200):
        x = x * x
    assert tree_size(x) > 2**200
    with pytest.raises(DefinitionError, match="give what is used again and again a stage of its own"):
        lw.compute("y", (8,), lambda a: substitute(f[i], {i: a}) + x)


def test_sums_compute_in_their_accumulator() -> None:
    k = lw.reduce_axis("k", 8)
    assert str(lw.sum(b[k] * b[k] - 1, over=k)) == "sum(int32(b[k]) * int32(b[k]) - 1, over=k)"
    assert lw.sum(h[k] * 2, over=k).dtype == "float32"
    assert lw.sum(u[k], over=k).dtype == "uint32"
    assert lw.sum(t[k], over=k).dtype == "int32"
    # A narrower accumulator takes each term as it is: casting first would lose the fraction before the product.
    assert str(lw.sum(f[k] * 0.5, over=k, dtype="int32")) == "sum(int32(f[k] * 0.5), over=k)"
    assert str(lw.sum(n[k] * n[k], over=k, dtype="float32")) == "sum(float32(n[k]) * float32(n[k]), over=k)"


@st.composite
def index_exprs(draw: st.DrawFn, depth: int = 4) -> Expr:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from((i, j, constant(3, "int32"), constant(-2, "int32"))))
    a = draw(index_exprs(depth - 1))
    match draw(st.integers(0, 6)):
        case 0:
            return a // draw(st.sampled_from((1, 2, 3, -2)))
        case 1:
            return a % draw(st.sampled_from((1, 2, 5)))
        case 2:
            return lw.select(i < 3, a, draw(index_exprs(depth - 1)))
        case 3:
            return lw.cast("int8", a)
    other = draw(index_exprs(depth - 1))
    return draw(st.sampled_from((a + other, a - other, a * other, lw.min(a, other), lw.max(a, other), -a)))


@given(index_exprs())
def test_ranges_hold_every_value(expr: Expr) -> None:
    span = index_range(expr)
    if span is None:
        assert any(type(e).__name__ == "Cast" for e in walk(expr))
        return
    work = lw.operator(lambda: lw.compute("y", (8, 4), lambda a, c: substitute(expr, {i: a, j: c})))()
    values = work.reference()
    assert span[0] <= values.min()
    assert values.max() <= span[1]

"""Simplified indices have the value of what they were simplified from; spans hold every value they should."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loopwright.sched.language.expr import Axis, Binary, Const, Expr, substitute, unary
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.stage import Input
from loopwright.sched.language.text import text
from loopwright.sched.lowering.affine import linear, number, simplify
from loopwright.sched.lowering.bounds import Span, inside, read_box, span_of, union

AXES = [Axis("a", 5), Axis("b", 3), Axis("c", 8)]


def value(expr: Expr, point: dict[Axis, int]) -> int:
    """Evaluate an index expression of constants by Python's own arithmetic."""
    result = substitute(expr, {axis: number(n) for axis, n in point.items()})
    return _constant(result)


def _constant(expr: Expr) -> int:
    match expr:
        case Const():
            return int(expr.value)
        case Binary():
            a, b = _constant(expr.a), _constant(expr.b)
            return {
                "add": lambda: a + b,
                "sub": lambda: a - b,
                "mul": lambda: a * b,
                "floordiv": lambda: a // b,
                "mod": lambda: a % b,
                "min": lambda: min(a, b),
                "max": lambda: max(a, b),
            }[expr.op]()
    return -_constant(expr.a)  # type: ignore[attr-defined]


def indices() -> st.SearchStrategy[Expr]:
    """Index expressions over the axes, divisors positive constants."""
    leaves = st.one_of(st.sampled_from(AXES), st.integers(-9, 9).map(number))

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        plain = st.builds(
            lambda op, a, b: Binary(op, a, b, "int32"),
            st.sampled_from(["add", "sub", "min", "max"]),
            inner,
            inner,
        )
        scaled = st.builds(lambda a, n: Binary("mul", a, number(n), "int32"), inner, st.integers(-4, 8))
        divided = st.builds(
            lambda op, a, n: Binary(op, a, number(n), "int32"),
            st.sampled_from(["floordiv", "mod"]),
            inner,
            st.integers(1, 9),
        )
        return st.one_of(plain, scaled, divided, inner.map(lambda a: unary("neg", a)))

    return st.recursive(leaves, grow, max_leaves=8)


points = st.fixed_dictionaries({axis: st.integers(0, axis.extent - 1) for axis in AXES})


@given(indices(), points)
def test_simplified_indices_keep_their_value(index: Expr, point: dict[Axis, int]) -> None:
    assert value(simplify(index), point) == value(index, point)


@given(indices(), points)
def test_ranges_hold_every_value(index: Expr, point: dict[Axis, int]) -> None:
    span = index_range(index)
    assert span is None or span[0] <= value(index, point) <= span[1]


@given(indices(), points, st.sets(st.sampled_from(AXES)), st.data())
def test_spans_hold_every_value(
    index: Expr, point: dict[Axis, int], closed: set[Axis], data: st.DataObject
) -> None:
    """An axis in a span runs over part of its extent; the others are open."""
    spans = {}
    for axis in sorted(closed, key=lambda axis: axis.name):
        low = data.draw(st.integers(0, point[axis]))
        spans[axis] = Span(number(low), data.draw(st.integers(point[axis] - low + 1, axis.extent - low)))
    span = span_of(index, spans)
    if span is not None:
        assert 0 <= value(index, point) - value(span.low, point) < span.extent


def test_split_loops_divide_away() -> None:
    outer, inner = Axis("io", 62), Axis("ii", 8)
    index = outer * 8 + inner
    assert simplify(index // 8) is outer
    assert simplify(index % 8) is inner
    assert text(simplify(index // 4)) == "io * 2 + ii // 4"
    assert simplify(index - outer * 8) is inner


def test_linear_forms_cancel() -> None:
    a, b, _ = AXES
    assert linear((a * 3 + b) - (b + a * 3)).expr().value == 0  # type: ignore[attr-defined]


def test_union_needs_a_distance_that_has_bounds() -> None:
    a, b, _ = AXES
    joined = union(Span(a + 2, 3), Span(a, 1))
    assert joined is not None and text(joined.low) == "a" and joined.extent == 5
    apart = union(Span(a, 1), Span(b, 1))
    assert apart is not None and text(apart.low) == "min(a, b)" and apart.extent == 5
    assert union(Span(a, 1), Span(Axis("far", 2**26), 1)) is None


def test_boxes_move_inside_their_domain() -> None:
    tile = Axis("yo", 4)
    (span,) = inside((Span(tile * 8 - 1, 10),), (27,))
    lows = [value(span.low, {tile: n}) for n in range(4)]
    assert lows == [0, 7, 15, 17] and span.extent == 10
    (whole,) = inside((Span(tile * 8, 40),), (27,))
    assert (whole.extent, value(whole.low, {})) == (27, 0)


def test_reads_of_data_cover_the_whole_dimension() -> None:
    table, where = Input("table", (100,), "float32"), Input("where", (5,), "int32")
    a = AXES[0]
    box = read_box([table[where[a]]], (100,), {a: Span(number(0), 5)})
    assert box is not None and box[0].extent == 100

"""Bounds inference: the box of a producer that a piece of its consumer reads.

A :class:`Span` is ``extent`` consecutive integers from ``low``; ``low`` may speak of loops that are already open, the extent is
a number or an expression of sizes. A box has a span for each dimension. Spans are safe: they hold at least what is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loopwright.sched.language import extents
from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Extent, Load, Size, Unary, is_size
from loopwright.sched.language.extents import node
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.lowering.affine import ZERO, extreme, linear, number, plus, simplify, times
from loopwright.sched.lowering.distance import most

# Boxes farther apart than this are not joined: where sizes are symbolic, nothing better may be known of their distance.
FARTHEST = 2**24


@dataclass(frozen=True)
class Span:
    """The integers ``low .. low + extent - 1``."""

    low: Expr
    extent: Extent

    @property
    def high(self) -> Expr:
        """The last integer of the span."""
        return plus(self.low, node(extents.minus(self.extent, 1)))

    def rest(self, size: Extent) -> Extent | None:
        """How much of a span that hangs over ``0 .. size - 1`` is inside, if it is one of a row of tiles; or None."""
        if isinstance(self.extent, Expr):
            return None
        form = linear(self.low)
        steps = [coefficient for _, coefficient in form.terms.values()]
        aligned = not any(step % self.extent for step in [*steps, form.const])
        return extents.remainder(size, self.extent) if aligned else None


Box = tuple[Span, ...]


def full(shape: Iterable[Extent]) -> Box:
    """The box that is a whole domain."""
    return tuple(Span(ZERO, size) for size in shape)


def span_of(expr: Expr, spans: Mapping[Axis, Span]) -> Span | None:
    """What an index can be while the axes in ``spans`` run over theirs; None where it depends on data."""
    form = linear(expr)
    low: Expr = number(form.const)
    extent: Extent = 1
    for term, coefficient in form.terms.values():
        inner = _term_span(term, spans)
        if inner is None:
            return None
        low = plus(low, times(inner.low if coefficient > 0 else inner.high, coefficient))
        extent = extents.plus(extent, extents.times(abs(coefficient), extents.minus(inner.extent, 1)))
    return Span(simplify(low), extent)


def _term_span(term: Expr, spans: Mapping[Axis, Span]) -> Span | None:
    match term:
        case Axis():
            return spans.get(term) or Span(term, 1)
        case Const() | Size():
            return Span(term, 1)
        case Binary(op="mul"):
            return _product_span(term, spans)
        case Cast():
            return span_of(term.value, spans) if index_range(term) is not None else None
        case Unary(op="neg"):
            inner = span_of(term.a, spans)
            return inner and Span(times(inner.high, -1), inner.extent)
        case Binary(op="floordiv" | "mod"):
            return _division_span(term, spans)
        case Binary(op="min" | "max"):
            a, b = span_of(term.a, spans), span_of(term.b, spans)
            # min(a, b) starts at the lesser low, and is no longer than the longer of the two.
            return (
                Span(extreme(term.op, a.low, b.low), extents.larger(a.extent, b.extent)) if a and b else None
            )
    return None


def _product_span(term: Binary, spans: Mapping[Axis, Span]) -> Span | None:
    """A product of which one factor is the same throughout, and not negative: a size."""
    a, b = span_of(term.a, spans), span_of(term.b, spans)
    if a is None or b is None:
        return None
    for fixed, other in ((a, b), (b, a)):
        if extents.surely(fixed.extent, 1) and is_size(fixed.low) and at_most(0, fixed.low):
            low = simplify(Binary("mul", other.low, fixed.low, "int32"))
            length = extents.times(extents.minus(other.extent, 1), fixed.low)
            return Span(low, extents.plus(length, 1))
    return None


def _division_span(term: Binary, spans: Mapping[Axis, Span]) -> Span | None:
    a = span_of(term.a, spans)
    if a is None or not isinstance(term.b, Const) or int(term.b.value) <= 0:
        return None
    divisor = int(term.b.value)
    low = simplify(Binary("floordiv", a.low, number(divisor), "int32"))
    aligned = simplify(Binary("mod", a.low, number(divisor), "int32"))
    phase = index_range(aligned)
    start = phase if phase is not None else (0, divisor - 1)
    reached = extents.plus(a.extent, start[1])
    if term.op == "floordiv":
        return Span(low, extents.plus(extents.floor_divided(extents.minus(reached, 1), divisor), 1))
    if at_most(reached, divisor):
        return Span(aligned, a.extent)
    return Span(ZERO, divisor)


def union(a: Span, b: Span) -> Span | None:
    """The least span that holds both, where their distance is a number; one that surely does, where it has bounds."""
    farthest, back = most(b.low, a.low), most(a.low, b.low)
    if farthest is None or back is None:
        return None
    if max(farthest, back) > FARTHEST:
        return None
    low = extreme("min", a.low, b.low) if farthest > 0 and back > 0 else a.low if back <= 0 else b.low
    both = [
        extents.minus(extents.larger(a.extent, extents.plus(b.extent, shift)), min(0, shift))
        for shift in (farthest, -back)
    ]
    return Span(low, extents.larger(*both))


def read_box(
    loads: Iterable[Load], sizes: tuple[Extent, ...], spans: Mapping[Axis, Span], box: Box | None = None
) -> Box | None:
    """The box that ``loads`` of one tensor cover, joined with ``box``; a dimension that depends on data is read whole."""
    for load in loads:
        new = tuple(
            span_of(index, spans) or Span(ZERO, size) for index, size in zip(load.indices, sizes, strict=True)
        )
        box = new if box is None else tuple(
            union(a, b) or Span(ZERO, size) for a, b, size in zip(box, new, sizes, strict=True)
        )  # fmt: skip
    return box


def inside(box: Box, sizes: tuple[Extent, ...], may_overhang: bool = False) -> Box:
    """Move a box into its domain: shifted inward where it may hang over, cut where it is larger than the domain.

    A shifted box still holds every element of the domain that the given one holds, and keeps its constant extents; where
    a size may be less than these, it starts at 0 and hangs over.
    With ``may_overhang``, a box that starts inside the domain stays where it is.
    """
    return tuple(_span_inside(span, size, may_overhang) for span, size in zip(box, sizes, strict=True))


def _span_inside(span: Span, size: Extent, may_overhang: bool) -> Span:
    if at_most(size, span.extent):
        return Span(ZERO, size)
    if may_overhang and _between(span.low, span.low, extents.minus(size, 1)):
        return span
    room = node(extents.minus(size, span.extent))
    return Span(extreme("max", extreme("min", span.low, room), ZERO), span.extent)


def overhangs(span: Span, size: Extent) -> bool:
    """Whether a span may reach beyond ``0 .. size - 1``."""
    return not _between(span.low, span.high, extents.minus(size, 1))


def _between(low: Expr, high: Expr, last: Extent) -> bool:
    """Whether both numbers are surely in ``0 .. last``."""
    least, most = index_range(low), index_range(high)
    if least is None or least[0] < 0 or most is None:
        return False
    return most[1] <= last if not isinstance(last, Expr) else at_most(high, last)

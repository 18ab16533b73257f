"""Expressions on a part of a loop: what min, max, select, mod and comparisons come to there.

On all of a loop ``max(x - 1, 0)`` is open; for ``x`` from 1 on it is ``x - 1``. :class:`Region` replaces what its range of
the loop decides. While it may still be narrowed, it narrows itself: it keeps the longer part of the range on which what was
open has one outcome. So what is left in the end is the steady state.

Decisions rest on the linear form of a difference, and on exact integers: arithmetic that might overflow, or that
depends on data, is left alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace

from loopwright.sched import dtypes
from loopwright.sched.language.expr import (
    COMPARISONS,
    Axis,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Size,
    Unary,
    children,
    constant,
    rewrite,
    structure,
    walk,
)
from loopwright.sched.language.interval import Range, index_range, most
from loopwright.sched.lowering.affine import Linear, linear, number, simplify

Values = Mapping[Hashable, Expr]
# A steady state of fewer iterations than this, or of a smaller share of its loop than this, is worth code of its own only if
# it is most of the loop: one of hundreds of rows that are alike would get code for itself.
LONG, SHARE = 16, 8
# A comparison as a bound on the difference of its operands: (negate, bound) for ``difference <= bound``.
AT_MOST = {"lt": (False, -1), "le": (False, 0), "gt": (True, 0), "ge": (True, -1)}


class Region:
    """The iterations ``low .. high - 1`` of a loop's variable; everything else runs over all it can.

    Attributes:
        values: what stands for variables, and for the divisions and remainders with these structures.
        narrowing: whether an open decision may narrow the region.
        open: divisions and remainders of the variable that decisions depend on, by structure. They are what is left
            of loops that were fused; no range of the variable decides them.
        inner: the variables of the loops inside, by identity.
        repeated: whether what is decided stands in one of these that repeats code. A remainder that depends on none of
            them is computed before it: that is worth no steady state that is not most of the loop.
    """

    def __init__(self, var: Axis | None = None, values: Values | None = None) -> None:
        self.var, self.low, self.high = var, 0, 0 if var is None else most(var.extent)
        self.values: Values = values or {}
        self.renames = any(not isinstance(key, Axis) for key in self.values)
        self.narrowing = False
        self.open: dict[Hashable, Expr] = {}
        self.inner: set[int] = set()
        self.repeated = False

    def over(self, values: Values) -> Region:
        """One that decides as this one does, with other values for variables, and is not narrowed."""
        return Region(values=values)

    def index(self, expr: Expr) -> Expr:
        """An index, or a condition of the lowering's own, without what is decided."""
        known = self.decided(expr)
        return expr if known is expr else simplify(known)

    def decided(self, expr: Expr) -> Expr:
        """An expression without what is decided."""

        def change(e: Expr) -> Expr | None:
            match e:
                case Axis():
                    return self.values.get(e)
                case Binary(op="floordiv" | "mod") if self.renames and structure(e) in self.values:
                    return self.values[structure(e)]
                case Load():
                    return self.load(e)
                case Select():
                    return self._select(e)
                case Unary(op="not"):
                    a = self.decided(e.a)
                    return Const(not a.value, "bool") if isinstance(a, Const) else Unary("not", a, "bool")
                case Binary(op="and" | "or"):
                    return self._joined(e)
                case Binary() if is_question(e):
                    return self._decision(e)
            return None

        return rewrite(expr, change)

    def load(self, e: Load) -> Load:
        """An element without what is decided of its indices."""
        indices = tuple(self.index(index) for index in e.indices)
        same = all(x is y for x, y in zip(indices, e.indices, strict=True))
        return e if same else replace(e, indices=indices)

    # --- what is decided ------------------------------------------------------------------------------------------

    def _select(self, e: Select) -> Expr:
        cond = self.decided(e.cond)
        if isinstance(cond, Const):
            return self.decided(e.a if cond.value else e.b)
        return Select(cond, self.decided(e.a), self.decided(e.b), e.dtype)

    def _joined(self, e: Binary) -> Expr:
        stops = e.op == "or"  # the value of one side that decides both
        a = self.decided(e.a)
        if isinstance(a, Const):
            return a if a.value == stops else self.decided(e.b)
        b = self.decided(e.b)
        if isinstance(b, Const):
            return b if b.value == stops else a
        return Binary(e.op, a, b, "bool")

    def _decision(self, e: Binary) -> Expr:
        a, b = self.decided(e.a), self.decided(e.b)
        if not (is_exact(a) and is_exact(b)):
            return Binary(e.op, a, b, e.dtype)
        if e.op == "mod":
            return self._remainder(a, b, e.dtype)
        difference = form_of(a).add(form_of(b), -1)
        if e.op in ("min", "max"):
            less = self._at_most(difference, 0, 0)  # equal ones may be called less or greater
            return Binary(e.op, a, b, e.dtype) if less is None else a if less == (e.op == "min") else b
        if e.op in ("eq", "ne"):
            equal = self._equal(difference)
            return Binary(e.op, a, b, "bool") if equal is None else Const(equal == (e.op == "eq"), "bool")
        negated, bound = AT_MOST[e.op]
        holds = self._at_most(difference, bound)
        return Binary(e.op, a, b, "bool") if holds is None else Const(holds != negated, "bool")

    def _remainder(self, a: Expr, b: Expr, dtype: str) -> Expr:
        whole = Binary("mod", a, b, dtype)
        if not isinstance(b, Const) or int(b.value) <= 0:
            return whole
        form, divisor = form_of(a), int(b.value)
        quotient = self._quotient(form, divisor)
        if quotient is None:
            return whole
        return Binary("sub", a, constant(quotient * divisor, dtype), dtype) if quotient else a

    # --- decisions ------------------------------------------------------------------------------------------------

    def _at_most(self, form: Linear, bound: int, least: int | None = None) -> bool | None:
        """Whether a form is at most ``bound``, or else at least ``least`` (by default greater); None if that is open."""
        least = bound + 1 if least is None else least
        form, bound, least = _undivided(form, bound, least)
        span = self._range(form)
        if span is None:
            return None
        if span[1] <= bound:
            return True
        if span[0] >= least:
            return False
        return self._at_most_in_part(form, bound, least)

    def _at_most_in_part(self, form: Linear, bound: int, least: int) -> bool | None:
        if not self.narrowing:
            return None
        below, above = self._where(form, None, bound), self._where(form, least, None)
        best = max(below, above, key=_length)
        return best is below if self._narrowed(best) else None

    def _equal(self, form: Linear) -> bool | None:
        """Whether a form is 0; only that it is not can hold in a long part of a loop."""
        span = self._range(form)
        if span is None or span == (0, 0):
            return None if span is None else True
        if span[1] < 0 or span[0] > 0:
            return False
        return self._equal_in_part(form)

    def _equal_in_part(self, form: Linear) -> bool | None:
        if not self.narrowing:
            return None
        best = max(self._where(form, None, -1), self._where(form, 1, None), key=_length)
        return False if self._narrowed(best) else None

    def _quotient(self, form: Linear, divisor: int) -> int | None:
        """The one quotient that a form divided by ``divisor`` has; None if there are several."""
        span = self._range(form)
        if span is None:
            return None
        if span[0] // divisor == span[1] // divisor:
            return span[0] // divisor
        step, rest = self._step(form) if self.narrowing else (0, None)
        if not step or rest is None:
            return None
        middle = step * ((self.low + self.high) // 2)
        candidates = {(middle + end) // divisor for end in rest}
        parts = {q: self._where(form, q * divisor, (q + 1) * divisor - 1) for q in candidates}
        best = max(parts, key=lambda q: _length(parts[q]))
        if self._is_hoisted(form) and 2 * _length(parts[best]) <= self.high - self.low:
            return None
        return best if self._narrowed(parts[best]) else None

    def _is_hoisted(self, form: Linear) -> bool:
        """Whether a form is computed before the loops inside that repeat code."""
        terms = (term for term, _ in form.terms.values())
        return self.repeated and not any(id(e) in self.inner for term in terms for e in walk(term))

    def _narrowed(self, part: Range) -> bool:
        """Narrow the region to ``part``, a range of the variable, if that is at least half of it, or long itself."""
        low, high = part
        whole, long = self.high - self.low, max(LONG, (self.high - self.low) // SHARE)
        if low >= high or (2 * (high - low) < whole and high - low < long):
            return False
        self.low, self.high = low, high
        return True

    def _where(self, form: Linear, least: int | None, most: int | None) -> Range:
        """The part of the region in which a form is in ``least .. most``, whatever other variables are."""
        step, rest = self._step(form)
        low, high = self.low, self.high
        if not step or rest is None:
            return low, low
        for limit, end, upper in ((least, rest[0], False), (most, rest[1], True)):
            if limit is None:
                continue
            if upper == (step > 0):  # step * var + end <= limit, or >= where both are turned
                high = min(high, (limit - end) // step + 1)
            else:
                low = max(low, -((end - limit) // step))  # rounded up
        return low, max(low, high)

    def _step(self, form: Linear) -> tuple[int, Range | None]:
        """The coefficient of the variable in a form, and the range of the rest."""
        step = next((c for term, c in form.terms.values() if term is self.var), 0)
        others = {key: item for key, item in form.terms.items() if item[0] is not self.var}
        self._note(others)
        return step, self._range(Linear(others, form.const))

    def _note(self, terms: dict[Hashable, tuple[Expr, int]]) -> None:
        for key, (term, _) in terms.items():
            divided = isinstance(term, Binary) and term.op in ("floordiv", "mod")
            if divided and any(e is self.var for e in walk(term)):
                self.open[key] = term

    def _range(self, form: Linear) -> Range | None:
        low = high = form.const
        for term, coefficient in form.terms.values():
            span = index_range(term, self._of_axis)
            if span is None:
                return None
            ends = (span[0] * coefficient, span[1] * coefficient)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _of_axis(self, axis: Axis) -> Range:
        return (self.low, self.high - 1) if axis is self.var else (0, most(axis.extent) - 1)


def _undivided(form: Linear, bound: int, least: int) -> tuple[Linear, int, int]:
    """A form that is a multiple of a quotient and a number, and its bounds, as the dividend and the bounds that come to the same.

    ``n // d <= b`` just where ``n <= d b + d - 1``, and ``n // d >= b`` just where ``n >= d b``: so a loop that was fused from
    pixels and their colours has a steady state as one over pixels has.
    """
    ((term, times),) = form.terms.values() if len(form.terms) == 1 else ((number(0), 0),)
    if not isinstance(term, Binary) or term.op != "floordiv" or not isinstance(term.b, Const):
        return form, bound, least
    divisor, at_most, at_least = int(term.b.value), bound - form.const, least - form.const
    if divisor <= 0:
        return form, bound, least
    dividend = form_of(term.a)
    if times > 0:
        return dividend, divisor * (at_most // times) + divisor - 1, divisor * -(-at_least // times)
    # The quotient is at least -at_most / -times, rounded up, and at most -at_least / -times, rounded down; all turned round.
    lowest, highest = -(at_most // -times), -at_least // -times
    return dividend.scaled(-1), -divisor * lowest, -(divisor * highest + divisor - 1)


def _length(part: Range) -> int:
    return part[1] - part[0]


def form_of(expr: Expr) -> Linear:
    """The linear form of an exact integer expression; conversions change nothing there."""
    return linear(rewrite(expr, _unconverted))


def _unconverted(e: Expr) -> Expr | None:
    if isinstance(e, Cast) and dtypes.is_integer(e.value.dtype) and index_range(e) is not None:
        return rewrite(e.value, _unconverted)
    return None


def is_exact(expr: Expr, whole: bool = True) -> bool:
    """Whether an expression has integers only that depend on no data and cannot overflow: what it means to mathematics.

    Sums and products that overflow come right again if the sum they are part of does not: so only the ``whole`` must fit.
    """
    if isinstance(expr, (Axis, Size)) or (isinstance(expr, Const) and dtypes.is_integer(expr.dtype)):
        return True
    if not isinstance(expr, (Binary, Cast)) or not dtypes.is_integer(expr.dtype):
        return False
    if whole:
        span, (low, high) = index_range(expr), dtypes.limits(expr.dtype)
        if span is None or span[0] < low or span[1] > high:
            return False
    ring = isinstance(expr, Binary) and expr.op in ("add", "sub", "mul")
    return all(is_exact(child, not ring) for child in children(expr))


def is_question(e: Expr) -> bool:
    """Whether a node is of those that may be decided."""
    match e:
        case Select():
            return True
        case Binary(op="min" | "max" | "mod"):
            return dtypes.is_integer(e.dtype)
        case Binary():
            return e.op in COMPARISONS and dtypes.is_integer(e.a.dtype)
    return False


def questions(expr: Expr) -> Iterator[Expr]:
    """The outermost nodes of an expression that may be decided."""
    if is_question(expr):
        yield expr
        return
    for child in children(expr):
        yield from questions(child)

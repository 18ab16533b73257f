"""Decisions by assumption: what a loop comes to where its iterations are like those in its middle.

Where only a call knows how long a loop is, no number says where its steady state ends. But in the middle of a row
``min(x + 1, n - 1)`` is ``x + 1``, and that is so while ``x + 1 <= n - 1``: an iteration can tell whether it is in the
steady state, and a call can tell where it ends, at ``n - 1``. :class:`Assumed` decides as in the middle, and keeps account
of what it has taken for granted. What is inside the loop takes all its values: so an assumption speaks of the worst
of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import reduce

from loopwright.sched.language import extents
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Extent, Size, is_size, walk
from loopwright.sched.language.extents import node
from loopwright.sched.language.interval import index_range
from loopwright.sched.lowering.affine import ZERO, Linear, linear, minus
from loopwright.sched.lowering.decide import Region, Values

# What a size is taken for, to find out what the middle of a loop is like.
TYPICAL = 10_000


class Assumed(Region):
    """Decides what ranges leave open as it is in the middle of loops.

    Attributes:
        of: the variable of the loop whose steady state is looked for: only what bounds it is assumed. None: whatever
            an iteration can be asked.
        least: forms that are assumed not to be negative, by their terms: of each the strongest.
        narrowing: whether more may be assumed.
    """

    def __init__(
        self, inner: Iterable[Axis] = (), values: Values | None = None, of: Axis | None = None
    ) -> None:
        super().__init__(values=values)
        self.inner, self.of = {id(axis) for axis in inner}, of
        self.least: dict[Hashable, Linear] = {}

    def over(self, values: Values) -> Assumed:
        """The same assumptions, with values for variables; nothing more is assumed."""
        other = type(self)(values=values, of=self.of)
        other.inner, other.least = self.inner, self.least
        return other

    def from_start(self) -> Assumed:
        """The assumptions that hold from an iteration on, to the end of the loop."""
        other = self.over({})
        other.least = {key: form for key, form in self.least.items() if self._step_of(form) > 0}
        return other

    @property
    def steady(self) -> tuple[Extent, Extent]:
        """The first iteration in which all that was assumed holds, and the one after the last: ``first <= stop``.

        Both are inside the loop, however short it is: a call in which nothing is steady has all before, or all after.
        """
        assert self.of is not None
        length = self.of.extent
        first: Extent = 0
        stop = length
        for form in self.least.values():
            step, rest = self._step_of(form), self._rest(form)
            if step > 0:  # step * var + rest >= 0
                first = extents.larger(first, extents.minus(0, extents.floor_divided(rest, step)))
            else:
                stop = extents.smaller(stop, extents.plus(extents.floor_divided(rest, -step), 1))
        first = extents.smaller(first, length)
        return first, extents.larger(first, stop)

    @property
    def condition(self) -> Expr | None:
        """What has been assumed; None if nothing."""
        tests: list[Expr] = [Binary("le", ZERO, form.expr(), "bool") for form in self.least.values()]
        return reduce(lambda a, b: Binary("and", a, b, "bool"), tests) if tests else None

    def assume(self, form: Linear) -> None:
        """Assume that a form is not negative, whatever the variables inside are."""
        self.narrowing = True
        self._holds(form)
        self.narrowing = False

    # --- deciding -------------------------------------------------------------------------------------------------

    def _at_most_in_part(self, form: Linear, bound: int, least: int) -> bool | None:
        middle = _middle(form)
        if middle is None:
            return None
        if middle <= bound:
            return True if self._holds(Linear({}, bound).add(form, -1)) else None
        return False if self._holds(form.add(Linear({}, -least))) else None

    def _equal_in_part(self, form: Linear) -> bool | None:
        middle = _middle(form)
        if not middle:
            return None
        return False if self._holds(form.scaled(1 if middle > 0 else -1).add(Linear({}, -1))) else None

    def _remainder(self, a: Expr, b: Expr, dtype: str) -> Expr:
        whole = super()._remainder(a, b, dtype)
        if not isinstance(whole, Binary) or whole.op != "mod" or dtype != "int32":
            return whole
        first, last = linear(whole.a), linear(minus(minus(whole.b, whole.a), Const(1, "int32")))
        inside = all((_middle(form) or 0) > 0 for form in (first, last))
        return whole.a if inside and self._holds(first) and self._holds(last) else whole

    # --- assuming -------------------------------------------------------------------------------------------------

    def _holds(self, form: Linear) -> bool:
        """Whether a form is assumed not to be negative, whatever the variables inside are. Of sizes alone nothing is."""
        worst = self._worst(form)
        if worst is None or not any(
            isinstance(e, Axis) for term, _ in worst.terms.values() for e in walk(term)
        ):
            return worst is not None and not worst.terms and worst.const >= 0
        if self.of is not None and not self._bounds(worst):
            return False
        key = frozenset((key, coefficient) for key, (_, coefficient) in worst.terms.items())
        if self.narrowing and (key not in self.least or worst.const < self.least[key].const):
            self.least[key] = worst
        return key in self.least and self.least[key].const <= worst.const

    def _worst(self, form: Linear) -> Linear | None:
        """The least that a form can be while the loops inside run; None if that cannot be said."""
        worst = Linear({}, form.const)
        for key, (term, coefficient) in form.terms.items():
            if isinstance(term, Axis) and id(term) in self.inner:
                if coefficient < 0:
                    worst = worst.add(linear(minus(node(term.extent), Const(1, "int32"))), coefficient)
            elif index_range(term) is None or any(id(e) in self.inner for e in walk(term)):
                return None
            else:
                worst = worst.add(Linear({key: (term, 1)}, 0), coefficient)
        return worst

    def _step_of(self, form: Linear) -> int:
        return next((c for term, c in form.terms.values() if term is self.of), 0)

    def _rest(self, form: Linear) -> Extent:
        """A form without the loop's variable."""
        rest = Linear({k: v for k, v in form.terms.items() if v[0] is not self.of}, form.const)
        return extents.normal(rest.expr())

    def _bounds(self, form: Linear) -> bool:
        """Whether a form says where the loop's steady state begins or ends, to one who knows the sizes."""
        others = (term for term, _ in form.terms.values() if term is not self.of)
        return bool(self._step_of(form)) and all(map(is_size, others))


def _middle(form: Linear) -> int | None:
    """What a form is in the middle of all loops; None if it depends on more than loops and sizes."""
    total = form.const
    for term, coefficient in form.terms.values():
        value = typical(term)
        if value is None:
            return None
        total += coefficient * value
    return total


def typical(expr: Expr) -> int | None:
    """What an expression is in the middle of all loops; None if it depends on more than loops and sizes.

    >>> typical(Axis("i", 9) // 2 + 1)
    3
    """
    match expr:
        case Const():
            return int(expr.value)
        case Size():
            return min(max(TYPICAL, expr.at_least), expr.at_most)
        case Axis():
            extent = typical(node(expr.extent))
            return None if extent is None else max(0, extent - 1) // 2
        case Binary(op="add" | "sub" | "mul" | "floordiv" | "mod" | "min" | "max"):
            a, b = typical(expr.a), typical(expr.b)
            if a is None or b is None or (expr.op in ("floordiv", "mod") and b == 0):
                return None
            return {
                "add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b),
                "floordiv": a // b if b else 0, "mod": a % b if b else 0,
            }[expr.op]  # fmt: skip
    return None

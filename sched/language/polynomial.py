"""Integer expressions as polynomials of sizes, axes and quotients: what is equal, and what is surely not negative.

A range of numbers says too little where sizes are symbolic: that ``io * 8 + ii`` stays below ``n`` while ``io`` runs over
``n // 8`` tiles is a fact about all ``n``. Here it is a polynomial, ``n - 1 - 8 * io - ii``; each axis is replaced by the end
of its range that makes the polynomial least, each quotient by its rational bounds (``n // 8 >= (n - 7) / 8``), and what is
left speaks of sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Size, Unary, is_size, structure, walk
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.nodes import Extent

# A proof that needs more steps than this is given up: "not known" is always a safe answer.
MOST_STEPS = 64
Monomial = tuple[Hashable, ...]


@dataclass(frozen=True)
class Polynomial:
    """``sum of coefficient * product of atoms``. ``atoms`` says what the keys in the monomials stand for."""

    terms: Mapping[Monomial, Fraction | int]
    atoms: Mapping[Hashable, Expr]

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) + coefficient
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
        return Polynomial(terms, {**self.atoms, **other.atoms})

    def __mul__(self, other: Polynomial) -> Polynomial:
        result = Polynomial({}, {**self.atoms, **other.atoms})
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                monomial = tuple(sorted((*a, *b), key=repr))
                result = result + Polynomial({monomial: x * y}, {})
        return result

    def scaled(self, factor: Fraction | int) -> Polynomial:
        """``factor * self``."""
        return Polynomial({m: c * factor for m, c in self.terms.items() if c * factor}, self.atoms)

    @property
    def constant(self) -> Fraction | int:
        """The term without atoms."""
        return self.terms.get((), 0)

    def used(self) -> dict[Hashable, Expr]:
        """The atoms that occur."""
        return {key: self.atoms[key] for monomial in self.terms for key in monomial}


def constant(value: Fraction | int) -> Polynomial:
    """A number."""
    return Polynomial({(): value} if value else {}, {})


def atom(expr: Expr) -> Polynomial:
    """An expression that is taken as it is."""
    key: Hashable = ("axis", id(expr)) if isinstance(expr, Axis) else structure(expr)
    return Polynomial({(key,): 1}, {key: expr})


def polynomial(value: Extent) -> Polynomial:
    """An integer expression in normal form; a size that promises a multiple is that many times its quotient."""
    if not isinstance(value, Expr):
        return constant(value)
    match value:
        case Const():
            return constant(int(value.value))
        case Size() if value.multiple_of > 1:
            return atom(_quotient(value, value.multiple_of)).scaled(value.multiple_of)
        case Binary(op="add"):
            return polynomial(value.a) + polynomial(value.b)
        case Binary(op="sub"):
            return polynomial(value.a) + polynomial(value.b).scaled(-1)
        case Binary(op="mul"):
            return polynomial(value.a) * polynomial(value.b)
        case Unary(op="neg"):
            return polynomial(value.a).scaled(-1)
        case Binary(op="floordiv" | "mod", a=top, b=Const(value=divisor)) if int(divisor) > 0 and exact(top):
            whole = polynomial(top)
            quotient = _divided(whole, int(divisor))
            return quotient if value.op == "floordiv" else whole + quotient.scaled(-int(divisor))
    return atom(value)


def exact(e: Expr) -> bool:
    """Whether no step of an integer expression can overflow. Of sizes alone none does: calls for which it would are refused."""
    return is_size(e) or all(fits(part) for part in walk(e) if isinstance(part, (Binary, Unary)))


def fits(e: Expr) -> bool:
    """Whether an integer expression is known to be a number of its type."""
    reach, (low, high) = index_range(e), dtypes.limits(e.dtype)
    return reach is not None and low <= reach[0] and reach[1] <= high


def _quotient(expr: Expr, divisor: int) -> Expr:
    return Binary("floordiv", expr, Const(divisor, "int32"), "int32")


def _divided(whole: Polynomial, divisor: int) -> Polynomial:
    """The floor of a polynomial by a number: multiples are taken out, the rest is one atom."""
    taken = Polynomial({m: c // divisor for m, c in whole.terms.items() if c % divisor == 0}, whole.atoms)
    rest = Polynomial({m: c for m, c in whole.terms.items() if c % divisor}, whole.atoms)
    if not rest.terms:
        return taken
    if set(rest.terms) == {()}:
        return taken + constant(rest.constant // divisor)
    low, high = rest.constant // divisor, rest.constant % divisor  # the number's multiples come out too
    rest = Polynomial(
        {**{m: c for m, c in rest.terms.items() if m}, **({(): high} if high else {})}, rest.atoms
    )
    inner = [m for m in rest.terms if m]
    if len(inner) == 1 and len(inner[0]) == 1 and rest.terms[inner[0]] == 1:
        match rest.atoms[inner[0][0]]:
            case Binary(op="floordiv", a=x, b=Const(value=step)) if int(step) > 0:
                # (x // a + c) // b is (x + c * a) // (a * b)
                top = polynomial(x) + constant(high * int(step))
                return taken + constant(low) + atom(_quotient(expression(top), int(step) * divisor))
    return taken + constant(low) + atom(_quotient(expression(rest), divisor))


def expression(p: Polynomial) -> Expr:
    """A polynomial with whole coefficients as an expression, the constant last."""
    result: Expr | None = None
    for monomial, coefficient in sorted(p.terms.items(), key=lambda item: (item[1] < 0, not item[0])):
        if not monomial:
            continue
        part = _product(p, monomial, abs(int(coefficient)))
        if result is None:
            result = part if coefficient > 0 else Binary("sub", Const(0, "int32"), part, "int32")
        else:
            result = Binary("add" if coefficient > 0 else "sub", result, part, "int32")
    number = int(p.constant)
    if result is None:
        return Const(number, "int32")
    if number:
        result = Binary("add" if number > 0 else "sub", result, Const(abs(number), "int32"), "int32")
    return result


def _product(p: Polynomial, monomial: Monomial, coefficient: int) -> Expr:
    parts = [p.atoms[key] for key in monomial]
    for n, part in enumerate(parts):  # 8 * (n // 8) is n where that is promised
        match part:
            case Binary(op="floordiv", a=Size() as size, b=Const(value=step)) if size.multiple_of == step:
                if coefficient % size.multiple_of == 0:
                    parts[n], coefficient = size, coefficient // size.multiple_of
    result = parts[0]
    for part in parts[1:]:
        result = Binary("mul", result, part, "int32")
    return result if coefficient == 1 else Binary("mul", result, Const(coefficient, "int32"), "int32")


# --- proofs --------------------------------------------------------------------------------------------------------

Ends = Callable[[Axis], Extent]


class Proof:
    """Shows that polynomials are not negative, wherever every axis that occurs has at least one value.

    Args:
        extent_of: how far an axis runs, if that is not its own extent.
        floors: a size's name -> a number it is known to reach.
    """

    def __init__(self, extent_of: Ends | None = None, floors: Mapping[str, int] | None = None) -> None:
        self.extent_of = extent_of or (lambda axis: axis.extent)
        self.floors = dict(floors or {})

    def not_negative(self, p: Polynomial, steps: int = MOST_STEPS, whole: bool = False) -> bool:
        """Whether the polynomial is surely 0 or more; ``whole`` says that it bounds an integer from below."""
        whole = whole or all(coefficient.denominator == 1 for coefficient in p.terms.values())
        for _ in range(steps):
            found = self._outermost(p)
            if found is None:
                # The ends of quotients are fractions; an integer above -1 is 0 or more.
                return self._least(p) > -1 if whole else self._least(p) >= 0
            branches = self._replaced(p, *found, steps // 2)
            if branches is None:
                return False
            if len(branches.options) > 1:
                judged = (self.not_negative(option, steps // 2, whole) for option in branches.options)
                return all(judged) if branches.every else any(judged)
            p = branches.options[0]
        return False

    def _outermost(self, p: Polynomial) -> tuple[Hashable, Expr] | None:
        """An atom to be replaced next: no size, and no part of another atom."""
        atoms = [(key, e) for key, e in p.used().items() if not isinstance(e, Size)]
        for key, e in atoms:
            if isinstance(e, Axis):
                # Its extent may hold quotients that occur beside it, so axes go first.
                return key, e
        for key, e in atoms:
            mine = structure(e)
            if not any(
                other is not e and any(structure(part) == mine for part in walk(other)) for _, other in atoms
            ):
                return key, e
        return None

    def _replaced(self, p: Polynomial, key: Hashable, e: Expr, steps: int) -> Branches | None:
        """``p`` with the atom at whichever end makes it least; None if the ends are not known."""
        ends = self._ends(e, steps)
        if ends is None:
            return None
        lows, highs, every_low, every_high = ends
        up = Polynomial({m: c for m, c in p.terms.items() if key in m and c > 0}, p.atoms)
        down = Polynomial({m: c for m, c in p.terms.items() if key in m and c < 0}, p.atoms)
        rest = Polynomial({m: c for m, c in p.terms.items() if key not in m}, p.atoms)
        if not all(self._factors_not_negative(m, key, p) for m in (*up.terms, *down.terms)):
            return None
        options = [
            rest + _with(up, key, low) + _with(down, key, high)
            for low in (lows if up.terms else lows[:1])
            for high in (highs if down.terms else highs[:1])
        ]
        every = (every_low or not up.terms) and (every_high or not down.terms)
        some = not (up.terms and every_low and len(lows) > 1) and not (
            down.terms and every_high and len(highs) > 1
        )
        return Branches(options, every) if every or some else None

    def _ends(self, e: Expr, steps: int) -> tuple[list[Polynomial], list[Polynomial], bool, bool] | None:
        """What an atom is at least, at most; and for each whether all the bounds must do, or any."""
        match e:
            case Axis():
                return [constant(0)], [polynomial(self.extent_of(e)) + constant(-1)], True, True
            case Binary(op="floordiv", a=whole, b=Const(value=step)) if int(step) > 0 and exact(whole):
                divisor, top = int(step), polynomial(whole)
                if isinstance(whole, Size) and whole.multiple_of % divisor == 0:
                    even = atom(whole).scaled(Fraction(1, divisor))
                    return [even], [even], True, True
                low = (top + constant(1 - divisor)).scaled(Fraction(1, divisor))
                # A quotient of what is not negative is not negative either.
                lows = [low, constant(0)] if self.not_negative(top, steps) else [low]
                return lows, [top.scaled(Fraction(1, divisor))], False, True
            case Binary(op="min" | "max") if exact(e.a) and exact(e.b):
                both = [polynomial(e.a), polynomial(e.b)]
                if e.op == "min":
                    return both, both + _half(both, up=False), True, False
                return both + _half(both, up=True), both, False, True
            case Binary(op="mod"):
                divisor_range = polynomial(e.b) + constant(-1)
                if self.not_negative(divisor_range, steps):
                    return [constant(0)], [divisor_range], True, True
        reach = index_range(e)
        return reach and ([constant(reach[0])], [constant(reach[1])], True, True)

    def _factors_not_negative(self, monomial: Monomial, key: Hashable, p: Polynomial) -> bool:
        """Whether what an atom is multiplied with is surely not negative, so that an end of the one is an end of the product."""
        others = list(monomial)
        others.remove(key)
        for other in others:
            e = p.atoms[other]
            if not isinstance(e, (Axis, Size)):
                reach = index_range(e)
                if reach is None or reach[0] < 0:
                    return False
        return key not in others

    def _least(self, p: Polynomial) -> Fraction:
        """What a polynomial of sizes alone is at least: each is counted from the least it can be, so that what is added cannot
        make it less.
        """
        for key, e in p.used().items():
            assert isinstance(e, Size)
            p = _with(p, key, Polynomial({(key,): 1}, {key: e}) + constant(self._floor(e)))
        least = p.constant
        for monomial, coefficient in p.terms.items():
            if monomial and coefficient < 0:
                sizes = [p.atoms[key] for key in monomial]
                least += coefficient * prod(
                    max(0, e.at_most - self._floor(e)) for e in sizes if isinstance(e, Size)
                )
        return Fraction(least)

    def _floor(self, size: Size) -> int:
        return max(size.at_least, self.floors.get(size.name, 0))


@dataclass(frozen=True)
class Branches:
    """Ways a proof can go on; ``every`` one must succeed, or any."""

    options: list[Polynomial]
    every: bool


def _half(both: list[Polynomial], up: bool) -> list[Polynomial]:
    """Half of the sum of two integers, if that is a number, rounded: the lesser is no more than that, the greater no less.

    So it is where they turn an index over at an end, as ``i`` and ``-1 - i`` do.
    """
    total = both[0] + both[1]
    if set(total.terms) - {()}:
        return []
    return [constant((int(total.constant) + up) // 2)]


def _with(p: Polynomial, key: Hashable, value: Polynomial) -> Polynomial:
    """``p`` with an atom replaced by a polynomial."""
    result = Polynomial({}, {**p.atoms, **value.atoms})
    for monomial, coefficient in p.terms.items():
        part = Polynomial({tuple(k for k in monomial if k != key): coefficient}, p.atoms)
        for _ in range(monomial.count(key)):
            part = part * value
        result = result + part
    return result


def at_most(a: Extent, b: Extent, proof: Proof | None = None) -> bool:
    """Whether ``a <= b`` for all sizes and at every point.

    >>> n = Size("n")
    >>> i = Axis("i", n)
    >>> at_most(i + 2, n + 1), at_most(i + 2, n)
    (True, False)
    >>> at_most(Axis("j", n * 3) // 3, n - 1)
    True
    """
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return a <= b
    return (proof or Proof()).not_negative(polynomial(b) + polynomial(a).scaled(-1))


def floors(extents: Iterator[Extent] | list[Extent]) -> dict[str, int]:
    """What sizes must reach for each of these extents to be at least 1: ``n - 2`` says that n is 3 or more."""
    found: dict[str, int] = {}
    for extent in extents:
        if not isinstance(extent, Expr):
            continue
        p = polynomial(extent)
        lone = [m for m in p.terms if m]
        if len(lone) == 1 and len(lone[0]) == 1 and p.terms[lone[0]] > 0:
            e = p.atoms[lone[0][0]]
            least = -((int(p.constant) - 1) // int(p.terms[lone[0]]))
            match e:
                case Size():
                    found[e.name] = max(found.get(e.name, 0), least)
                case Binary(op="floordiv", a=Size(name=name), b=Const(value=step)):
                    found[name] = max(found.get(name, 0), least * int(step))
    return found

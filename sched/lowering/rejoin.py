"""Places computed from the halves of a fused loop, in terms of the loop: ``(f // m) * m + f % m`` is ``f``.

Where all arrays lie in the order in which the loop runs, nothing has to be divided: this is the difference between a vector
load and one element after the other (a sum of two 1000 x 999 matrices: 270 us, else 720 us). Over symbolic extents each half
has a name of its own (:class:`~loopwright.sched.lowering.frame.Frame`), for a division by what only the call knows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from loopwright.sched.language.expr import Axis, Binary, Expr, structure, walk
from loopwright.sched.language.polynomial import Polynomial, expression, polynomial


def rejoined(place: Expr, halves: Mapping[Axis, Expr]) -> Expr:
    """``place`` with loops for their halves where it can be; ``halves`` has what each name stands for."""
    divided = _divisions(place)
    if not divided and not halves:
        return place
    whole = polynomial(place)
    if divided and not _divisions(joined := expression(whole)):
        return joined
    found = _pair(whole, halves)
    if found is None:
        return place
    while (more := _pair(found, halves)) is not None:
        found = more
    return expression(found)


def _divisions(e: Expr) -> bool:
    return any(isinstance(part, Binary) and part.op in ("floordiv", "mod") for part in walk(e))


def _pair(p: Polynomial, halves: Mapping[Axis, Expr]) -> Polynomial | None:
    """One pair of halves put together."""
    used = {key: e for key, e in p.used().items() if isinstance(e, Axis) and e in halves}
    for row, outer in used.items():
        for column, inner in used.items():
            whole, part = halves[outer], halves[inner]
            if not (isinstance(whole, Binary) and isinstance(part, Binary)):
                continue
            if (whole.op, part.op) != ("floordiv", "mod") or structure(whole.a) != structure(part.a):
                continue
            rows, columns = _factor(p, row), _factor(p, column)
            length = polynomial(inner.extent)
            if rows is None or columns is None or (rows + (columns * length).scaled(-1)).terms:
                continue
            rest = Polynomial({m: c for m, c in p.terms.items() if row not in m and column not in m}, p.atoms)
            return rest + columns * polynomial(whole.a)
    return None


def _factor(p: Polynomial, key: Hashable) -> Polynomial | None:
    """What an atom is multiplied with; None where it occurs in a power."""
    terms = {}
    for monomial, coefficient in p.terms.items():
        if key in monomial:
            others = tuple(k for k in monomial if k != key)
            if len(others) != len(monomial) - 1:
                return None
            terms[others] = coefficient
    return Polynomial(terms, p.atoms)

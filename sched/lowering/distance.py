"""How far apart two indices can be, clamps and divisions in them considered."""

from __future__ import annotations

from loopwright.sched.language.expr import Binary, Const, Expr
from loopwright.sched.language.interval import index_range
from loopwright.sched.lowering.affine import Linear, linear


def most(a: Expr, b: Expr) -> int | None:
    """The most that ``a - b`` can be, or a little more; None where it depends on data.

    >>> from loopwright.sched.language.expr import Axis
    >>> from loopwright.sched.lowering.affine import number, plus
    >>> y = Axis("y", 100)
    >>> before = Binary("max", plus(y, number(-1)), number(0), "int32")
    >>> most(y, before), most(before, y)
    (1, 0)
    """
    return _greatest(linear(a).add(linear(b), -1))


def _greatest(form: Linear) -> int | None:
    for key, (term, coefficient) in form.terms.items():
        if isinstance(term, Binary) and term.op in ("min", "max"):
            rest = Linear({k: v for k, v in form.terms.items() if k != key}, form.const)
            ends = [_greatest(rest.add(linear(side), coefficient)) for side in (term.a, term.b)]
            known = [end for end in ends if end is not None]
            # c * max(a, b) is the greater of c*a and c*b, or the lesser where c is negative.
            if (term.op == "max") == (coefficient > 0):
                return max(known) if len(known) == len(ends) else None
            return min(known, default=None)
    pair = _quotients(form)
    if pair is not None:
        return pair
    span = index_range(form.expr())
    return None if span is None else span[1]


def _quotients(form: Linear) -> int | None:
    """For ``c * (a // n) - c * (b // n) + rest``: the quotients differ by ``(a - b) / n``, rounded up, at most."""
    for key, (plus, coefficient) in form.terms.items():
        for other, (minus, negative) in form.terms.items():
            if coefficient <= 0 or negative != -coefficient:
                continue
            if not (_is_quotient(plus) and _is_quotient(minus)):
                continue
            assert isinstance(plus, Binary) and isinstance(minus, Binary)
            assert isinstance(plus.b, Const) and isinstance(minus.b, Const)
            divisor = int(plus.b.value)
            apart = most(plus.a, minus.a)
            if divisor != int(minus.b.value) or apart is None:
                continue
            rest = Linear({k: v for k, v in form.terms.items() if k not in (key, other)}, form.const)
            more = _greatest(rest)
            return None if more is None else coefficient * -(-apart // divisor) + more
    return None


def _is_quotient(term: Expr) -> bool:
    return (
        isinstance(term, Binary)
        and term.op == "floordiv"
        and isinstance(term.b, Const)
        and int(term.b.value) > 0
    )

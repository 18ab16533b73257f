"""Loops divided where a condition turns with the loops around them: ``j <= i`` in a loop over ``j`` inside one over ``i``.

No range of such a loop decides the condition, but each iteration of the loops around it does: up to some ``j`` it holds for all
that is inside, and from another one on for nothing. So the loop becomes three, whose ends are computed before it; only in the
middle one, which is short, anything is left to ask. What comes to nothing where a condition rules it out is left out there: a
sum of what is selected runs over the triangle alone, and a product that is thrown away is not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Const,
    Expr,
    Load,
    Select,
    Size,
    loads,
    structure,
    walk,
)
from loopwright.sched.language.extents import Extent, node, surely
from loopwright.sched.lowering.affine import ZERO, Linear, minus, number, simplify
from loopwright.sched.lowering.assume import Assumed
from loopwright.sched.lowering.combine import changes_nothing
from loopwright.sched.lowering.decide import AT_MOST, form_of, is_exact
from loopwright.sched.lowering.folding import NOTHING, folded, is_nothing
from loopwright.sched.lowering.steady import EDGE, questions_in
from loopwright.sched.lowering.stmt import (
    Alloc,
    Bind,
    Buffer,
    For,
    If,
    Let,
    Seq,
    Stmt,
    Store,
    expressions,
    seq,
    walk_statements,
)

# The middle one of the three loops has at most this share of the iterations, where the others have any.
SHARE = 2


@dataclass(frozen=True)
class Part:
    """The iterations ``first .. stop - 1`` of a loop; ``region`` decides what is decided there, None if nothing is."""

    first: Expr
    stop: Expr
    region: Assumed | None


class _Ruled(Assumed):
    """Decides by what is assumed, whichever way that goes."""

    def _at_most_in_part(self, form: Linear, bound: int, least: int) -> bool | None:
        if self._holds(Linear({}, bound).add(form, -1)):
            return True
        return False if self._holds(form.add(Linear({}, -least))) else None


def triangular(s: For) -> list[Stmt]:
    """The loops that a loop becomes, in order; none if no condition in it turns with the loops around it."""
    parts = _parts_of(s)
    found = [part for part in (_loop(s, part) for part in parts) if not is_nothing(part)]
    return found if parts else []


def _loop(s: For, part: Part) -> Stmt:
    """A loop over a part of the iterations, without what is decided there."""
    body, name = s.body, s.part or (EDGE if part.region is None else "")
    if part.region is not None:
        body = without_unread(without_effect(folded(body, {}, "", part.region)))
    extent = _number(simplify(minus(part.stop, part.first)))
    if surely(extent, 1):
        return folded(body, {s.var: part.first}, name)
    if is_nothing(body) or (isinstance(extent, int) and extent <= 0):
        return NOTHING
    var = Axis(s.var.name, extent, s.var.reduce)
    value = simplify(Binary("add", var, part.first, "int32"))
    return replace(s, var=var, extent=extent, body=Let(s.var, value, body), part=name)


def _number(e: Expr) -> Extent:
    return int(e.value) if isinstance(e, Const) else e


def _parts_of(s: For) -> list[Part]:
    """What the first condition that turns divides a loop into."""
    if s.kind != "serial":
        return []
    inner = [x.var for x in walk_statements(s.body) if isinstance(x, (For, Let))]
    for question in questions_in(s.body):
        for e in _comparisons(question):
            parts = _turned(s.var, s.extent, inner, e)
            if parts:
                return parts
    return []


def _comparisons(question: Expr) -> Iterator[Binary]:
    """The comparisons of a condition."""
    condition = question.cond if isinstance(question, Select) else question
    for e in walk(condition):
        if isinstance(e, Binary) and e.op in AT_MOST and is_exact(e.a) and is_exact(e.b):
            yield e


def _turned(var: Axis, extent: Extent, inner: list[Axis], e: Binary) -> list[Part]:
    """The parts of a loop before, while and after a comparison turns."""
    bound = AT_MOST[e.op][1]
    form = form_of(e.a).add(form_of(e.b), -1)
    step, least, greatest = 0, 0, 0  # what the loops inside add to the rest
    around = Linear({}, form.const)
    for key, (term, coefficient) in form.terms.items():
        if term is var:
            step = coefficient
        elif isinstance(term, Size):
            around.terms[key] = (term, coefficient)
        elif not isinstance(term, Axis) or isinstance(term.extent, Expr):
            return []
        elif any(term is axis for axis in inner):
            reach = coefficient * (term.extent - 1)
            least, greatest = least + min(0, reach), greatest + max(0, reach)
        else:
            around.terms[key] = (term, coefficient)
    turns = step and any(isinstance(term, Axis) for term, _ in around.terms.values())
    if not turns or (isinstance(extent, int) and SHARE * -(-(greatest - least) // abs(step)) > extent):
        return []
    holds, fails = (_Ruled(inner) for _ in range(2))
    holds.assume(Linear({}, bound).add(form, -1))
    fails.assume(form.add(Linear({}, -bound - 1)))
    if step > 0:  # step * j + around + (least .. greatest) <= bound
        ends = [_count(Linear({}, bound - end).add(around, -1), step, extent) for end in (greatest, least)]
        regions = [holds, None, fails]
    else:
        ends = [_count(around.add(Linear({}, end - bound - 1)), -step, extent) for end in (least, greatest)]
        regions = [fails, None, holds]
    firsts, stops = [ZERO, *ends], [*ends, node(extent)]
    return [Part(*part) for part in zip(firsts, stops, regions, strict=True)]


def _count(form: Linear, step: int, extent: Extent) -> Expr:
    """How many ``j`` of ``0 .. extent - 1`` there are with ``step * j <= form``."""
    count = Binary("add", Binary("floordiv", form.expr(), number(step), "int32"), number(1), "int32")
    return simplify(Binary("max", Binary("min", count, node(extent), "int32"), ZERO, "int32"))


# --- what comes to nothing -------------------------------------------------------------------------------------------


def without_effect(s: Stmt) -> Stmt:
    """A statement without updates that leave what they update as it is: a sum to which 0 is added."""
    return _without(s, lambda inner: isinstance(inner, Store) and inner.role == "update" and _neutral(inner))


def _neutral(s: Store) -> bool:
    """Whether an update combines what it updates with the identity."""
    value = s.value
    if not isinstance(value, Binary) or not isinstance(value.a, Load) or not changes_nothing(value):
        return False
    return structure(value.a) == structure(Load(s.buffer, s.indices, s.buffer.dtype))


def without_unread(s: Stmt) -> Stmt:
    """A statement without the buffers made in it that nothing reads but what updates them, and without these updates."""
    inside = list(walk_statements(s))
    if not all(isinstance(inner, (Alloc, Bind, For, If, Let, Seq, Store)) for inner in inside):
        return s
    made = {inner.buffer for inner in inside if isinstance(inner, Alloc)}
    read = {load.tensor for inner in inside for load in _loads(inner) if load.tensor is not _stored(inner)}
    return _without(s, lambda inner: isinstance(inner, (Alloc, Store)) and inner.buffer in made - read)


def _loads(s: Stmt) -> Iterator[Load]:
    return (load for e in expressions(s) for load in loads(e))


def _stored(s: Stmt) -> Buffer | None:
    return s.buffer if isinstance(s, Store) else None


def _without(s: Stmt, dropped: Callable[[Stmt], bool]) -> Stmt:
    """A statement without some of those in it."""
    match s:
        case _ if dropped(s):
            return NOTHING
        case For() | Let():
            body = _without(s.body, dropped)
            return NOTHING if is_nothing(body) else replace(s, body=body)
        case Seq():
            return seq(*(_without(part, dropped) for part in s.body))
        case If():
            then = _without(s.then, dropped)
            otherwise = None if s.otherwise is None else _without(s.otherwise, dropped)
            nothing = is_nothing(then) and (otherwise is None or is_nothing(otherwise))
            return NOTHING if nothing else replace(s, then=then, otherwise=otherwise)
    return s

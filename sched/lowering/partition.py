"""Loops divided so that in their steady state no boundary condition and no tail is left to ask about.

A clamp such as ``max(x - 1, 0)`` is needed in the first iteration of a loop over ``x`` and nowhere else. So the loop is divided:
the iterations before the steady state, the steady state, in which everything is decided, and the iterations after it. It
goes from the outside in: where a whole tile is known to be inside, nothing in it asks; in the tiles at the edges the inner
loops are divided in turn. A parallel loop stays whole: it asks once in each iteration, and does the steady state if it
can. So does a loop that was fused, for each of the loops it was fused from. Where only a call knows how long a loop is, the
call computes where its steady state begins and ends (:mod:`loopwright.sched.lowering.assume`).

Only what is asked in innermost loops counts. A question that is asked around a whole loop costs nothing, and dividing for
its sake would only make code. How much code may be made is bounded (:data:`ROOM`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Extent, walk
from loopwright.sched.language.extents import known, minus, node, surely
from loopwright.sched.language.interval import index_range
from loopwright.sched.lowering.affine import number, plus
from loopwright.sched.lowering.assume import Assumed
from loopwright.sched.lowering.decide import Region, Values, questions
from loopwright.sched.lowering.edges import with_scalar_edges
from loopwright.sched.lowering.masking import masked
from loopwright.sched.lowering.stmt import (
    Alloc,
    Bind,
    CallStage,
    Clock,
    Fetch,
    For,
    If,
    Let,
    Microkernel,
    Program,
    Seq,
    Stmt,
    Store,
    seq,
    walk_statements,
)

# How much code a program may become: so many times what it was, or so many nodes of expressions if that is more.
GROWTH, ROOM = 3, 24000
# Nodes of expressions beside which a question is no cost.
LITTLE = 300
EDGE = "edge"
# An edge of so many iterations is a steady state too: of what is read on the other side of a seam.
LONG_EDGE = 16
LANES, WRITTEN_OUT = ("vectorize",), ("vectorize", "unroll")
NOTHING = Seq(())
ANYWHERE = Region()
Piece = tuple[int, int, str]  # the first iteration, the one after the last, and the part it is


def partitioned(program: Program) -> Program:
    """The program with its loops divided."""
    return replace(program, body=divided(program.body))


def divided(body: Stmt) -> Stmt:
    """A statement with its loops divided."""
    size = _size(body)
    return with_scalar_edges(_Partition(max(ROOM, GROWTH * size) - size).statement(body), EDGE)


class _Partition:
    """One pass over a program; ``room`` is how much the code may still grow."""

    def __init__(self, room: int) -> None:
        self.room = room

    def statement(self, s: Stmt) -> Stmt:
        """A statement with the loops in it divided."""
        if not any(True for _ in _questions(s)):
            return s
        match s:
            case Seq():
                return seq(*(self.statement(part) for part in s.body))
            case If():
                otherwise = None if s.otherwise is None else self.statement(s.otherwise)
                return replace(s, then=self.statement(s.then), otherwise=otherwise)
            case Let():
                return self._asked(s.var, s.body, lambda body: Let(s.var, s.value, body))
            case For(kind="parallel"):
                return self._asked(s.var, s.body, lambda body: replace(s, body=body))
            case For(kind="vectorize"):
                return self._lanes(s)
            case For():
                return self._loop(s)
        return s

    # --- loops that are divided -----------------------------------------------------------------------------------

    def _loop(self, s: For) -> Stmt:
        """What comes before the steady state, the steady state, and what comes after it."""
        if isinstance(s.extent, Expr):
            return replace(s, body=self.statement(s.body)) if s.part == "tail" else self._open_loop(s)
        region = _steady(s.var, s.body, counts=True)
        ranges = _ranges(region, s.extent)
        pieces = [_piece(s, *piece) for piece in ranges] if len(ranges) > 1 else []
        if not pieces or not self._affords(pieces, s):
            return replace(s, body=self._body(s.body, region))
        # The steady state first: it has the first claim on what room there is.
        order = sorted(range(len(pieces)), key=lambda n: ranges[n][2] == EDGE)
        again = _is_nothing(pieces[order[0]])
        done = {n: self._part(pieces[n], ranges[n], again and n != order[0]) for n in order}
        return seq(*(done[n] for n in sorted(done)))

    def _open_loop(self, s: For) -> Stmt:
        """A loop that ends where only the call knows: a call finds where its steady state is, or an iteration asks."""
        assumed = _assumptions(s.body, s.var)
        if not assumed.least:
            return replace(s, body=self._assumed(s.body))
        (first, stop), rest = assumed.steady, assumed.from_start()
        before = Axis(s.var.name, first, s.var.reduce)
        head = _folded(s.body, {s.var: before}, EDGE)
        steady, tail = _folded(s.body, {}, "", assumed.over({})), _folded(s.body, {}, EDGE, rest)
        if not self._affords([head, steady, tail], s.body):
            return replace(s, body=self._assumed(s.body))
        middle = self._assumed(steady)
        return seq(
            _run(s, before, self.statement(head), EDGE),
            _from(s, first, stop, middle, ""),
            _from(s, stop, s.extent, self.statement(tail), EDGE),
        )

    def _part(self, piece: Stmt, of: Piece, again: bool) -> Stmt:
        """A piece of a loop with the loops in it divided, but not it itself, unless ``again`` or it is a long edge."""
        first, stop, part = of
        long = part == EDGE and stop - first >= LONG_EDGE
        if again or long or stop - first == 1 or not isinstance(piece, For):
            return self.statement(piece)
        return replace(piece, body=self._body(piece.body, _steady(piece.var, piece.body, counts=True)))

    @staticmethod
    def _lanes(s: For) -> Stmt:
        """A vectorized loop. A condition would undo it: lanes for which one holds are a shorter vector; else it is a mask."""
        if isinstance(s.extent, Expr) or not any(isinstance(inner, If) for inner in walk_statements(s.body)):
            return s
        region = _steady(s.var, s.body, counts=True)
        ends = (0, region.low, region.high, s.extent)
        pieces: list[Stmt] = []
        for first, stop in pairwise(ends):
            while first < stop:
                lanes = 1 << ((stop - first).bit_length() - 1)
                piece = _piece(s, first, first + lanes, "")
                pieces.append(masked(piece) if isinstance(piece, For) else piece)
                first += lanes
        return seq(*pieces)

    # --- loops that ask -------------------------------------------------------------------------------------------

    def _asked(self, var: Axis, body: Stmt, around: Callable[[Stmt], Stmt]) -> Stmt:
        """A body that asks in which part of its range ``var`` is; ``around`` puts back what stands around it."""
        if isinstance(var.extent, Expr):
            return around(self._assumed(body))
        region = _steady(var, body, counts=False)
        ranges = _ranges(region, var.extent)
        parts = [_known(var, body, *piece) for piece in ranges] if len(ranges) > 1 else []
        if not parts or not self._affords(parts, body):
            return around(self._body(body, region))
        steady = self.statement(parts[[part for _, _, part in ranges].index("")])
        edges = [self.statement(parts[n]) for n, piece in enumerate(ranges) if piece[2] == EDGE]
        below, above = (
            Binary("lt", var, number(region.low), "bool"),
            Binary("lt", var, number(region.high), "bool"),
        )
        inside = Binary("ge", var, number(region.low), "bool") if region.low else above
        if len(edges) == 2:
            return around(If(Binary("and", inside, above, "bool"), steady, If(below, edges[0], edges[1])))
        return around(If(inside, steady, edges[0]))

    def _assumed(self, body: Stmt) -> Stmt:
        """A body that asks whether all in it is as in the middle of the loops around it."""
        assumed = _assumptions(body)
        if assumed.condition is None:
            return self.statement(body)
        steady, edge = _folded(body, {}, "", assumed.over({})), _folded(body, {}, EDGE)
        if not self._affords([steady, edge], body):
            return self.statement(body)
        return If(assumed.condition, self.statement(steady), self.statement(edge))

    def _body(self, body: Stmt, region: Region) -> Stmt:
        """The body of a loop, which asks about each of the loops that this one was fused from."""
        assert region.var is not None
        for key, term in region.open.items():
            span = index_range(term)
            if span is None or span[0] != 0:
                continue
            alias = Axis(region.var.name, span[1] + 1)
            renamed = _folded(body, {key: alias}, "")
            if len(_ranges(_steady(alias, renamed, counts=False), known(alias.extent))) > 1:
                body = Let(alias, term, renamed)
        return self.statement(body)

    def _affords(self, pieces: list[Stmt], whole: Stmt) -> bool:
        """Whether there is room for pieces instead of the whole, which is then taken."""
        cost = sum(map(_size, pieces)) - _size(whole)
        if cost > self.room:
            return False
        self.room -= cost
        return True


# --- finding the steady state ----------------------------------------------------------------------------------


def _steady(var: Axis, body: Stmt, counts: bool) -> Region:
    """The iterations of a loop in which most is decided. ``counts``: whether questions outside inner loops count too."""
    region = Region(var)
    _narrow(region, body, counts, not _loops(body, WRITTEN_OUT))
    inner = {id(s.var) for s in walk_statements(body) if isinstance(s, (For, Let))}
    region.open = {
        key: term for key, term in region.open.items() if not any(id(e) in inner for e in walk(term))
    }
    return region


def _assumptions(body: Stmt, of: Axis | None = None) -> Assumed:
    """What makes the body of a loop as it is in the middle; ``of``: of this loop, wherever in the body it is asked."""
    loops = [s.var for s in walk_statements(body) if isinstance(s, (For, Let))]
    assumed = Assumed(loops, of=of)
    _narrow(assumed, body, of is not None, not _loops(body, WRITTEN_OUT))
    return assumed


def _ranges(region: Region, extent: int) -> list[Piece]:
    """What a loop is divided into, in order: first and end of each piece, and which it is."""
    ranges = [(0, region.low, EDGE), (region.low, region.high, ""), (region.high, extent, EDGE)]
    return [(first, stop, part) for first, stop, part in ranges if first < stop]


def _narrow(region: Region, s: Stmt, counts: bool, innermost: bool) -> None:
    match s:
        case Store() | Bind() | Microkernel():
            region.narrowing = counts
            for question in _asked_here(s):
                region.decided(question)
        case For():
            if region.var is None and s.part == "tail":
                return  # it is at an edge: nothing is as in the middle
            _narrow(region, s.body, True, innermost or not _loops(s.body, WRITTEN_OUT))
        case Let():
            _narrow(region, s.body, counts, innermost)
        case Seq():
            for part in s.body:
                _narrow(region, part, counts, innermost)
        case If():
            # Asking costs nothing around a loop, or much code; around a little that is written out in an innermost loop it does.
            little = innermost and _size(s) <= LITTLE
            region.narrowing = counts and not _loops(s, WRITTEN_OUT if little else LANES)
            cond = region.decided(s.cond)
            if not isinstance(cond, Const) or cond.value:
                _narrow(region, s.then, counts, innermost)
            if s.otherwise is not None and not (isinstance(cond, Const) and cond.value):
                _narrow(region, s.otherwise, counts, innermost)


def _loops(s: Stmt, but: tuple[str, ...]) -> bool:
    """Whether there are loops in a statement, not counting those of the kinds ``but``."""
    return any(isinstance(inner, For) and inner.kind not in but for inner in walk_statements(s))


def _questions(s: Stmt) -> Iterator[Expr]:
    """What is asked in innermost loops."""
    for inner in walk_statements(s):
        if isinstance(inner, If) and not _loops(inner, WRITTEN_OUT):
            yield inner.cond
        yield from _asked_here(inner)


def _asked_here(s: Stmt) -> Iterator[Expr]:
    for part in _parts(s):
        yield from questions(part)


def _parts(s: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement that has no others inside."""
    match s:
        case Store():
            return (*s.indices, s.value)
        case Bind():
            return (s.value,)
        case Microkernel():
            return (s.out[0], *(load for load, _ in s.operands))
    return ()


# --- rewriting statements --------------------------------------------------------------------------------------


def _known(var: Axis, body: Stmt, first: int, stop: int, part: str) -> Stmt:
    """A body for values of ``var`` in ``first .. stop - 1``, which a condition has made sure of."""
    if stop - first == 1:
        return _folded(body, {var: number(first)}, part)
    inside = Axis(var.name, stop - first, var.reduce)
    return Let(inside, plus(var, number(-first)), _folded(body, {var: plus(inside, number(first))}, part))


def _piece(s: For, first: int, stop: int, part: str) -> Stmt:
    """A loop over ``first .. stop - 1`` only."""
    if stop - first == 1:
        return _folded(s.body, {s.var: number(first)}, part)
    var = Axis(s.var.name, stop - first, s.var.reduce)
    body = _folded(s.body, {s.var: plus(var, number(first))}, part)
    return (
        NOTHING
        if _is_nothing(body)
        else replace(s, var=var, extent=var.extent, body=body, part=s.part or part)
    )


def _run(s: For, var: Axis, body: Stmt, part: str) -> Stmt:
    """A loop with another variable, which runs over another range."""
    if surely(var.extent, 0) or _is_nothing(body):
        return NOTHING
    return replace(s, var=var, extent=var.extent, body=body, part=s.part or part)


def _from(s: For, first: Extent, stop: Extent, body: Stmt, part: str) -> Stmt:
    """A loop over ``first .. stop - 1`` only, which the call knows."""
    var = Axis(s.var.name, minus(stop, first), s.var.reduce)
    return _run(s, var, NOTHING if _is_nothing(body) else Let(s.var, plus(var, node(first)), body), part)


def _folded(s: Stmt, values: Values, part: str, like: Region = ANYWHERE) -> Stmt:
    """A statement with values for variables, and without what is decided then; its loops are of ``part``."""
    region = like.over(values)
    match s:
        case Store():
            indices = tuple(region.index(index) for index in s.indices)
            return replace(s, indices=indices, value=region.decided(s.value))
        case Bind():
            return Bind(s.var, region.decided(s.value))
        case Microkernel():
            return replace(
                s,
                out=(region.load(s.out[0]), s.out[1]),
                operands=tuple((region.load(load), steps) for load, steps in s.operands),
                meaning=_folded(s.meaning, values, part, like),
            )
        case For():
            body = _folded(s.body, values, part, like)
            return NOTHING if _is_nothing(body) else replace(s, body=body, part=s.part or part)
        case Let():
            value = region.index(s.value)
            span = index_range(value)
            if span is not None and span[0] >= 0 and _below(span[1], s.var.extent):
                return _folded(s.body, {**values, s.var: value}, part, like)
            return Let(s.var, value, _folded(s.body, values, part, like))
        case Seq():
            return seq(*(_folded(inner, values, part, like) for inner in s.body))
        case If():
            return _folded_if(s, region.index(s.cond), values, part, like)
        case Fetch():
            return Fetch(region.load(s.element))
        case Alloc() | Clock() | CallStage():
            return s
    raise AssertionError(f"no {type(s).__name__} is divided")


def _folded_if(s: If, cond: Expr, values: Values, part: str, like: Region) -> Stmt:
    if isinstance(cond, Const):
        taken = s.then if cond.value else s.otherwise
        return NOTHING if taken is None else _folded(taken, values, part, like)
    otherwise = None if s.otherwise is None else _folded(s.otherwise, values, part, like)
    then = _folded(s.then, values, part, like)
    return (
        NOTHING
        if _is_nothing(then) and (otherwise is None or _is_nothing(otherwise))
        else replace(s, cond=cond, then=then, otherwise=otherwise)
    )


def _below(number: int, extent: Extent) -> bool:
    return not isinstance(extent, Expr) and number < extent


def _is_nothing(s: Stmt) -> bool:
    return isinstance(s, Seq) and not s.body


def _size(s: Stmt) -> int:
    """How much code a statement is: the nodes of its expressions, as often as they are written out."""
    match s:
        case For():
            return _size(s.body) * (known(s.extent) if s.kind == "unroll" else 1)
        case Let():
            return _size(s.body)
        case Seq():
            return sum(_size(inner) for inner in s.body)
        case If():
            return _size(s.then) + (0 if s.otherwise is None else _size(s.otherwise))
    return sum(1 for part in _parts(s) for _ in walk(part))

"""Loops divided so that in their steady state no boundary condition and no tail is left to ask about.

A clamp such as ``max(x - 1, 0)`` is needed in the first iteration of a loop over ``x`` and nowhere else. So the loop is divided:
the iterations before the steady state, the steady state, in which everything is decided, and the iterations after it. It
goes from the outside in: where a whole tile is known to be inside, nothing in it asks; in the tiles at the edges the inner
loops are divided in turn. A parallel loop stays whole: it asks once in each iteration, and does the steady state if it
can. So does a loop that was fused, for each of the loops it was fused from. Where only a call knows how long a loop is, the
call computes where its steady state begins and ends (:mod:`loopwright.sched.lowering.assume`); where the loops around
it say, they do (:mod:`loopwright.sched.lowering.triangular`).

Only what is asked in innermost loops counts. A question that is asked around a whole loop costs nothing, and dividing for
its sake would only make code. How much code may be made is bounded (:data:`ROOM`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from loopwright.sched.language.expr import Axis, Binary, Expr
from loopwright.sched.language.extents import known
from loopwright.sched.language.interval import index_range
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.decide import Region
from loopwright.sched.lowering.edges import loaded_apart, with_scalar_edges
from loopwright.sched.lowering.folding import folded, in_range, is_nothing, loop_over, run_from, run_over
from loopwright.sched.lowering.masking import masked
from loopwright.sched.lowering.steady import (
    EDGE,
    Piece,
    assumptions,
    code_size,
    pieces_of,
    questions_in,
    steady_state,
)
from loopwright.sched.lowering.stmt import For, If, Let, Program, Seq, Stmt, seq, walk_statements
from loopwright.sched.lowering.triangular import triangular

# How much code a program may become: so many times what it was, or so many nodes of expressions if that is more.
GROWTH, ROOM = 3, 24000
# An edge of so many iterations is a steady state too: of what is read on the other side of a seam.
LONG_EDGE = 16


def partitioned(program: Program) -> Program:
    """The program with its loops divided."""
    return replace(program, body=divided(program.body))


def divided(body: Stmt) -> Stmt:
    """A statement with its loops divided."""
    size = code_size(body)
    return with_scalar_edges(_Partition(max(ROOM, GROWTH * size) - size).statement(body), EDGE)


class _Partition:
    """One pass over a program; ``room`` is how much the code may still grow."""

    def __init__(self, room: int) -> None:
        self.room = room

    def statement(self, s: Stmt) -> Stmt:
        """A statement with the loops in it divided."""
        if not any(True for _ in questions_in(s)):
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
        if isinstance(s.extent, Expr) and s.part == "tail":
            return replace(s, body=self.statement(s.body))
        if isinstance(s.extent, Expr):
            return self._open_loop(s)
        region = steady_state(s.var, s.body, counts=True)
        ranges = pieces_of(region, s.extent)
        pieces = [loop_over(s, *piece) for piece in ranges] if len(ranges) > 1 else []
        if not pieces:
            return self._triangular(s, lambda body: self._body(body, region))
        if not self._affords(pieces, s):
            return replace(s, body=self._body(s.body, region))
        # The steady state first: it has the first claim on what room there is.
        order = sorted(range(len(pieces)), key=lambda n: ranges[n][2] == EDGE)
        again = is_nothing(pieces[order[0]])
        done = {n: self._part(pieces[n], ranges[n], again and n != order[0]) for n in order}
        return seq(*(done[n] for n in sorted(done)))

    def _triangular(self, s: For, whole: Callable[[Stmt], Stmt]) -> Stmt:
        """A loop that is divided, if at all, where each iteration of those around it says; else with its body ``whole``."""
        parts = triangular(s)
        if not parts or not self._affords(parts, s):
            return replace(s, body=whole(s.body))
        return seq(*(self._inside(part) for part in parts))

    def _inside(self, piece: Stmt) -> Stmt:
        """A piece of a loop with the loops in it divided, but not it itself."""
        return (
            replace(piece, body=self.statement(piece.body))
            if isinstance(piece, For)
            else self.statement(piece)
        )

    def _open_loop(self, s: For) -> Stmt:
        """A loop that ends where only the call knows: a call finds where its steady state is, or an iteration asks."""
        assumed = assumptions(s.body, s.var)
        if not assumed.least:
            return self._triangular(s, self._assumed)
        (first, stop), rest = assumed.steady, assumed.from_start()
        before = Axis(s.var.name, first, s.var.reduce)
        head = folded(s.body, {s.var: before}, EDGE)
        steady, tail = folded(s.body, {}, "", assumed.over({})), folded(s.body, {}, EDGE, rest)
        if not self._affords([head, steady, tail], s.body):
            return replace(s, body=self._assumed(s.body))
        middle = self._assumed(steady)
        return seq(
            run_over(s, before, self.statement(head), EDGE),
            run_from(s, first, stop, middle, ""),
            run_from(s, stop, s.extent, self.statement(tail), EDGE),
        )

    def _part(self, piece: Stmt, of: Piece, again: bool) -> Stmt:
        """A piece of a loop with the loops in it divided, but not it itself, unless ``again`` or it is a long edge."""
        first, stop, part = of
        long = part == EDGE and stop - first >= LONG_EDGE
        if again or long or stop - first == 1 or not isinstance(piece, For):
            return self.statement(piece)
        return replace(piece, body=self._body(piece.body, steady_state(piece.var, piece.body, counts=True)))

    def _lanes(self, s: For) -> Stmt:
        """A vectorized loop: lanes for which a condition holds are a shorter vector, or it is a mask; it would undo the loop.

        So are lanes whose elements lie side by side, where others are clamped: each of those is loaded by itself.
        """
        asks = any(isinstance(inner, If) for inner in walk_statements(s.body))
        if isinstance(s.extent, Expr) or not (asks or loaded_apart(s)):
            return s
        region = steady_state(s.var, s.body, counts=True)
        pieces: list[Stmt] = []
        for first, stop in pairwise((0, region.low, region.high, s.extent)):
            while first < stop:
                lanes = 1 << ((stop - first).bit_length() - 1)
                piece = loop_over(s, first, first + lanes, "")
                pieces.append(masked(piece) if isinstance(piece, For) else piece)
                first += lanes
        return seq(*pieces) if asks or self._affords(pieces, s) else s

    # --- loops that ask -------------------------------------------------------------------------------------------

    def _asked(self, var: Axis, body: Stmt, around: Callable[[Stmt], Stmt]) -> Stmt:
        """A body that asks in which part of its range ``var`` is; ``around`` puts back what stands around it."""
        if isinstance(var.extent, Expr):
            return around(self._assumed(body))
        region = steady_state(var, body, counts=False)
        ranges = pieces_of(region, var.extent)
        parts = [in_range(var, body, *piece) for piece in ranges] if len(ranges) > 1 else []
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
        assumed = assumptions(body)
        if assumed.condition is None:
            return self.statement(body)
        steady, edge = folded(body, {}, "", assumed.over({})), folded(body, {}, EDGE)
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
            renamed = folded(body, {key: alias}, "")
            if len(pieces_of(steady_state(alias, renamed, counts=False), known(alias.extent))) > 1:
                body = Let(alias, term, renamed)
        return self.statement(body)

    def _affords(self, pieces: list[Stmt], whole: Stmt) -> bool:
        """Whether there is room for pieces instead of the whole, which is then taken."""
        cost = sum(map(code_size, pieces)) - code_size(whole)
        if cost > self.room:
            return False
        self.room -= cost
        return True

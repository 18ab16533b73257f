"""The steady state of a loop: the iterations in which most of what is asked in it is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from loopwright.sched.language.expr import Axis, Const, Expr, walk
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.assume import TYPICAL, Assumed
from loopwright.sched.lowering.decide import Region, questions
from loopwright.sched.lowering.stmt import (
    Bind,
    For,
    If,
    Let,
    Microkernel,
    Seq,
    Stmt,
    Store,
    walk_statements,
)

# Nodes of expressions beside which a question is no cost.
LITTLE = 300
# A question is rare around less than one of so many nodes that an iteration of the loop comes to.
RARE = 16
LANES, WRITTEN_OUT = ("vectorize",), ("vectorize", "unroll")
EDGE = "edge"
Piece = tuple[int, int, str]  # the first iteration, the one after the last, and the part it is


@dataclass(frozen=True)
class _Place:
    """Where something stands in the body of the loop whose steady state is looked for.

    Attributes:
        counts: whether what is asked here is a reason to divide the loop.
        innermost: whether no loop that repeats code is below the innermost one here.
        repeated: whether a loop inside repeats what stands here.
        often: how often that runs in one iteration of the loop.
    """

    counts: bool
    innermost: bool
    repeated: bool = False
    often: int = 1

    def inside(self, loop: For) -> _Place:
        """In a loop that stands here."""
        innermost = self.innermost or not has_loops(loop.body, WRITTEN_OUT)
        repeated = self.repeated or loop.kind not in WRITTEN_OUT
        return _Place(True, innermost, repeated, self.often * _iterations(loop))


def steady_state(var: Axis, body: Stmt, counts: bool) -> Region:
    """The iterations of a loop in which most is decided. ``counts``: whether questions outside inner loops count too."""
    region = Region(var)
    region.inner = {id(s.var) for s in walk_statements(body) if isinstance(s, (For, Let))}
    _Search(region, body).narrow(body, _Place(counts, not has_loops(body, WRITTEN_OUT)))
    region.open = {
        key: term for key, term in region.open.items() if not any(id(e) in region.inner for e in walk(term))
    }
    return region


def assumptions(body: Stmt, of: Axis | None = None) -> Assumed:
    """What makes the body of a loop as it is in the middle; ``of``: of this loop, wherever in the body it is asked."""
    loops = [s.var for s in walk_statements(body) if isinstance(s, (For, Let))]
    assumed = Assumed(loops, of=of)
    _Search(assumed, body).narrow(body, _Place(of is not None, not has_loops(body, WRITTEN_OUT)))
    return assumed


def pieces_of(region: Region, extent: int) -> list[Piece]:
    """What a loop is divided into, in order: first and end of each piece, and which it is."""
    ranges = [(0, region.low, EDGE), (region.low, region.high, ""), (region.high, extent, EDGE)]
    return [(first, stop, part) for first, stop, part in ranges if first < stop]


class _Search:
    """One walk through the body of a loop, which narrows ``region`` to where most of what is asked there is decided."""

    def __init__(self, region: Region, body: Stmt) -> None:
        self.region, self.body = region, body

    @cached_property
    def work(self) -> int:
        """The nodes that one iteration of the loop comes to."""
        return _executed(self.body)

    def narrow(self, s: Stmt, place: _Place) -> None:
        """Decide what is asked in a statement; what is open there may narrow the region."""
        region = self.region
        match s:
            case Store() | Bind() | Microkernel():
                region.narrowing, region.repeated = place.counts, place.repeated
                for question in _asked_here(s):
                    region.decided(question)
            case For():
                if region.var is not None or s.part != "tail":  # at an edge nothing is as in the middle
                    self.narrow(s.body, place.inside(s))
            case Let():
                self.narrow(s.body, place)
            case Seq():
                for part in s.body:
                    self.narrow(part, place)
            case If():
                region.narrowing, region.repeated = self._matters(s, place), place.repeated
                cond = region.decided(s.cond)
                if not isinstance(cond, Const) or cond.value:
                    self.narrow(s.then, place)
                if s.otherwise is not None and not (isinstance(cond, Const) and cond.value):
                    self.narrow(s.otherwise, place)

    def _matters(self, s: If, place: _Place) -> bool:
        """Whether asking costs anything.

        It does not around a loop, or much code. Around a little that is written out in an innermost loop it does, unless
        that is little of what the loop does in all.
        """
        if not place.counts or has_loops(s, WRITTEN_OUT):
            return False
        little = place.innermost and code_size(s) <= LITTLE
        if not has_loops(s, () if little else LANES):
            return True
        return little and RARE * place.often * _executed(s) >= self.work


def has_loops(s: Stmt, but: tuple[str, ...]) -> bool:
    """Whether there are loops in a statement, not counting those of the kinds ``but``."""
    return any(isinstance(inner, For) and inner.kind not in but for inner in walk_statements(s))


def questions_in(s: Stmt) -> Iterator[Expr]:
    """What is asked in innermost loops."""
    for inner in walk_statements(s):
        if isinstance(inner, If) and not has_loops(inner, WRITTEN_OUT):
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


def code_size(s: Stmt) -> int:
    """How much code a statement is: the nodes of its expressions, as often as they are written out."""
    return _nodes(s, lambda loop: known(loop.extent) if loop.kind == "unroll" else 1)


def _executed(s: Stmt) -> int:
    """The nodes of expressions that a statement computes, each as often as it does."""
    return _nodes(s, _iterations)


def _nodes(s: Stmt, times: Callable[[For], int]) -> int:
    """The nodes of a statement's expressions, those in a loop as many ``times`` as that counts."""
    match s:
        case For():
            return _nodes(s.body, times) * times(s)
        case Let():
            return _nodes(s.body, times)
        case Seq():
            return sum(_nodes(inner, times) for inner in s.body)
        case If():
            return _nodes(s.then, times) + (0 if s.otherwise is None else _nodes(s.otherwise, times))
    return sum(1 for part in _parts(s) for _ in walk(part))


def _iterations(loop: For) -> int:
    return TYPICAL if isinstance(loop.extent, Expr) else loop.extent

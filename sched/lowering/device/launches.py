"""From bound loops to a program for one thread: loops become indices, and what threads have in common is checked.

A condition that depends on the thread must not keep it from taking part in a collective or from coming to a barrier: it is
moved inside, to the statements between these. A store that several threads would do is done by the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Axis, Binary, Expr, Load, Unary, walk
from loopwright.sched.lowering.affine import number, plus, times
from loopwright.sched.lowering.device.barriers import synchronized
from loopwright.sched.lowering.device.races import Access, Accesses
from loopwright.sched.lowering.device.warps import AXIS
from loopwright.sched.lowering.stmt import (
    Alloc,
    Bind,
    Buffer,
    Collective,
    For,
    If,
    Launch,
    Let,
    Seq,
    Stmt,
    Store,
    Variable,
    Warp,
    expressions,
    seq,
    walk_statements,
)
from loopwright.sched.scheduling.threads import ALL_THREADS, BLOCKS, BOUND, THREADS

GRID = (*BLOCKS, *THREADS)


def launched(launch: Launch, block: Mapping[str, int], where: str) -> Launch:
    """A kernel for one thread, with barriers; ``block``: how many threads each axis has at least.

    Errors:
        ScheduleError: threads would race, or a buffer is in a memory where it cannot be.
    """
    return _Threads(launch, block, where).launch()


@dataclass(frozen=True)
class _Place:
    """Where a statement stands: in which bound loops, under which conditions that are still to be asked, which axes are held
    at their first index, and in which collective."""

    bound: tuple[For, ...] = ()
    pending: tuple[Expr, ...] = ()
    held: frozenset[str] = frozenset()
    collective: Collective | None = None

    @property
    def axes(self) -> set[str]:
        """The axes whose indices tell iterations apart here."""
        return {
            axis for loop in self.bound for axis in (THREADS if loop.kind == ALL_THREADS else (loop.kind,))
        }


class _Threads:
    def __init__(self, launch: Launch, block: Mapping[str, int], where: str) -> None:
        self.stage = launch.stage
        self.body = launch.body
        self.where = where
        extents = dict(block)
        for s in walk_statements(launch.body):
            if isinstance(s, For) and s.kind in BOUND:
                assert isinstance(s.extent, int)
                extents[s.kind] = max(extents.get(s.kind, 1), s.extent)
        self.axes = {axis: Axis(axis, extents[axis]) for axis in GRID if extents.get(axis, 1) > 1}
        # The variables that differ between the threads of a block.
        self.varying: set[Axis] = {self.axes[axis] for axis in THREADS if axis in self.axes}
        # Those that differ between the threads of a warp, where the axis is as long as one.
        self.lanes: set[Axis] = {self.axes[AXIS]} if AXIS in self.axes else set()
        self.accesses = Accesses(where)
        self.shared: dict[Buffer, None] = {}

    def launch(self) -> Launch:
        body = self.place(self.body, _Place())
        self.accesses.check()
        return Launch(
            self.stage, synchronized(body, self.varies, self.accesses), self.axes, tuple(self.shared)
        )

    def varies(self, e: Expr) -> bool:
        """Whether a value may differ between the threads of a block."""
        return any(isinstance(part, (Load, Variable)) or part in self.varying for part in walk(e))

    # --- statements ---------------------------------------------------------------------------------------------

    def place(self, s: Stmt, at: _Place) -> Stmt:
        """A statement as one thread does it."""
        if isinstance(s, Alloc):
            return self.allocated(s, at)
        if at.pending and not _gathers(s):
            return If(_all(at.pending), self.place(s, replace(at, pending=())), None)
        held = self.first_only(s, at)
        if held:
            first = (Binary("eq", self.axes[axis], number(0), "bool") for axis in sorted(held))
            return If(_all(first), self.place(s, replace(at, held=at.held | held)), None)
        self.accesses.note(s, Access(at.bound, at.held, at.collective))
        match s:
            case For() if s.kind in BOUND or s.kind == ALL_THREADS:
                return self.index(s, at)
            case For():
                return replace(s, body=self.place(s.body, at))
            case Let():
                if self.varies(s.value):
                    self.varying.add(s.var)
                if any(part in self.lanes for part in walk(s.value)):
                    self.lanes.add(s.var)
                return replace(s, body=self.place(s.body, at))
            case Seq():
                return seq(*(self.place(part, at) for part in (_parts(s) if at.pending else s.body)))
            case If():
                return self.condition(s, at)
            case Collective():
                return self.together(s, at)
            case Warp():
                return replace(s, meaning=self.place(s.meaning, at))
        return s

    def allocated(self, s: Alloc, at: _Place) -> Stmt:
        """A buffer where it is made; shared ones are made once for the whole kernel."""
        self.accesses.made(s.buffer, Access(at.bound, at.held, at.collective))
        if s.buffer.scope != "shared":
            return s
        self.shared[s.buffer] = None
        return Seq(())

    def index(self, s: For, at: _Place) -> Stmt:
        """A bound loop as an index; where the axis is longer than the loop, the others wait."""
        assert isinstance(s.extent, int)
        value, count = self.linear() if s.kind == ALL_THREADS else self.of_axis(s.kind)
        if s.kind not in BLOCKS:
            self.varying.add(s.var)
        if s.kind in (AXIS, ALL_THREADS):
            self.lanes.add(s.var)
        inside = replace(at, bound=(*at.bound, s))
        if count == s.extent:
            return Let(s.var, value, self.place(s.body, inside))
        assert count > s.extent, f"{s.label} has {s.extent} iterations on {count} threads"
        within = Binary("lt", value, number(s.extent), "bool")
        if s.kind in BLOCKS:
            return Let(s.var, value, If(within, self.place(s.body, inside), None))
        return Let(s.var, value, self.place(s.body, replace(inside, pending=(*at.pending, within))))

    def of_axis(self, axis: str) -> tuple[Expr, int]:
        """The index of an axis, and how many there are."""
        var = self.axes[axis]
        assert isinstance(var.extent, int)
        return var, var.extent

    def linear(self) -> tuple[Expr, int]:
        """The number of a thread in its block, and how many there are."""
        value, count = number(0), 1
        place: Expr = value
        for axis in THREADS:
            if axis in self.axes:
                var, extent = self.of_axis(axis)
                place, count = plus(place, times(var, count)), count * extent
        return place, count

    def condition(self, s: If, at: _Place) -> Stmt:
        """A condition; one that the threads of a block answer differently does not keep them from what they do together."""
        self.check_whole_warps(s)
        if not _gathers(s) or not self.varies(s.cond):
            otherwise = None if s.otherwise is None else self.place(s.otherwise, at)
            return If(s.cond, self.place(s.then, at), otherwise, s.where)
        if any(isinstance(part, (Load, Variable)) for part in walk(s.cond)):
            raise ScheduleError(
                f"{self.where}: in {self.stage} what the threads of a block do together would depend on data that each has "
                f"of its own; compute what is shared outside the condition"
            )
        then = self.place(s.then, replace(at, pending=(*at.pending, s.cond)))
        if s.otherwise is None:
            return then
        against = (*at.pending, Unary("not", s.cond, "bool"))
        return seq(then, self.place(s.otherwise, replace(at, pending=against)))

    def check_whole_warps(self, s: If) -> None:
        """All threads of a warp come to what they do together, or none."""
        if any(part in self.lanes for part in walk(s.cond)) and any(
            isinstance(part, Warp) for part in walk_statements(s)
        ):
            raise ScheduleError(
                f"{self.where}: in {self.stage} some threads of a warp would be left out of what it computes together;\n"
                "compute the stage in shared memory, at a loop over blocks: its last part is moved inside"
            )

    def together(self, s: Collective, at: _Place) -> Stmt:
        """All threads of the block take part, whatever they are at: so it must not depend on that."""
        if not any(isinstance(part, Store) for part in walk_statements(s.body)):
            return Seq(())  # of a region without elements
        for e in (e for part in walk_statements(s.body) for e in expressions(part)):
            if any(axis in self.varying for axis in walk(e) if isinstance(axis, Axis)):
                raise ScheduleError(
                    f"{self.where}: {s.stage} is shared by the threads of a block, but what is computed of it depends on the "
                    f"thread;\nset_scope({s.stage!r}, 'local') lets each thread compute its own"
                )
        blocks = tuple(loop for loop in at.bound if loop.kind in BLOCKS)
        return replace(s, body=self.place(s.body, _Place(blocks, (), frozenset(), s)))

    # --- stores that several threads would do ---------------------------------------------------------------------

    def first_only(self, s: Stmt, at: _Place) -> frozenset[str]:
        """The axes of which only the first index does ``s``: those that do not tell the elements apart that it stores.

        That is asked of the largest statements of which it can be: which store only for all to see, and are one thread's.
        """
        inside = list(walk_statements(s))
        if any(
            isinstance(part, Collective) or (isinstance(part, For) and part.kind in GRID_LOOPS)
            for part in inside
        ):
            return frozenset()
        own = {part.buffer for part in inside if isinstance(part, Alloc)}
        stored = {part.buffer for part in inside if isinstance(part, Store)} - own
        scopes = {buffer.scope for buffer in stored}
        if not scopes or "local" in scopes or len(scopes) > 1:
            return frozenset()
        axes = THREADS if scopes == {"shared"} else GRID
        return frozenset(axis for axis in axes if axis in self.axes and axis not in at.axes | at.held)


GRID_LOOPS = (*BOUND, ALL_THREADS)


def _parts(s: Seq) -> Iterator[Stmt]:
    """The parts of a sequence; from where a value is bound on they are one, for it is used up to the end."""
    first = next((n for n, part in enumerate(s.body) if isinstance(part, Bind)), len(s.body))
    yield from s.body[:first]
    if first < len(s.body):
        bound = seq(*s.body[first:])
        assert not _gathers(bound), "what threads do together comes before the values of one"
        yield bound


def _gathers(s: Stmt) -> bool:
    """Whether the threads of a block do something together in it."""
    return any(isinstance(part, Collective) for part in walk_statements(s))


def _all(conditions: Iterable[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("and", a, b, "bool"), conditions)

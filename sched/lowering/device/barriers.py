"""Where the threads of a block must wait for each other: before shared elements are read that others store, or the reverse.

The threads of a block go through the same statements in step, but for conditions that they answer differently; barriers stand
outside these. So it is enough to look at the statements in order, and at a loop as at its body twice in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from loopwright.sched.language.expr import Expr, Load, walk
from loopwright.sched.lowering.device.races import Accesses
from loopwright.sched.lowering.stmt import (
    Barrier,
    Buffer,
    Collective,
    For,
    If,
    Let,
    Seq,
    Stmt,
    Store,
    Warp,
    expressions,
    seq,
    walk_statements,
)


@dataclass
class _Since:
    """The shared buffers that were stored to, and read, since the threads last were in step."""

    stored: set[Buffer] = field(default_factory=set)
    read: set[Buffer] = field(default_factory=set)

    def add(self, other: _Since) -> None:
        self.stored |= other.stored
        self.read |= other.read

    def clashes(self, next_: _Since) -> bool:
        """Whether what comes next must wait."""
        return bool(self.stored & (next_.stored | next_.read) or self.read & next_.stored)

    def copy(self) -> _Since:
        return _Since(set(self.stored), set(self.read))


def synchronized(s: Stmt, varies: Callable[[Expr], bool], accesses: Accesses) -> Stmt:
    """A kernel's body with barriers; ``varies``: whether threads of a block have different values for an expression."""
    return _Walk(varies, accesses).go(s, _Since())


class _Walk:
    def __init__(self, varies: Callable[[Expr], bool], accesses: Accesses) -> None:
        self.varies = varies
        self.accesses = accesses

    def go(self, s: Stmt, since: _Since) -> Stmt:
        """A statement with barriers before it and in it; ``since`` becomes what is open after it."""
        if not self.divided(s):
            return self.whole(s, since)
        match s:
            case Seq():
                return seq(*(self.go(part, since) for part in s.body))
            case Let() | Collective():
                inner = self.go(s.body, since)
                return replace(s, body=inner) if isinstance(s, Let) else inner
            case If():
                other = since.copy()
                then = self.go(s.then, since)
                otherwise = None if s.otherwise is None else self.go(s.otherwise, other)
                since.add(other)
                return replace(s, then=then, otherwise=otherwise)
            case For():
                # What an iteration leaves open meets the next one: once more, until nothing is added.
                while True:
                    before = since.copy()
                    body = self.go(s.body, since)
                    since.add(before)
                    if (since.stored, since.read) == (before.stored, before.read):
                        return replace(s, body=body)
        raise AssertionError(f"no barriers in {type(s).__name__}")

    def divided(self, s: Stmt) -> bool:
        """Whether a barrier may be needed in a statement, and can stand there."""
        if isinstance(s, Collective):
            return any(isinstance(part, Collective) for part in walk_statements(s.body))
        if isinstance(s, If) and self.varies(s.cond):
            return False
        if isinstance(s, (Store, Warp)) or (isinstance(s, For) and s.kind == "vectorize"):
            return False
        return any(isinstance(part, Store) and part.buffer.scope == "shared" for part in walk_statements(s))

    def whole(self, s: Stmt, since: _Since) -> Stmt:
        """A statement that the threads do each at its own pace."""
        mine = self.touched(s)
        clash = since.clashes(mine)
        if clash:
            since.stored.clear()
            since.read.clear()
        since.add(mine)
        inner = s.body if isinstance(s, Collective) else s
        return seq(Barrier(), inner) if clash else inner

    def touched(self, s: Stmt) -> _Since:
        """The shared buffers that a statement uses; those that it both fills and reads, each thread fills for itself."""
        stores: dict[Buffer, list[Stmt]] = {}
        loads: dict[Buffer, list[Stmt]] = {}
        for part in walk_statements(s):
            if isinstance(part, Store) and part.buffer.scope == "shared":
                stores.setdefault(part.buffer, []).append(part)
            for e in expressions(part):
                for load in walk(e):
                    if (
                        isinstance(load, Load)
                        and isinstance(load.tensor, Buffer)
                        and load.tensor.scope == "shared"
                    ):
                        loads.setdefault(load.tensor, []).append(part)
        for buffer in stores.keys() & loads.keys():
            pairs = ((store, load) for store in stores[buffer] for load in loads[buffer])
            if not all(self.accesses.own(store, load) for store, load in pairs):
                raise self.accesses.unordered(buffer)
        return _Since(set(stores), set(loads))

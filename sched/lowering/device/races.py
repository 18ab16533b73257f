"""What threads have in common, buffer by buffer: who stores what, who reads it, and whether it can be there by then.

A buffer of a thread's own is filled and read in the same iterations of the bound loops. A shared one is filled by all threads of
a block together, and barriers stand between that and the reading. Between blocks, and in global memory, nothing waits for
anything inside a kernel: there a thread may read only what it has stored itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Load, walk
from loopwright.sched.lowering.stmt import Buffer, Collective, For, Stmt, Store, expressions
from loopwright.sched.scheduling.threads import BLOCKS


@dataclass(frozen=True)
class Access:
    """Which threads come to a statement: one for each iteration of the ``bound`` loops, the first of the axes ``held``;
    inside a ``collective``, whatever loops stand around that."""

    bound: tuple[For, ...]
    held: frozenset[str]
    collective: Collective | None

    @property
    def blocks(self) -> tuple[For, ...]:
        """The loops that are bound to blocks."""
        return tuple(loop for loop in self.bound if loop.kind in BLOCKS)

    @property
    def threads(self) -> tuple[For, ...]:
        """The loops that are bound to threads."""
        return tuple(loop for loop in self.bound if loop.kind not in BLOCKS)

    def within(self, other: Access) -> bool:
        """Whether this is done by a thread in an iteration in which the same thread does ``other``."""
        mine = {id(loop) for loop in self.bound}
        return all(id(loop) in mine for loop in other.bound) and other.held <= self.held


@dataclass
class _Uses:
    stores: list[Access] = field(default_factory=list)
    loads: list[Access] = field(default_factory=list)


class Accesses:
    """All accesses to the buffers of one kernel."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.homes: dict[Buffer, Access] = {}
        self.uses: dict[Buffer, _Uses] = {}
        self.known: dict[int, Access] = {}

    def made(self, buffer: Buffer, at: Access) -> None:
        """A buffer is made."""
        self.homes[buffer] = at

    def note(self, s: Stmt, at: Access) -> None:
        """A statement is done, without those inside it."""
        self.known[id(s)] = at
        for e in expressions(s):
            for load in walk(e):
                if isinstance(load, Load):
                    assert isinstance(load.tensor, Buffer)
                    self.uses.setdefault(load.tensor, _Uses()).loads.append(at)
        if isinstance(s, Store):
            self.uses.setdefault(s.buffer, _Uses()).stores.append(at)

    def own(self, store: Stmt, load: Stmt) -> bool:
        """Whether what a statement reads has been stored by the same thread, where another stores it."""
        return self.known[id(load)].within(self.known[id(store)])

    def check(self) -> None:
        """Every buffer by the rules of its memory.

        Errors:
            ScheduleError: a thread would read what another stores, and nothing makes it wait.
        """
        for buffer, home in self.homes.items():
            self.check_memory(buffer, home)
        for buffer, uses in self.uses.items():
            if buffer in self.homes:
                rule = self.check_private if buffer.scope == "local" else self.check_shared
                rule(buffer, self.homes[buffer], uses)
            elif uses.stores:
                self.check_global(buffer, uses)

    def check_memory(self, buffer: Buffer, home: Access) -> None:
        """A kernel makes no buffers in global memory."""
        if buffer.scope == "global":
            wanted = "local" if home.threads else "shared"
            raise ScheduleError(
                f"{self.where}: {buffer.stage} is computed inside a kernel, and so is not in global memory;\n"
                f"set_scope({buffer.stage!r}, {wanted!r}) keeps it {'in the thread' if home.threads else 'in the block'}"
            )

    def check_private(self, buffer: Buffer, home: Access, uses: _Uses) -> None:
        """A thread fills its own buffers itself, all of them that it reads."""
        for store in uses.stores:
            if not home.within(store):
                raise ScheduleError(
                    f"{self.where}: {buffer.stage} is local, each thread has its own, but is filled by several threads, a part "
                    f"each;\nset_scope({buffer.stage!r}, 'shared') makes it one for all of a block"
                )
        for load in uses.loads:
            if load.collective is not home.collective and home.threads:
                raise ScheduleError(
                    f"{self.where}: {buffer.stage} is local, each thread has its own, and is read for a buffer that all of a "
                    f"block share;\nset_scope({buffer.stage!r}, 'shared') makes it one for all"
                )

    def check_shared(self, buffer: Buffer, home: Access, uses: _Uses) -> None:
        """A block fills its shared buffers itself, and all of its threads have part in that."""
        for store in uses.stores:
            if [id(loop) for loop in store.blocks] != [id(loop) for loop in home.blocks]:
                raise ScheduleError(
                    f"{self.where}: {buffer.stage} is shared by the threads of a block, but is filled by several blocks;\n"
                    f"compute it inside the loops that are bound to blocks, or at root"
                )
            if store.collective is None and home.threads:
                around = home.threads[-1]
                raise ScheduleError(
                    f"{self.where}: {buffer.stage} is shared by the threads of a block, but has a buffer in each iteration of "
                    f"{around.label}, which is bound to {around.kind};\nset_scope({buffer.stage!r}, 'local') makes it the "
                    "thread's own, or what reads it is computed outside that loop"
                )

    def check_global(self, buffer: Buffer, uses: _Uses) -> None:
        """Of what a kernel stores in global memory, a thread may read only its own."""
        first = uses.stores[0]
        for other in (*uses.stores[1:], *uses.loads):
            if not other.within(first):
                raise self.unordered(buffer)

    def unordered(self, buffer: Buffer) -> ScheduleError:
        """The error where one thread would use what another stores."""
        return ScheduleError(
            f"{self.where}: in one kernel {buffer.stage} is stored by some threads and used by others, which do not wait for "
            f"them;\ncompute what reads it at root, or cache_write({buffer.stage!r}, 'shared')"
        )

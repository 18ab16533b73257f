"""The nodes of reductions: over single values, over tuples, and several that share their loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loopwright.sched.language.nodes import Axis, Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Reduce(Expr):
    """``op`` over all ``values`` of ``axes``; ``dtypes`` are the accumulators'.

    Most reductions have one value. One over tuples is no expression by itself: each use of it is an :class:`Item`.

    Attributes:
        name: the user's, for a stage of its own.
        reducer: what the user's own reduction does (``op`` is ``"custom"``), or which ones run together (``"joint"``).
    """

    op: str
    values: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    dtypes: tuple[str, ...]
    name: str | None = None
    reducer: Reducer | Joint | None = None

    @property
    def value(self) -> Expr:
        """The value, or the first of a tuple."""
        return self.values[0]

    @property
    def dtype(self) -> str:
        """The accumulator's element type, or that of the first of a tuple."""
        return self.dtypes[0]

    @property
    def members(self) -> tuple[Reduce, ...]:
        """The reductions that run together, each with its own values; itself, if it is alone."""
        if not isinstance(self.reducer, Joint):
            return (self,)
        found: list[Reduce] = []
        first = 0
        for op, count, reducer in self.reducer.members:
            mine = slice(first, first + count)
            found.append(Reduce(op, self.values[mine], self.axes, self.dtypes[mine], None, reducer))
            first += count
        return tuple(found)

    @property
    def reducers(self) -> tuple[Reducer, ...]:
        """The reducers of the user's own in it."""
        return tuple(m.reducer for m in self.members if isinstance(m.reducer, Reducer))

    @property
    def label(self) -> str:
        """What the reduction is called in texts: its op, or the name of the user's reducer."""
        return self.reducer.name if isinstance(self.reducer, Reducer) else self.op


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Item(Expr):
    """Component ``part`` of what a reduction over tuples comes to; in a stage's body a :class:`Result` stands instead."""

    reduce: Reduce
    part: int

    @property
    def dtype(self) -> str:
        """The component's element type."""
        return self.reduce.dtypes[self.part]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Result(Expr):
    """Inside a stage's body: the value (component ``part`` of it) that its reduction has reached when it ends."""

    dtype: str
    part: int = 0


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Operand(Expr):
    """Inside a reducer's formula: component ``part`` of its operand ``a`` (what was reached) or ``b`` (what is new)."""

    side: Literal["a", "b"]
    part: int
    dtype: str


@dataclass(frozen=True, eq=False)
class Reducer:
    """A reduction of the user's own, for the dtypes it was applied to.

    Attributes:
        name: what it is called.
        results: each component of the combination of two tuples, in terms of :class:`Operand`.
        identities: the tuple that changes nothing.
        commutative: whether terms may be taken in any order; otherwise only in the order written.
    """

    name: str
    results: tuple[Expr, ...]
    identities: tuple[Expr, ...]
    commutative: bool = True


@dataclass(frozen=True, eq=False)
class Joint:
    """Several reductions over the same axes that run in one loop nest: the op, number of values and reducer of each."""

    members: tuple[tuple[str, int, Reducer | None], ...]

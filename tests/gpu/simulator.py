"""Runs kernels in Python, thread by thread, and watches what the threads have in common.

A device may hide a race: it runs threads in an order that happens to be right. Here the threads of a block go on in turn from
one barrier to the next, and every access to a shared or global element is noted: two threads that meet at one, of which
one stores, is an error, as is an element that is read before anything was stored there, an index outside its buffer,
a barrier that not all threads come to, and an output that is not stored, or by two threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from loopwright.sched.language.expr import Axis, Binary, Call, Cast, Const, Expr, Load, Select, Unary
from loopwright.sched.lowering import stmt
from loopwright.sched.scheduling.threads import BLOCKS, THREADS
from tests.sched.formulas import PLAIN

Array = np.ndarray[Any, Any]
BARRIER = object()
OPERATIONS = {
    **PLAIN,
    "floordiv": lambda a, b: a // b,
    "div": lambda a, b: a / b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
}


class Race(AssertionError):
    """Two threads met at an element, or one read what is not there."""


def simulate(program: stmt.Program, arrays: list[Array]) -> tuple[Array, ...]:
    """The outputs of a program for a GPU."""
    memory = {b: _Memory(b, a.reshape(-1)) for b, a in zip(program.inputs, arrays, strict=True)}
    for launch in stmt.launches_of(program):
        axes = launch.axes
        for block in _indices(axes, BLOCKS):
            _Block(launch, memory, block).run()
        for held in memory.values():
            held.settled()
    outputs = [memory.get(b) or _Memory(b) for b in program.outputs]
    for held in outputs:
        if not held.stored.all():
            raise Race(f"{held.buffer.name}: {int((~held.stored).sum())} elements are never stored")
    return tuple(held.values.reshape(held.buffer.dims) for held in outputs)


def _indices(axes: dict[str, Axis], names: tuple[str, ...]) -> Iterator[dict[Axis, int]]:
    mine = [axes[name] for name in names if name in axes]
    for point in itertools.product(*(range(int(axis.extent)) for axis in mine)):  # type: ignore[arg-type]
        yield dict(zip(mine, point, strict=True))


class _Memory:
    """A buffer in which every element knows which thread stored it, and who has read it since the threads were in step."""

    def __init__(self, buffer: stmt.Buffer, values: Array | None = None) -> None:
        self.buffer = buffer
        count = int(buffer.elements)  # type: ignore[arg-type]
        self.values = np.zeros(count, buffer.dtype) if values is None else values
        self.stored = np.full(count, values is not None)
        self.writers: dict[int, Any] = {}
        self.readers: dict[int, set[Any]] = {}

    def settled(self) -> None:
        """The threads are in step: what was stored is there for all."""
        self.writers.clear()
        self.readers.clear()

    def place(self, indices: list[int]) -> int:
        """The place of an element."""
        for index, size in zip(indices, self.buffer.dims, strict=True):
            if not 0 <= index < size:  # type: ignore[operator]
                raise Race(f"{self.buffer.name}{indices} is outside {self.buffer.dims}")
        return sum(i * int(s) for i, s in zip(indices, self.buffer.steps, strict=True))  # type: ignore[arg-type]

    def read(self, indices: list[int], thread: Any) -> Any:
        """An element."""
        place = self.place(indices)
        if not self.stored[place]:
            raise Race(f"{self.buffer.name}{indices} is read, and nothing was stored there")
        if self.writers.get(place, thread) != thread:
            raise Race(f"{self.buffer.name}{indices} is read by {thread} and stored by {self.writers[place]}")
        self.readers.setdefault(place, set()).add(thread)
        return self.values[place]

    def store(self, indices: list[int], value: Any, thread: Any) -> None:
        """Store an element."""
        place = self.place(indices)
        others = self.readers.get(place, set()) - {thread}
        if others or self.writers.get(place, thread) != thread:
            raise Race(
                f"{self.buffer.name}{indices} is stored by {thread}, others: {others or self.writers[place]}"
            )
        self.writers[place] = thread
        self.values[place] = value
        self.stored[place] = True


class _Block:
    """The threads of one block."""

    def __init__(
        self, launch: stmt.Launch, memory: dict[stmt.Buffer, _Memory], block: dict[Axis, int]
    ) -> None:
        self.launch, self.memory, self.block = launch, memory, block
        self.shared = {buffer: _Memory(buffer) for buffer in launch.shared}

    def run(self) -> None:
        """All of them to the end, from barrier to barrier."""
        points = list(_indices(self.launch.axes, THREADS))  # type: ignore[arg-type]
        running = [_Thread(self, {**self.block, **point}).steps(self.launch.body) for point in points]
        while running:
            came = [next(thread, None) for thread in running]
            if any(came) and not all(came):
                raise Race(f"{self.launch.stage}: a barrier that not all threads come to")
            for held in self.shared.values():
                held.settled()
            if not any(came):
                return


class _Thread:
    def __init__(self, block: _Block, values: dict[Axis, int]) -> None:
        self.block, self.values = block, values
        self.name = tuple(values.values())
        self.own: dict[stmt.Buffer, _Memory] = {}
        self.held: dict[int, Any] = {}

    def steps(self, s: stmt.Stmt) -> Iterator[object]:
        """Run a statement; a step for each barrier."""
        match s:
            case stmt.Barrier():
                yield BARRIER
            case stmt.Seq():
                for part in s.body:
                    yield from self.steps(part)
            case stmt.For():
                for value in range(int(s.extent)):  # type: ignore[arg-type]
                    self.values[s.var] = value
                    yield from self.steps(s.body)
            case stmt.Let():
                self.values[s.var] = int(self.value(s.value))
                yield from self.steps(s.body)
            case stmt.If():
                if self.value(s.cond):
                    yield from self.steps(s.then)
                elif s.otherwise is not None:
                    yield from self.steps(s.otherwise)
            case stmt.Alloc():
                self.own[s.buffer] = _Memory(s.buffer)
            case stmt.Bind():
                self.held[id(s.var)] = self.value(s.value)
            case stmt.Warp():
                yield from self.steps(s.meaning)
            case stmt.Store():
                indices = [int(self.value(index)) for index in s.indices]
                self.memory(s.buffer).store(indices, self.value(s.value), self.name)
            case _:
                raise AssertionError(f"no way to run {type(s).__name__}")

    def memory(self, buffer: stmt.Buffer) -> _Memory:
        """Where a buffer is."""
        for place in (self.own, self.block.shared):
            if buffer in place:
                return place[buffer]
        return self.block.memory.setdefault(buffer, _Memory(buffer))

    def value(self, e: Expr) -> Any:
        """The value of an expression, by NumPy scalars."""
        kind = np.dtype(e.dtype).type
        match e:
            case Const():
                return kind(e.value)
            case Axis():
                return kind(self.values[e])
            case stmt.Variable():
                return self.held[id(e)]
            case Load():
                assert isinstance(e.tensor, stmt.Buffer)
                return self.memory(e.tensor).read([int(self.value(i)) for i in e.indices], self.name)
            case Binary(op="and" | "or"):
                first = self.value(e.a)
                return first if bool(first) == (e.op == "or") else self.value(e.b)
            case Binary():
                with np.errstate(over="ignore"):
                    return kind(OPERATIONS[e.op](self.value(e.a), self.value(e.b)))
            case Unary(op="neg"):
                return kind(-self.value(e.a))
            case Unary(op="not"):
                return not self.value(e.a)
            case Cast():
                return np.asarray(self.value(e.value)).astype(kind)[()]
            case Select():
                return self.value(e.a if self.value(e.cond) else e.b)
            case Call():
                return kind(getattr(np, {"abs": "abs"}.get(str(e.fn), str(e.fn)))(*map(self.value, e.args)))
        raise AssertionError(f"no plain way to evaluate {type(e).__name__}")

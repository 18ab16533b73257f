"""The loops of a reduction: set up the accumulators, accumulate, finish.

The three stand where the outermost reduction loop is. The spatial loops inside it are opened three times: once to give every
accumulator its identity, once around the reduction loops, once to compute the stage's body from the results. If the
accumulators form a small tile, or the body is more than the plain result, they live in a buffer of their own, which LLVM
keeps in registers once the loops over it are unrolled and vectorized.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Load, Result
from loopwright.sched.lowering.affine import minus, number, times
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.registers import register_cut
from loopwright.sched.lowering.stmt import Alloc, Buffer, For, If, Stmt, Store, seq
from loopwright.sched.scheduling.nest import Loop

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder

# A tile of accumulators up to this many bytes is held apart from the stage's buffer: no register file is larger.
REGISTER_BYTES = 4096

COMBINE = {"sum": "add", "prod": "mul", "min": "min", "max": "max", "any": "or", "all": "and"}


def identity(op: str, dtype: str) -> Const:
    """The value that an empty reduction has."""
    low, high = dtypes.limits(dtype)
    number: int | float = {"sum": 0, "prod": 1, "min": high, "max": low, "any": 0, "all": 1}[op]
    return Const(
        bool(number) if dtype == "bool" else float(number) if dtypes.is_float(dtype) else int(number), dtype
    )


@dataclass(frozen=True)
class Tile:
    """Accumulators: a buffer whose dimensions follow loops."""

    buffer: Buffer
    loops: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """The size of the buffer."""
        return self.buffer.elements * dtypes.itemsize(self.buffer.dtype)

    def element(self, frame: Frame) -> Load:
        """The accumulator of the iteration the frame is in."""
        indices = tuple(
            minus(frame.values[name], frame.pieces[name][0]) if name in frame.pieces else frame.values[name]
            for name in self.loops
        ) or (number(0),)
        return Load(self.buffer, indices, self.buffer.dtype)


class Reduction:
    """Builds the statements of one reduction, from loop ``position`` of its nest on."""

    def __init__(self, builder: Builder, frame: Frame, position: int, limits: list[tuple[Axis, int]]) -> None:
        self.builder = builder
        self.frame = frame
        self.loops = frame.nest.loops
        self.position = position
        self.limits = limits
        reduce = frame.definition.stage.reduce
        assert reduce is not None
        self.reduce = reduce
        self.inner = [loop for loop in self.loops[position:] if not loop.reduce]

    def statement(self) -> Stmt:
        """Set up, accumulate, finish."""
        plain = isinstance(self.frame.definition.body, Result)
        tile = self._tile(self.inner, self.frame)
        padded = self.frame.definition.run != self.frame.definition.stage.shape
        small = tile.bytes <= REGISTER_BYTES
        if plain and not small and not padded and not self.limits:
            return self._in_place()
        cut = self._register_cut()
        if cut:
            return self._in_pieces(self.frame, cut)
        return self._whole(self.frame, tile)

    def _whole(self, frame: Frame, tile: Tile) -> Stmt:
        start = self._spatial(
            frame.in_phase("init"), self.inner, lambda f: self._put(tile, f, self._identity())
        )
        update = self._update(self.position, frame, tile)
        return seq(Alloc(tile.buffer), start, update, self._finish(frame, tile))

    def _register_cut(self) -> dict[str, int]:
        """For loops of the accumulators' tile: how many iterations a piece of it has, if it is too large for the registers."""
        frame = self.frame
        closed = frame.closed(tuple(self.inner))
        if (
            not closed
            or closed[-1].kind != "vectorize"
            or any(loop.kind not in ("unroll", "vectorize") for loop in closed)
        ):
            return {}
        sizes = [frame.extent(loop.name) for loop in closed]
        native = self.builder.vector_bytes // dtypes.itemsize(self.reduce.dtype)
        inner_rows = sizes[-2] if len(sizes) > 1 else 1
        rows, lanes = register_cut(
            inner_rows, sizes[-1], native, self.builder.registers // max(1, prod(sizes[:-2]))
        )
        cut = {closed[-1].name: lanes} | ({closed[-2].name: rows} if len(sizes) > 1 else {})
        # A loop that becomes shorter in a tail still to be peeled has fewer pieces there: it stays whole.
        shorter = {leaf for s in frame.splits if frame.partitions(s) for leaf in frame.leaves(s.inner)}
        return {
            loop.name: cut[loop.name]
            for loop, size in zip(closed, sizes, strict=True)
            if cut.get(loop.name, size) < size and loop.name not in shorter
        }

    def _in_pieces(self, frame: Frame, cut: dict[str, int]) -> Stmt:
        """The whole reduction for one piece of the tile after the other."""
        if not cut:
            return self._whole(frame, self._tile(self.inner, frame))
        (name, size), *rest = cut.items()
        var = Axis(f"{name}.p", frame.extent(name) // size)
        part = frame.piece(name, times(var, size), size)
        return For(var, var.extent, "serial", self._in_pieces(part, dict(rest)), f"{frame.nest.name}.{name}")

    def _identity(self) -> Expr:
        return identity(self.reduce.op, self.reduce.dtype)

    def _finish(self, frame: Frame, tile: Tile) -> Stmt:
        """The stage's body on every result."""
        frame = frame.in_phase("post")

        def leaf(f: Frame) -> Stmt:
            value = self.builder.value(f.definition.body, f, tile.element(f))
            return self.builder.limited(f, self.limits, self.builder.store(f, value, "value"))

        finish = self.builder.partitioned(frame, lambda f: self._spatial(f, self.inner, leaf))
        for condition in frame.late_guards():
            finish = If(condition, finish, None)
        return finish

    def _in_place(self) -> Stmt:
        """A large tile of plain results: the stage's own buffer accumulates."""
        builder = self.builder
        start = self._spatial(
            self.frame.in_phase("init"), self.inner, lambda f: builder.store(f, self._identity(), "init")
        )
        return seq(start, self._update(self.position, self.frame, None))

    # --- the loops that accumulate ------------------------------------------------------------------------------

    def _update(self, position: int, frame: Frame, tile: Tile | None, held: bool = False) -> Stmt:
        """The loops from ``position`` on; where what is left of the spatial ones is a register tile, it is held apart."""
        if position == len(self.loops):
            return self._accumulate(frame, tile)
        if not held and self._promotes(position, frame, tile):
            return self._promoted(position, frame, tile)
        loop = self.loops[position]

        def body(f: Frame) -> Stmt:
            return self.builder.attached(f, loop, lambda g: self._update(position + 1, g, tile, held))

        return self.builder.open(frame, loop, body)

    def _accumulate(self, frame: Frame, tile: Tile | None) -> Stmt:
        value = self.builder.value(self._term(), frame)
        if tile is None:
            store = self.builder.store(frame, value, "update")
            old: Expr = Load(store.buffer, store.indices, store.buffer.dtype)
            return Store(store.buffer, store.indices, self._combine(old, value), frame.nest.name, "update")
        return self._put(tile, frame, self._combine(tile.element(frame), value), "update")

    def _term(self) -> Expr:
        value = self.frame.definition.value
        assert value is not None
        return value

    def _combine(self, old: Expr, value: Expr) -> Expr:
        return Binary(COMBINE[self.reduce.op], old, value, self.reduce.dtype)

    def _promotes(self, position: int, frame: Frame, tile: Tile | None) -> bool:
        """Whether the accumulators of the loops from here on fit the registers, though those of all loops did not.

        Only where a reduction loop is next: then they are read and written once around it.
        """
        loops = self.loops[position:]
        if not loops[0].reduce or position == self.position or frame.extent(loops[0].name) <= 1:
            return False
        spatial = frame.closed(tuple(loop for loop in loops if not loop.reduce))
        if tile is not None and len(spatial) == len(frame.closed(tuple(self.inner))):
            return False
        return all(loop.kind in ("unroll", "vectorize") for loop in spatial) and (
            self._tile(spatial, frame).bytes <= REGISTER_BYTES
        )

    def _promoted(self, position: int, frame: Frame, outer: Tile | None) -> Stmt:
        inner = [loop for loop in self.loops[position:] if not loop.reduce]
        tile = self._tile(inner, frame, "part")

        def read(f: Frame) -> Stmt:
            return self._put(tile, f, self._kept(f, outer))

        def write(f: Frame) -> Stmt:
            if outer is not None:
                return self._put(outer, f, tile.element(f), "update")
            return self.builder.store(f, tile.element(f), "update")

        start = self._spatial(frame.in_phase("init"), inner, read)
        finish = self._spatial(frame.in_phase("init"), inner, write)
        return seq(Alloc(tile.buffer), start, self._update(position, frame, tile, held=True), finish)

    def _kept(self, frame: Frame, outer: Tile | None) -> Expr:
        if outer is not None:
            return outer.element(frame)
        point = tuple(frame.axis_value(axis) for axis in frame.definition.axes)
        return self.builder.storage[frame.nest.name].element(point)

    # --- the accumulators ---------------------------------------------------------------------------------------

    def _tile(self, loops: list[Loop], frame: Frame, suffix: str = "acc") -> Tile:
        """A buffer with an element for every iteration of ``loops``."""
        closed = frame.closed(tuple(loops))
        dims = tuple(
            frame.pieces[x.name][1] if x.name in frame.pieces else frame.extent(x.name) for x in closed
        ) or (1,)
        stage = frame.nest.name
        return Tile(
            Buffer(f"{stage}_{suffix}", dims, self.reduce.dtype, "local", stage),
            tuple(loop.name for loop in closed),
        )

    def _put(self, tile: Tile, frame: Frame, value: Expr, role: str = "init") -> Store:
        return Store(tile.buffer, tile.element(frame).indices, value, frame.nest.name, role)

    def _spatial(self, frame: Frame, loops: list[Loop], leaf: Callable[[Frame], Stmt]) -> Stmt:
        """Open spatial loops, nothing placed inside them, around ``leaf``."""
        if not loops:
            return leaf(frame)
        return self.builder.open(frame, loops[0], lambda f: self._spatial(f, loops[1:], leaf))

"""The loops of a reduction: set up the accumulators, accumulate, finish.

The three stand where the outermost reduction loop is. The spatial loops inside it are opened three times: once to give every
accumulator its identity, once around the reduction loops, once to compute the stage's body from the results. If the
accumulators form a small tile, or the body is more than the plain result, they live in a buffer of their own, which LLVM
keeps in registers once the loops over it are unrolled and vectorized.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Expr, Extent, Load, Result
from loopwright.sched.language.extents import capacity, floor_divided, same, same_shape
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.lowering.affine import minus, number, times
from loopwright.sched.lowering.combine import combine, identities
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.registers import register_cut
from loopwright.sched.lowering.stmt import Alloc, Bind, Buffer, For, If, Stmt, Store, Variable, seq
from loopwright.sched.lowering.storage import MOST_ROOM
from loopwright.sched.lowering.tensorizing import begun, holds_sums, starts, tensorized
from loopwright.sched.scheduling.nest import Loop

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder

# A tile of accumulators up to this many bytes is held apart from the stage's buffer: no register file is larger.
REGISTER_BYTES = 4096


@dataclass(frozen=True)
class Tile:
    """Accumulators: a buffer for each component of the reduction, whose dimensions follow loops.

    ``first`` has where the pieces of loops that it holds start.
    """

    buffers: tuple[Buffer, ...]
    loops: tuple[str, ...]
    first: dict[str, Expr]

    @property
    def small(self) -> bool:
        """Whether the buffers can be held apart from the stage's."""
        sizes = [(buffer.elements, dtypes.itemsize(buffer.dtype)) for buffer in self.buffers]
        return sum(n * bytes for n, bytes in sizes if not isinstance(n, Expr)) <= REGISTER_BYTES and not any(
            isinstance(n, Expr) for n, _ in sizes
        )

    @property
    def allocated(self) -> Stmt:
        """The statements that make the buffers."""
        return seq(*(Alloc(buffer) for buffer in self.buffers))

    def elements(self, frame: Frame) -> tuple[Load, ...]:
        """The accumulators of the iteration the frame is in."""
        indices = tuple(
            minus(frame.values[name], self.first[name]) if name in self.first else frame.values[name]
            for name in self.loops
        ) or (number(0),)
        return tuple(Load(buffer, indices, buffer.dtype) for buffer in self.buffers)


class Reduction:
    """Builds the statements of one reduction, from loop ``position`` of its nest on."""

    def __init__(
        self, builder: Builder, frame: Frame, position: int, limits: Sequence[tuple[Axis, Extent]]
    ) -> None:
        self.builder = builder
        self.frame = frame
        self.loops = frame.nest.loops
        self.position = position
        self.limits = limits
        reduce = frame.definition.stage.reduce
        assert reduce is not None
        self.reduce = reduce
        self.inner = [loop for loop in self.loops[position:] if not loop.reduce]
        self.started = frame.nest.name in builder.started
        if self.started:
            # What was stored at the start is accumulated on: the result is already combined with it.
            plain = replace(frame.definition, bodies=(Result(reduce.dtype),))
            self.frame = replace(frame, definition=plain)

    def statement(self) -> Stmt:
        """Set up, accumulate, finish."""
        tile = self._tile(self.inner, self.frame)
        padded = not same_shape(self.frame.definition.run, self.frame.definition.stage.shape)
        apart = tile.small and not holds_sums(self.frame.nest)
        if self._plain() and not apart and not padded and not self.limits:
            return self._in_place()
        cut = self._register_cut()
        if cut:
            return self._in_pieces(self.frame, cut)
        return self._whole(self.frame, tile)

    def _plain(self) -> bool:
        """Whether the stage stores just what its reduction comes to, all of it."""
        bodies, buffers = self.frame.definition.bodies, self.builder.storage[self.frame.nest.name].buffers
        parts = [body.part for body in bodies if isinstance(body, Result)]
        return parts == list(range(len(self.reduce.values))) == list(range(len(bodies))) and all(
            b is not None for b in buffers
        )

    def _whole(self, frame: Frame, tile: Tile) -> Stmt:
        start = self._spatial(
            frame.in_phase("init"), self.inner, lambda f: self._put(f, tile.elements(f), self._start(f))
        )
        update = self._update(self.position, frame, tile)
        sums = seq(start, update) if self.started else begun(start, update)
        return seq(tile.allocated, sums, self._finish(frame, tile))

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
        counts = [frame.extent(loop.name) for loop in closed]
        sizes = [count for count in counts if not isinstance(count, Expr)]
        if len(sizes) < len(counts):  # a tail of unknown length is small
            return {}
        native = self.builder.vector_bytes // max(map(dtypes.itemsize, self.reduce.dtypes))
        inner_rows = sizes[-2] if len(sizes) > 1 else 1
        copies = max(1, prod(sizes[:-2])) * len(self.reduce.dtypes)
        rows, lanes = register_cut(inner_rows, sizes[-1], native, self.builder.registers // copies)
        cut = {closed[-1].name: lanes} | ({closed[-2].name: rows} if len(sizes) > 1 else {})
        # A loop that becomes shorter in a tail still to be peeled has fewer pieces there: it stays whole.
        shorter = _shorter(frame)
        # So does a vector that is padded: its stores would ask at every lane. (Rows of a padded tile ask once for each.)
        post, lanes_of = frame.in_phase("post"), closed[-1].name
        if lanes_of in _shorter(post) or not same(post.extent(lanes_of), frame.extent(lanes_of)):
            shorter.add(lanes_of)
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
        var = Axis(f"{name}.p", floor_divided(frame.extent(name), size))
        part = frame.piece(name, times(var, size), size)
        return For(var, var.extent, "serial", self._in_pieces(part, dict(rest)), f"{frame.nest.name}.{name}")

    def _start(self, frame: Frame) -> Sequence[Expr]:
        """What the accumulators start at."""
        return self._elements(frame, None) if self.started else identities(self.reduce)

    def _finish(self, frame: Frame, tile: Tile) -> Stmt:
        """The stage's body on every result."""
        frame = frame.in_phase("post")

        def leaf(f: Frame) -> Stmt:
            return self.builder.finished(f, self.limits, tile.elements(f))

        finish = self.builder.partitioned(frame, lambda f: self._spatial(f, self.inner, leaf))
        for condition in frame.late_guards():
            finish = If(condition, finish, None)
        return finish

    def _in_place(self) -> Stmt:
        """A large tile of plain results: the stage's own buffer accumulates."""
        update = self._update(self.position, self.frame, None)
        if self.started:
            return update
        start = self._spatial(
            self.frame.in_phase("init"),
            self.inner,
            lambda f: self._put(f, self._elements(f, None), self._start(f)),
        )
        return begun(start, update)

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

        def ordinary() -> Stmt:
            return self.builder.open(frame, loop, body)

        if not starts(frame, loop):
            return ordinary()
        return tensorized(
            self.builder,
            frame,
            self.loops[position:],
            frame.definition.values,
            lambda f: self._elements(f, tile),
            ordinary,
        )

    def _accumulate(self, frame: Frame, tile: Tile | None) -> Stmt:
        terms = [self.builder.value(value, frame) for value in self.frame.definition.values]
        places = self._elements(frame, tile)
        if len(terms) == 1:
            return self._put(frame, places, combine(self.reduce, places, tuple(terms)), "update")
        # A component is combined from all of the old ones: they are read before any of them is stored.
        old = tuple(Variable(f"old{n}", place.dtype) for n, place in enumerate(places))
        new = tuple(Variable(f"new{n}", term.dtype) for n, term in enumerate(terms))
        binds = [Bind(var, value) for var, value in zip((*old, *new), (*places, *terms), strict=True)]
        return seq(*binds, self._put(frame, places, combine(self.reduce, old, new), "update"))

    def _promotes(self, position: int, frame: Frame, tile: Tile | None) -> bool:
        """Whether the accumulators of the loops from here on fit the registers, though those of all loops did not.

        Only where a reduction loop is next: then they are read and written once around it.
        """
        loops = self.loops[position:]
        if not loops[0].reduce or position == self.position or at_most(frame.extent(loops[0].name), 1):
            return False
        spatial = frame.closed(tuple(loop for loop in loops if not loop.reduce))
        if tile is not None and len(spatial) == len(frame.closed(tuple(self.inner))):
            return False
        return all(loop.kind in ("unroll", "vectorize", "tensorize") for loop in spatial) and (
            self._tile(spatial, frame).small
        )

    def _promoted(self, position: int, frame: Frame, outer: Tile | None) -> Stmt:
        inner = [loop for loop in self.loops[position:] if not loop.reduce]
        tile = self._tile(inner, frame, "part")

        def read(f: Frame) -> Stmt:
            return self._put(f, tile.elements(f), self._elements(f, outer))

        def write(f: Frame) -> Stmt:
            return self._put(f, self._elements(f, outer), tile.elements(f), "update")

        start = self._spatial(frame.in_phase("init"), inner, read)
        finish = self._spatial(frame.in_phase("init"), inner, write)
        return seq(tile.allocated, start, self._update(position, frame, tile, held=True), finish)

    # --- the accumulators ---------------------------------------------------------------------------------------

    def _tile(self, loops: list[Loop], frame: Frame, suffix: str = "acc") -> Tile:
        """A buffer with an element for every iteration of ``loops``."""
        closed = frame.closed(tuple(loops))
        dims = tuple(capacity(frame.count(loop.name), MOST_ROOM) for loop in closed) or (1,)
        stage, kinds = frame.nest.name, self.reduce.dtypes
        names = [f"{stage}_{suffix}{n}" if len(kinds) > 1 else f"{stage}_{suffix}" for n in range(len(kinds))]
        return Tile(
            tuple(Buffer(n, dims, kind, "local", stage) for n, kind in zip(names, kinds, strict=True)),
            tuple(loop.name for loop in closed),
            {loop.name: frame.pieces[loop.name][0] for loop in closed if loop.name in frame.pieces},
        )

    def _elements(self, frame: Frame, tile: Tile | None) -> tuple[Load, ...]:
        """The accumulators of the iteration the frame is in: in a tile, or in the stage's own buffers."""
        if tile is not None:
            return tile.elements(frame)
        return tuple(self.builder.element(frame, part) for part in range(len(self.reduce.values)))

    @staticmethod
    def _put(frame: Frame, places: Sequence[Load], values: Sequence[Expr], role: str = "init") -> Stmt:
        """Store a value in each place."""
        stores = []
        for place, value in zip(places, values, strict=True):
            assert isinstance(place.tensor, Buffer)
            stores.append(Store(place.tensor, place.indices, value, frame.nest.name, role))
        return seq(*stores)

    def _spatial(self, frame: Frame, loops: list[Loop], leaf: Callable[[Frame], Stmt]) -> Stmt:
        """Open spatial loops, nothing placed inside them, around ``leaf``."""
        if not loops:
            return leaf(frame)
        return self.builder.open(frame, loops[0], lambda f: self._spatial(f, loops[1:], leaf))


def _shorter(frame: Frame) -> set[str]:
    """The loops that have fewer iterations in a tail that is still to be divided off."""
    return {leaf for s in frame.splits if frame.partitions(s) for leaf in frame.leaves(s.inner)}

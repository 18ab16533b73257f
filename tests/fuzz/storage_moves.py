"""Directives on storage, on reductions, and on what is done ahead of time, drawn where they ought to be legal."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.sched.language.expr import INDEXERS
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import StageNest
from loopwright.sched.scheduling.placement import direct_reads
from tests.fuzz.moves import Call, LoopMoves, outside_vectors


class Moves(LoopMoves):
    """All of them."""

    def draw(self, kind: str) -> Call | None:
        """A call of the directive ``kind``."""
        return MOVES[kind](self)

    # --- storage ------------------------------------------------------------------------------------------------

    def cache_read(self) -> Call | None:
        options = [
            (tensor, reader)
            for tensor in [t.name for t in self.nests.inputs] + list(self.nests.stages)
            for reader in self.stages()
            if tensor in self._direct(reader) and self._at_root(tensor)
        ]
        found = self.some(options)
        if found is None:
            return None
        tensor, reader = found
        place = self.some([None, *outside_vectors(reader)])
        options = {"at": None if place is None else self.at(reader, place), "name": f"R{self.number}"}
        options["consumers"] = [reader.name]
        return Call("cache_read", (tensor, self.rng.choice(("global", "local"))), options)

    def _direct(self, reader: StageNest) -> set[str]:
        inner, body = direct_reads(reader.stage)
        return set(inner | body)

    def _at_root(self, tensor: str) -> bool:
        return tensor not in self.nests.stages or self.nests.stages[tensor].place.kind == "root"

    def cache_write(self) -> Call | None:
        plain = [
            n
            for n in self.stages()
            if n.layout is None and n.place.kind == "root" and not self.hosted(n) and self.plain(n)
        ]
        nest = self.some(plain)
        if nest is None:
            return None
        return Call(
            "cache_write", (nest.name, self.rng.choice(("local", "global"))), {"name": f"W{self.number}"}
        )

    def clone(self) -> Call | None:
        options = [
            (nest, reader)
            for nest in self.stages()
            for reader in self.stages()
            if nest.name in self._direct(reader)
            and reader.place.kind == nest.place.kind == "root"
            and self.plain(nest)
            and self.plain(reader)
        ]
        found = self.some(options)
        if found is None:
            return None
        return Call("clone", (found[0].name, [found[1].name]), {"name": f"K{self.number}"})

    def set_scope(self) -> Call | None:
        inside = [n for n in self.stages() if n.name not in self.nests.outputs.values() and self.plain(n)]
        nest = self.some(inside)
        return (
            None if nest is None else Call("set_scope", (nest.name, self.rng.choice(("local", "global"))), {})
        )

    def storage_align(self) -> Call | None:
        inside = [
            n
            for n in self.stages()
            if n.name not in self.nests.outputs.values()
            and self.plain(n)
            and n.layout is None
            and len(n.stage.axes) > 1
        ]
        nest = self.some(inside)
        if nest is None:
            return None
        axis = self.rng.choice(nest.stage.axes[:-1]).name
        return Call(
            "storage_align", (nest.name, axis, self.rng.choice((4, 8, 16)), self.rng.choice((0, 1))), {}
        )

    def rfactor(self) -> Call | None:
        options = [
            (nest, loop)
            for nest in self.stages()
            for loop in self.free(nest)
            if loop.reduce and nest.place.kind == "root" and not self.hosted(nest) and self.plain(nest)
        ]
        found = self.some(options)
        return None if found is None else Call("rfactor", (self.at(*found),), {"name": f"F{self.number}"})

    def transform_layout(self) -> Call | None:
        plain = [
            n
            for n in self.stages()
            if n.stage.reduce is None
            and self.plain(n)
            and n.place.kind in ("root", "at")
            and n.name not in self.nests.outputs.values()
        ]
        nest = self.some(plain)
        if nest is None:
            return None
        names = [shown(loop.name) for loop in nest.loops]
        return Call("transform_layout", (nest.name, " ".join(self.rng.sample(names, len(names)))), {})

    def decompose_reduction(self) -> Call | None:
        plain = [
            n
            for n in self.stages()
            if n.stage.reduce is not None and n.start is None and n.place.kind == "root" and self.plain(n)
        ]
        nest = self.some(plain)
        return (
            None if nest is None else Call("decompose_reduction", (nest.name,), {"name": f"I{self.number}"})
        )

    def two_pass(self) -> Call | None:
        plain = [
            n
            for n in self.stages()
            if n.stage.reduce is not None and n.stage.reduce.op in INDEXERS and n.place.kind in ("root", "at")
        ]
        nest = self.some(plain)
        return None if nest is None else Call("two_pass", (nest.name,), {"name": f"T{self.number}"})

    def pad(self) -> Call | None:
        inside = [
            n
            for n in self.stages()
            if n.name not in self.nests.outputs.values()
            and n.place.kind == "root"
            and self.plain(n)
            and not n.relations
            and n.layout is None
            and n.stage.axes
        ]
        nest = self.some(inside)
        if nest is None:
            return None
        return Call("pad", (nest.name, self.rng.choice(nest.stage.axes).name, self.rng.choice((2, 4, 8))), {})

    # --- ahead of time ------------------------------------------------------------------------------------------

    def double_buffer(self) -> Call | None:
        placed = [n for n in self.stages() if n.place.kind == "at" and n.stored is None]
        nest = self.some(placed)
        return None if nest is None else Call("double_buffer", (nest.name,), {})

    def pipeline(self) -> Call | None:
        loops = [
            (n, loop)
            for n in self.stages()
            for loop in n.loops
            if loop.kind == "serial"
            and any(
                x.place.kind == "at" and (x.place.stage, x.place.loop) == (n.name, loop.name)
                for x in self.stages()
            )
        ]
        found = self.some(loops)
        return (
            None
            if found is None
            else Call("pipeline", (self.at(*found),), {"stages": self.rng.choice((2, 2, 3))})
        )

    def prefetch(self) -> Call | None:
        reading = [(t.name, n) for t in self.nests.inputs for n in self.stages() if t.name in self._direct(n)]
        found = self.some(reading)
        if found is None:
            return None
        tensor, nest = found
        serial = [loop for loop in outside_vectors(nest) if loop.kind in ("serial", "parallel")]
        loop = self.some(serial)
        if loop is None:
            return None
        return Call("prefetch", (tensor, self.at(nest, loop)), {"distance": self.rng.choice((1, 2, 5))})

    def stream(self) -> Call | None:
        written = [
            n for n in self.stages() if n.name in self.nests.outputs.values() and n.stage.reduce is None
        ]
        nest = self.some([n for n in written if any(loop.kind == "vectorize" for loop in n.loops)])
        return None if nest is None else Call("stream", (nest.name,), {})


MOVES: dict[str, Callable[[Moves], Call | None]] = {
    name: getattr(Moves, name)
    for name in (
        "split", "tile", "fuse", "reorder",
        "vectorize", "parallel", "unroll",
        "compute_at", "reverse_compute_at", "store_at", "store_root", "compute_inline", "compute_root",
        "cache_read", "cache_write", "clone", "transform_layout", "set_scope", "storage_align", "pad",
        "rfactor", "decompose_reduction", "two_pass",
        "double_buffer", "pipeline", "prefetch", "stream",
    )
}  # fmt: skip

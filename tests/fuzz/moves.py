"""Directives that ought to be legal where they are drawn: what share of them the checks accept is counted. Here, on loops.

One function a directive, from a schedule to a call of it, or None where there is nothing it could be applied to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from loopwright.sched.language.extents import Extent
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.checks import sizes
from loopwright.sched.scheduling.nest import Loop, Nests, StageNest
from loopwright.sched.scheduling.placement import all_reads, elementwise_map, path, produces_boxes
from loopwright.sched.scheduling.schedule import Schedule

FACTORS = (2, 3, 4, 5, 8, 16, 1, 40)
TAILS = ("auto", "auto", "guard", "peel", "pad", "shift_inward")


@dataclass(frozen=True)
class Call:
    """A directive to be written: a method of a schedule and its arguments."""

    kind: str
    args: tuple[Any, ...]
    options: dict[str, Any]

    def on(self, schedule: Schedule) -> Schedule:
        """The schedule with the directive."""
        grown: Schedule = getattr(schedule, self.kind)(*self.args, **self.options)
        return grown


class LoopMoves:
    """Draws calls for one schedule; ``number`` makes the new names in them unique."""

    def __init__(self, schedule: Schedule, rng: Random, number: int) -> None:
        self.schedule = schedule
        self.nests: Nests = schedule._nests
        self.rng = rng
        self.number = number

    # --- what there is ------------------------------------------------------------------------------------------

    def stages(self) -> list[StageNest]:
        return [nest for nest in self.nests.stages.values() if nest.place.kind != "inline" and nest.loops]

    def hosted(self, nest: StageNest) -> set[str]:
        """The loops of a stage that others are computed at."""
        return {n.place.loop for n in self.nests.stages.values() if n.place.stage == nest.name}

    def free(self, nest: StageNest) -> list[Loop]:
        """The loops that nothing has been said about, and that nothing depends on."""
        held = self.hosted(nest) | set(nest.layout or ())
        return [loop for loop in nest.loops if loop.kind == "serial" and loop.name not in held]

    def plain(self, nest: StageNest) -> bool:
        """Whether a stage is neither updated nor an update."""
        bases = [
            n.stage.updating.base.name for n in self.nests.stages.values() if n.stage.updating is not None
        ]
        return nest.stage.updating is None and nest.name not in bases

    def some(self, options: list[Any]) -> Any:
        return self.rng.choice(options) if options else None

    def parallel_around(self, nest: StageNest) -> bool:
        """Whether a stage runs inside a parallel loop, or hosts one that has one."""
        steps = path(self.nests, nest.name)
        outside = (loop for step in steps for loop in self.nests.stages[step.stage].loops[: step.index + 1])
        inside = (
            loop
            for n in self.nests.stages.values()
            if any(step.stage == nest.name for step in path_of(self.nests, n))
            for loop in n.loops
        )
        return any(loop.kind == "parallel" for loop in (*outside, *inside, *nest.loops))

    def at(self, nest: StageNest, loop: Loop) -> str:
        return f"{nest.name}.{shown(loop.name)}"

    # --- loops --------------------------------------------------------------------------------------------------

    def split(self) -> Call | None:
        nest = self.some([n for n in self.stages() if self.free(n)])
        if nest is None:
            return None
        loop = self.rng.choice(self.free(nest))
        names = (f"o{self.number}", f"i{self.number}")
        tail = self.rng.choice(TAILS)
        return Call("split", (self.at(nest, loop), names, self.rng.choice(FACTORS)), {"tail": tail})

    def tile(self) -> Call | None:
        nest = self.some([n for n in self.stages() if len(_neighbours(n, self.free(n))) > 0])
        if nest is None:
            return None
        pair = self.rng.choice(_neighbours(nest, self.free(nest)))
        tiles = {
            shown(loop.name): (f"o{self.number}{n}", f"i{self.number}{n}", self.rng.choice(FACTORS))
            for n, loop in enumerate(pair)
        }
        return Call("tile", (nest.name, tiles), {"tail": self.rng.choice(TAILS)})

    def fuse(self) -> Call | None:
        pairs = [
            (n, a, b) for n in self.stages() for a, b in _neighbours(n, self.free(n)) if a.reduce == b.reduce
        ]
        found = self.some(pairs)
        if found is None:
            return None
        nest, a, b = found
        return Call("fuse", (self.at(nest, a), self.at(nest, b), f"f{self.number}"), {})

    def reorder(self) -> Call | None:
        nest = self.some([n for n in self.stages() if len(self.free(n)) > 1 and not self.hosted(n)])
        if nest is None:
            return None
        names = [shown(loop.name) for loop in self.free(nest)]
        chosen = self.rng.sample(names, self.rng.randint(2, len(names)))
        return Call("reorder", (nest.name, " ".join(chosen)), {})

    def vectorize(self) -> Call | None:
        options = []
        for nest in self.stages():
            if any(loop.kind == "vectorize" for loop in nest.loops):
                continue
            last = max((n for n, x in enumerate(nest.loops) if x.name in self.hosted(nest)), default=-1)
            last = max([last, *(n for n, x in enumerate(nest.loops) if x.kind == "parallel")])
            free = [x for x in self.free(nest) if not x.reduce and nest.loops.index(x) > last]
            options += [(nest, loop) for loop in free]
        found = self.some(options)
        if found is None:
            return None
        extent = sizes(found[0])[found[1].name]
        whole = isinstance(extent, int) and 1 < extent <= 32 and self.rng.random() < 0.3
        return Call("vectorize", (self.at(*found), None if whole else self.rng.choice((2, 4, 8, 16, 3))), {})

    def parallel(self) -> Call | None:
        options = []
        for nest in self.stages():
            if self.parallel_around(nest):
                continue
            lanes = [n for n, x in enumerate(nest.loops) if x.kind == "vectorize"]
            free = [x for x in nest.loops if not x.reduce and x.kind == "serial"]
            options += [(nest, x) for x in free if not lanes or nest.loops.index(x) < lanes[0]]
        found = self.some(options)
        grain = self.rng.choice((None, None, None, 2, 3))
        return None if found is None else Call("parallel", (self.at(*found), grain), {})

    def unroll(self) -> Call | None:
        short = [
            (nest, loop)
            for nest in self.stages()
            for loop in nest.loops
            if loop.kind == "serial" and _short(sizes(nest)[loop.name])
        ]
        found = self.some(short)
        return None if found is None else Call("unroll", (self.at(*found),), {})

    # --- places -------------------------------------------------------------------------------------------------

    def compute_at(self) -> Call | None:
        options = []
        for nest in self.stages():
            readers = [r for r in self.stages() if nest.name in all_reads(self.nests, r.name)]
            if len(readers) != 1 or nest.name in self.nests.outputs.values() or self.hosted(nest):
                continue
            host = readers[0]
            if nest.place.kind == "root" and self.plain(nest) and host.stage.updating is None:
                inner = any(x.kind == "parallel" for x in nest.loops)
                for loop in outside_vectors(host):
                    if not (inner and (self.parallel_around(host))):
                        options.append((nest, host, loop))
        found = self.some(options)
        return None if found is None else Call("compute_at", (found[0].name, self.at(found[1], found[2])), {})

    def reverse_compute_at(self) -> Call | None:
        options = []
        for nest in self.stages():
            read = [r for r in self.stages() if r.name in all_reads(self.nests, nest.name)]
            if (
                nest.stage.reduce is not None
                or nest.layout is not None
                or len(read) != 1
                or self.hosted(nest)
            ):
                continue
            host = read[0]
            if host.place.kind != "root" or nest.place.kind != "root" or self.parallel_around(nest):
                continue
            if not (self.plain(host) and self.plain(nest)):
                continue
            if elementwise_map(self.nests, nest.stage, host.name) is None:
                continue
            for n, loop in enumerate(outside_vectors(host)):
                if loop.reduce:
                    break
                if produces_boxes(host, n):
                    options.append((nest, host, loop))
        found = self.some(options)
        if found is None:
            return None
        return Call("reverse_compute_at", (found[0].name, self.at(found[1], found[2])), {})

    def compute_inline(self) -> Call | None:
        plain = [
            nest
            for nest in self.stages()
            if nest.stage.reduce is None
            and self.plain(nest)
            and not nest.relations
            and nest.place.kind == "root"
            and nest.name not in self.nests.outputs.values()
            and not self.hosted(nest)
            and all(x.kind == "serial" for x in nest.loops)
            and [x.name for x in nest.loops] == [a.name for a in nest.stage.axes]
            and (nest.scope, nest.layout) == ("global", None)
        ]
        nest = self.some(plain)
        return None if nest is None else Call("compute_inline", (nest.name,), {})

    def store_at(self) -> Call | None:
        options = []
        for nest in self.stages():
            if nest.place.kind != "at":
                continue
            host = self.nests.stages[nest.place.stage]
            at = [loop.name for loop in host.loops].index(nest.place.loop)
            for n, loop in enumerate(host.loops[:at]):
                between = host.loops[n + 1 : at + 1]
                if all(x.kind == "serial" and not x.reduce for x in between):
                    options.append((nest, host, loop))
        found = self.some(options)
        return None if found is None else Call("store_at", (found[0].name, self.at(found[1], found[2])), {})

    def store_root(self) -> Call | None:
        options = []
        for nest in self.stages():
            if nest.place.kind == "at" and self.nests.stages[nest.place.stage].place.kind == "root":
                host = self.nests.stages[nest.place.stage]
                at = [loop.name for loop in host.loops].index(nest.place.loop)
                if all(x.kind == "serial" and not x.reduce for x in host.loops[: at + 1]):
                    options.append(nest)
        nest = self.some(options)
        return None if nest is None else Call("store_root", (nest.name,), {})

    def compute_root(self) -> Call | None:
        placed = [n for n in self.nests.stages.values() if n.place.kind == "at"]
        nest = self.some(placed)
        return None if nest is None else Call("compute_root", (nest.name,), {})


def _short(extent: Extent) -> bool:
    return isinstance(extent, int) and extent <= 8


def path_of(nests: Nests, nest: StageNest) -> Iterator[Any]:
    """The loops around a stage."""
    yield from path(nests, nest.name)


def _neighbours(nest: StageNest, free: list[Loop]) -> list[tuple[Loop, Loop]]:
    return [(a, b) for a, b in zip(nest.loops, nest.loops[1:], strict=False) if a in free and b in free]


def outside_vectors(nest: StageNest) -> list[Loop]:
    """The loops up to the first vectorized one."""
    found = []
    for loop in nest.loops:
        if loop.kind == "vectorize":
            break
        found.append(loop)
    return found

"""What a schedule has come to: for every stage its loops, how they derive from its axes, and where it is computed.

Directives map :class:`Nests` to :class:`Nests`; the lowering reads the last one. Everything here is immutable.
Loops carry no extents: those follow from where a stage is placed (:mod:`loopwright.sched.lowering.loopnest`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from loopwright.sched.language.stage import Input, Stage, Tensor, origin
from loopwright.sched.language.workload import Workload, producers

Tail = Literal["auto", "guard", "peel", "pad", "shift_inward"]
Kind = Literal[
    "serial", "parallel", "vectorize", "unroll", "tensorize", "pipeline",
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread", "threads",
]  # fmt: skip
Scope = Literal["global", "local", "shared"]


@dataclass(frozen=True)
class Loop:
    """One loop of a stage's nest: a leaf of the tree of splits and fusions. A pipelined one computes the stages at its head
    ``stages - 1`` iterations ahead."""

    name: str
    reduce: bool = False
    kind: Kind = "serial"
    stages: int = 1


@dataclass(frozen=True)
class Split:
    """``parent`` runs as ``outer * factor + inner``."""

    parent: str
    outer: str
    inner: str
    factor: int
    tail: Tail = "auto"


@dataclass(frozen=True)
class Fuse:
    """``outer`` and ``inner`` run as one: ``outer = fused // extent(inner)``, ``inner = fused % extent(inner)``."""

    outer: str
    inner: str
    fused: str


@dataclass(frozen=True)
class Place:
    """Where a stage is computed.

    ``root``: before everything that reads it, over its whole domain. ``inline``: substituted where it is read.
    ``at``: at the head of the body of loop ``loop`` of ``stage``, over the region needed there (compute_at).
    ``after``: at the end of that body, over the region produced there (reverse_compute_at).
    ``chain``: right after ``stage`` and its earlier updates, wherever these are; so for an update.
    """

    kind: Literal["root", "inline", "at", "after", "chain"] = "root"
    stage: str = ""
    loop: str = ""


@dataclass(frozen=True)
class Stored:
    """Where a buffer lives that outlives the iteration it is filled in: the body of loop ``loop`` of ``stage``; or, without
    one, outside every loop. ``fold``: only the part that is still to be read is kept, where that is known to be small."""

    stage: str = ""
    loop: str = ""
    fold: bool = True


@dataclass(frozen=True)
class Align:
    """One step of a buffer's ``dimension`` is ``offset`` modulo ``factor`` elements long."""

    dimension: str
    factor: int
    offset: int = 0


@dataclass(frozen=True)
class Prefetch:
    """In each iteration of ``loop``: bring into the cache what the iteration ``distance`` later reads of ``tensor``."""

    tensor: str
    loop: str
    distance: int


def plain_loops(stage: Stage) -> tuple[Loop, ...]:
    """The loops of a stage before any directive; what a C function computes whole has none."""
    return () if stage.routine else tuple(Loop(axis.name, axis.reduce) for axis in stage.all_axes)


@dataclass(frozen=True)
class StageNest:
    """A stage with its loops, outermost first.

    ``layout`` (transform_layout): the dimensions of the stage's buffer follow these loops instead of the axes.
    ``align`` (storage_align): how far apart the rows of the buffer lie.
    ``tensor`` (tensorize): from this loop inwards, an intrinsic of that name.
    ``stored`` (store_at): its buffer lives farther out than it is computed.
    ``start`` (decompose_reduction): the stage that says what its reduction starts at.
    ``copies`` (double_buffer): so many buffers that successive iterations fill in turn.
    ``prefetches``: what its loops fetch ahead.
    ``streamed`` (stream): its elements are written past the caches.
    ``prepacked`` (prepack): it depends on weights alone, and is computed before any call.
    """

    stage: Stage
    loops: tuple[Loop, ...]
    relations: tuple[Split | Fuse, ...] = ()
    place: Place = Place()
    scope: Scope = "global"
    layout: tuple[str, ...] | None = None
    align: tuple[Align, ...] = ()
    tensor: tuple[str, str] | None = None
    stored: Stored | None = None
    start: str | None = None
    copies: int = 1
    prefetches: tuple[Prefetch, ...] = ()
    streamed: bool = False
    prepacked: bool = False

    @property
    def name(self) -> str:
        """The stage's name."""
        return self.stage.name

    @cached_property
    def makers(self) -> dict[str, Split | Fuse]:
        """For each loop that was made by a relation, that relation."""
        made: dict[str, Split | Fuse] = {}
        for relation in self.relations:
            if isinstance(relation, Split):
                made[relation.outer] = made[relation.inner] = relation
            else:
                made[relation.fused] = relation
        return made

    @cached_property
    def users(self) -> dict[str, Split | Fuse]:
        """For each loop that was split or fused away, the relation that used it up."""
        used: dict[str, Split | Fuse] = {}
        for relation in self.relations:
            if isinstance(relation, Split):
                used[relation.parent] = relation
            else:
                used[relation.outer] = used[relation.inner] = relation
        return used

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """The splits, in the order written."""
        return tuple(relation for relation in self.relations if isinstance(relation, Split))

    def loop(self, name: str) -> Loop:
        """The loop of that name; raises KeyError if it is no leaf."""
        for loop in self.loops:
            if loop.name == name:
                return loop
        raise KeyError(name)

    def all_names(self) -> set[str]:
        """Every name of a loop or axis that was ever used in this nest; none is given twice."""
        names = {axis.name for axis in self.stage.all_axes} | {loop.name for loop in self.loops}
        for relation in self.relations:
            names |= {
                relation.outer,
                relation.inner,
                relation.parent if isinstance(relation, Split) else relation.fused,
            }
        return names

    def with_(self, **changes: Any) -> StageNest:
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Case:
    """What a schedule has come to for calls in which ``condition`` holds (specialize)."""

    condition: str
    nests: Nests


@dataclass(frozen=True)
class Nests:
    """All stages of a schedule, producers before consumers.

    Stages refer to each other by name: a directive may replace a stage (cache_read rewrites its consumers), and
    ``Load.tensor`` then still names the right one.

    Attributes:
        inputs: the kernel's input arrays.
        outputs: name of an output array -> the stage that writes it (cache_write puts a copy stage there).
        parts: name of an output array -> which part of the stage's elements it has.
        cases: versions for special cases; the first whose condition holds runs instead.
    """

    inputs: tuple[Input, ...]
    stages: dict[str, StageNest]
    outputs: dict[str, str]
    parts: dict[str, int]
    cases: tuple[Case, ...] = ()

    def versions(self) -> Iterator[Nests]:
        """These nests, and those of all cases."""
        yield self
        for case in self.cases:
            yield from case.nests.versions()

    @staticmethod
    def of(work: Workload) -> Nests:
        """The nests before any directive: every stage at root, its axes and then its reduction axes as loops."""
        stages = {
            stage.name: StageNest(
                stage,
                plain_loops(stage),
                place=Place() if stage.updating is None else Place("chain", stage.label),
            )
            for stage in work.stages
        }
        origins = {output.label: origin(output) for output in work.outputs}
        outputs = {array: stage.name for array, (stage, _) in origins.items()}
        return Nests(work.inputs, stages, outputs, {array: part for array, (_, part) in origins.items()})

    def tensor(self, name: str) -> Tensor | None:
        """The input or stage of that name."""
        if name in self.stages:
            return self.stages[name].stage
        return next((t for t in self.inputs if t.name == name), None)

    def consumers(self, name: str) -> list[str]:
        """The stages that read the input or stage ``name``, in order."""
        return [n.name for n in self.stages.values() if any(t.name == name for t in producers(n.stage))]

    def head(self, name: str) -> str:
        """The definition that an update belongs to; any other stage is its own."""
        place = self.stages[name].place
        return place.stage if place.kind == "chain" else name

    def updates(self, name: str) -> list[StageNest]:
        """The updates of a definition, in order."""
        return [n for n in self.stages.values() if n.place.kind == "chain" and n.place.stage == name]

    def last(self, name: str) -> str:
        """The stage whose values are read under a name: the last update of a definition, or the tensor itself."""
        updates = self.updates(name)
        return updates[-1].name if updates else name

    def place_of(self, name: str) -> Place:
        """Where a stage is computed; an update is where its definition is."""
        return self.stages[self.head(name)].place

    def placed(self, kind: str, stage: str, loop: str) -> list[StageNest]:
        """The stages computed at a loop (``at`` its head, or ``after``), in order.

        One that is updated stands where its last update does: what these read comes before.
        """
        heads = [
            (name, nest)
            for name in self.stages
            for nest in [self.stages[self.head(name)]]
            if (nest.place.kind, nest.place.stage, nest.place.loop) == (kind, stage, loop)
        ]
        return [nest for name, nest in heads if name == self.last(nest.name)]

    def with_stage(self, nest: StageNest) -> Nests:
        """A copy in which one stage's nest is replaced."""
        return replace(self, stages={**self.stages, nest.name: nest})

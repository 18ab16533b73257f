"""Which box of a stage a loop's body needs, or has completed, given what the axes of the loop's stage run over there."""

from __future__ import annotations

from collections.abc import Mapping

from loopwright.sched.language.expr import Axis, Load, loads
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.bounds import Box, Span, full, inside, read_box
from loopwright.sched.lowering.prepare import Definition
from loopwright.sched.scheduling.nest import Nests, StageNest

Spans = Mapping[Axis, Span]


class Regions:
    """Bounds inference over the definitions of a workload's stages.

    Every question names a ``host``, the stage in one of whose loops we are, and the ``spans`` of its axes there.
    """

    def __init__(self, nests: Nests, definitions: Mapping[str, Definition]) -> None:
        self.nests = nests
        self.definitions = definitions

    def needed(self, name: str, host: str, spans: Spans) -> Box:
        """The box of stage ``name`` that the rest of the loop's body reads, moved into its domain."""
        sizes = self.definitions[name].sizes
        box: Box | None = None
        for reader in self.readers(name):
            box = read_box(self.reads(reader, name), sizes, self.spans_at(reader, host, spans), box)
        return inside(box or full(sizes), sizes, not self.definitions[name].values)

    def reads(self, reader: str, name: str) -> list[Load]:
        """The loads of ``name`` in a stage."""
        exprs = self.definitions[reader].exprs
        return [load for e in exprs for load in loads(e) if load.tensor.name == name]

    def readers(self, name: str) -> list[str]:
        """The stages that read ``name``; in place of an inlined one those it is inlined into."""
        found: list[str] = []
        for consumer in self.nests.consumers(name):
            inlined = self.nests.stages[consumer].place.kind == "inline"
            found += self.readers(consumer) if inlined else [consumer]
        return found

    def spans_at(self, reader: str, host: str, spans: Spans) -> Spans:
        """What the axes of a stage run over inside the loop's body."""
        if reader == host:
            return spans
        definition, nest = self.definitions[reader], self.nests.stages[reader]
        placed_after = nest.place.kind == "after"
        box = self.produced(nest, host, spans) if placed_after else self.needed(reader, host, spans)
        reduced = {axis: Span(number(0), axis.extent) for axis in definition.stage.reduce_axes}
        return dict(zip(definition.axes, box, strict=True)) | reduced

    def produced(self, nest: StageNest, host: str, spans: Spans) -> Box:
        """The box of an ``after`` stage whose producer's elements the loop's body has completed."""
        definition, producer = self.definitions[nest.name], nest.place.stage
        produced = None if producer == host else self.produced(self.nests.stages[producer], host, spans)
        box: dict[Axis, Span] = {}
        for load in self.reads(nest.name, producer):
            for dim, index in enumerate(load.indices):
                if isinstance(index, Axis):
                    box[index] = produced[dim] if produced else spans[self.definitions[host].axes[dim]]
        return tuple(box.get(axis, Span(number(0), axis.extent)) for axis in definition.axes)

"""Which box of a stage a loop's body needs, or has completed, given what the axes of the loop's stage run over there."""

from __future__ import annotations

from collections.abc import Mapping

from loopwright.sched.language.expr import Axis, Load, loads
from loopwright.sched.language.extents import smaller
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.bounds import Box, Span, full, inside, read_box
from loopwright.sched.lowering.prepare import Definition
from loopwright.sched.scheduling.nest import Nests, StageNest

Spans = Mapping[Axis, Span]


def own_box(stage: Stage, box: Box) -> Box:
    """What a stage's own axes run over where ``box`` of its elements is computed.

    The box may be padded, for the accumulators of a definition; its updates run where there are elements.
    """
    if stage.updating is None:
        return box
    spans = {axis: span for axis, span in zip(stage.dims, box, strict=True) if axis is not None}
    return tuple(Span(spans[axis].low, smaller(spans[axis].extent, axis.extent)) for axis in stage.axes)


class Regions:
    """Bounds inference over the definitions of a workload's stages.

    Every question names a ``host``, the stage in one of whose loops we are, and the ``spans`` of its axes there.
    """

    def __init__(self, nests: Nests, definitions: Mapping[str, Definition]) -> None:
        self.nests = nests
        self.definitions = definitions

    def needed(self, name: str, host: str, spans: Spans) -> Box:
        """The box of stage ``name`` that the rest of the loop's body reads, moved into its domain.

        A dimension that an update of it writes at places of its own is computed whole.
        """
        sizes = self.definitions[name].sizes
        last, updates = self.nests.last(name), self.nests.updates(name)
        box: Box | None = None
        for reader in self.readers(last):
            box = read_box(self.reads(reader, last), sizes, self.spans_at(reader, host, spans), box)
        whole = full(sizes)
        if box is None:
            box = whole
        scattered = [any(u.stage.dims[dim] is None for u in updates) for dim in range(len(sizes))]
        box = tuple(all_ if s else part for s, all_, part in zip(scattered, whole, box, strict=True))
        return inside(box, sizes, not self.definitions[name].values and not updates)

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
        if placed_after:
            box = self.produced(nest, host, spans)
        else:
            box = own_box(nest.stage, self.needed(self.nests.head(reader), host, spans))
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

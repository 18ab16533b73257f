"""The two programs of a schedule that prepacks: what is computed from weights once, and what is computed in every call.

Both are built over the same definitions, so they agree on how the buffers between them are padded and laid out. These are
outputs of the first and inputs of the second.
"""

from __future__ import annotations

from loopwright.sched.language.expr import loads
from loopwright.sched.lowering.bounds import full
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.loopnest import Builder
from loopwright.sched.lowering.stmt import Buffer, Program, seq
from loopwright.sched.lowering.storage import Storage
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.prepacked import depends_on, prepacked, roots_ahead, roots_in_calls
from loopwright.sched.scheduling.roots import root_of


def build_ahead(nests: Nests, name: str, vector_bytes: int, registers: int) -> Program:
    """The program from weights to the buffers of prepacked stages; the arguments are those of
    :func:`loopwright.sched.lowering.loopnest.build`."""
    return _Ahead(nests, vector_bytes, registers).program(f"{name}_prepack")


def build_in_calls(nests: Nests, name: str, vector_bytes: int, registers: int) -> Program:
    """The program of a call: its inputs are those of the workload, but for weights that it does not read, and then the buffers
    of prepacked stages."""
    return _InCalls(nests, vector_bytes, registers).program(name)


class _Part(Builder):
    """A builder of some of the stages at root."""

    def __init__(self, nests: Nests, vector_bytes: int, registers: int, roots: set[str]) -> None:
        super().__init__(nests, vector_bytes, registers)
        self.roots = [root for root in self.roots if root in roots]
        self.packed = tuple(buffer for name in prepacked(nests) for buffer in self._packed(name))
        #: The tensors that these stages read.
        self.sources = {
            load.tensor.name
            for stage, definition in self.definitions.items()
            if root_of(nests, stage) in roots
            for expr in definition.exprs
            for load in loads(expr)
        }

    def _packed(self, name: str) -> tuple[Buffer, ...]:
        """The buffers of a prepacked stage: made by neither program, so they are there from the start."""
        definition = self.definitions[name]
        box = full(definition.sizes)
        self.make_storage(Frame(self.nests.stages[name], definition, box), box)
        return tuple(buffer for buffer in self.storage[name].buffers if buffer is not None)


class _Ahead(_Part):
    def __init__(self, nests: Nests, vector_bytes: int, registers: int) -> None:
        super().__init__(nests, vector_bytes, registers, roots_ahead(nests))

    def program(self, name: str, like: Program | None = None) -> Program:
        weights = [t for t in self.nests.inputs if t.name in self.sources]
        inputs = tuple(Buffer(t.name, t.shape, t.dtype, "global", t.name) for t in weights)
        self.storage |= {b.stage: Storage((b,), full(b.shape)) for b in inputs}
        stages = [self.nests.stages[root] for root in self.roots]
        body = seq(*(self.stage(nest, full(self.definitions[nest.name].run)) for nest in stages))
        self.tensorized.check(self.nests)
        return Program(name, inputs, self.packed, body, self.sliding, (), self.started)


class _InCalls(_Part):
    def __init__(self, nests: Nests, vector_bytes: int, registers: int) -> None:
        super().__init__(nests, vector_bytes, registers, roots_in_calls(nests))
        self.used_ahead = {name for stage in prepacked(nests) for name in depends_on(nests, stage)}

    def program(self, name: str, like: Program | None = None) -> Program:
        whole = super().program(name, like)
        gone = self.used_ahead - self.sources
        inputs = (*(b for b in whole.inputs if b.name not in gone), *self.packed)
        return Program(
            name, inputs, whole.outputs, whole.body, self.sliding, whole.sizes, self.started, self.packed
        )

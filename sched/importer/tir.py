"""TensorIR functions as workloads: one stage for each block."""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import ir
from tvm.tirx import PrimFunc

from loopwright.sched.errors import DefinitionError
from loopwright.sched.importer import tuples
from loopwright.sched.importer.blocks import Block, blocks
from loopwright.sched.importer.buffers import check_dense, dtype_of, shape_of
from loopwright.sched.importer.exprs import Translator
from loopwright.sched.importer.joining import joined
from loopwright.sched.importer.names import Names, legal
from loopwright.sched.importer.reductions import identity, is_identity, recognise, starting_at
from loopwright.sched.importer.refuse import refuse
from loopwright.sched.importer.targets import domain
from loopwright.sched.language import expr as lw
from loopwright.sched.language.expr import Expr, Reduce
from loopwright.sched.language.normal import make_tuple_stage
from loopwright.sched.language.stage import Input, Part, Stage, Tensor, check_name
from loopwright.sched.language.workload import Workload


def from_tir(func: PrimFunc, name: str | None = None) -> Workload:
    """Read a TensorIR function as a workload: its formula is kept, its loops are not.

    Takes what ``te.create_prim_func``, ``relax.transform.LegalizeOps`` and TVMScript with ``T.sblock`` give. Parameters that
    are only read become inputs, those that are written become outputs, both in their order; each block becomes a stage named
    after the buffer that it writes, its axes after the loops.

    A schedule in it is no part of the formula and is left behind: split, fused and reordered loops, also with ``T.where`` for
    what a split runs over its end; parallel, vectorized and unrolled ones; a reduction's start in a block of its own;
    annotations; copies in local memory.

    Where TVM starts a maximum at the least finite float, ours starts at minus infinity; all else is computed as TVM does.

    Args:
        func: the function.
        name: the workload's name; default: the function's own. It is not part of the workload's key.

    Raises:
        DefinitionError: the function is lowered, or scheduled for a GPU, or holds something we have no equal of: reductions
            over tuples other than argmin and argmax, opaque blocks, symbolic shapes, partial or repeated writes, unknown dtypes
            and calls.

    >>> from tvm.script import tirx as T
    >>> @T.prim_func(s_tir=True)
    ... def scale(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    ...     for i in range(8):
    ...         with T.sblock("y"):
    ...             vi = T.axis.remap("S", [i])
    ...             y[vi] = x[vi] * T.float32(2)
    >>> from_tir(scale)
    <workload scale(): <input x float32[8]> -> <stage y float32[8]>>
    """
    if isinstance(func, ir.IRModule):
        known = ", ".join(sorted(var.name_hint for var in func.get_global_vars()))
        refuse("from_tir", "this is a module, not a function", f"give one of its functions: {known}")
    if not isinstance(func, PrimFunc):
        refuse(
            "from_tir", f"{type(func).__name__} is no TensorIR function", "TE tensors are read by lw.from_te"
        )
    if name is not None:
        check_name(name, "from_tir")
    attributes = func.attrs or {}
    own = str(attributes["global_symbol"]) if "global_symbol" in attributes else "primfunc"
    called = name if name is not None else legal(own, "primfunc")
    return read(func, called, f"from_tir({called})")


def read(func: PrimFunc, name: str, where: str) -> Workload:
    """The workload of a function; ``where`` opens the errors."""
    return _Reader(func, where).workload(name)


class _Reader:
    """Turns the blocks of one function into stages, one after the other."""

    def __init__(self, func: PrimFunc, where: str) -> None:
        self.where = where
        self.params = list(func.params)
        for param in self.params:
            if self.params.count(param) > 1:
                refuse(where, f"the buffer {param.name} is given twice", "give each tensor once")
        self.shapes = {param: shape_of(param, where) for param in self.params}
        self.blocks = joined(list(blocks(func, where)))
        self.tensors: dict[Any, Tensor] = {}
        self.allocated = list(func.body.block.alloc_buffers)
        self.shapes |= {buffer: shape_of(buffer, where) for buffer in self.allocated}
        for buffer in self.shapes:
            check_dense(buffer, where)
        self.names = self._names()

    def _names(self) -> dict[Any, str]:
        """Names of all tensors: of a parameter its own, of one between two blocks its block's (as TVM's schedules name it).

        Block names are unique, so they also serve where several buffers have one name.
        """
        used = Names()
        own = [legal(buffer.name, "t") for buffer in self.shapes]
        writers = {block.store.buffer: block.name for block in self.blocks}
        # The parts of a stage of tuples have no names of their own: the stage is called after its block.
        pairs = {block.store.buffer: block.name for block in self.blocks if len(block.stores) > 1}
        others = [store.buffer for block in self.blocks for store in block.stores[1:]]

        def by_block(buffer: Any) -> bool:
            shared = own.count(legal(buffer.name, "t")) > 1
            return buffer in writers and (shared or buffer in self.allocated)

        result: dict[Any, str] = {}
        for buffer in sorted(self.shapes, key=by_block):
            if any(buffer.same_as(other) for other in others):
                continue
            wanted = [writers[buffer], buffer.name] if by_block(buffer) or buffer in pairs else [buffer.name]
            result[buffer] = used.take(wanted, "t")
        return result

    def workload(self, name: str) -> Workload:
        pairs = [(store.buffer, block) for block in self.blocks for store in block.stores]
        written = [buffer for buffer, _ in pairs]
        for buffer, block in pairs:
            if buffer not in self.shapes:
                refuse(
                    block.where,
                    f"it writes {buffer.name}, which is neither a parameter nor allocated by the function",
                )
            if written.count(buffer) > 1:
                both = " and ".join(repr(b.name) for own, b in pairs if own.same_as(buffer))
                refuse(
                    self.where,
                    f"the buffer {buffer.name} is written by several blocks: {both}",
                    "a stage is written by one block",
                )
        inputs = []
        for param in self.params:
            if param not in written:
                tensor = Input(
                    self.names[param],
                    self.shapes[param],
                    dtype_of(param, f"{self.where}, buffer {param.name}"),
                )
                inputs.append(tensor)
                self.tensors[param] = tensor
        for block in self.blocks:
            stage = self._stage(block)
            for part, store in enumerate(block.stores):
                self.tensors[store.buffer] = Part(stage, part) if len(block.stores) > 1 else stage
        outputs = [self.tensors[param] for param in self.params if param in written]
        if not outputs:
            refuse(
                self.where, "it writes none of its parameters", "give the output buffers as parameters, last"
            )
        return Workload(name, {}, inputs, [o for o in outputs if isinstance(o, (Stage, Part))])

    def _stage(self, block: Block) -> Stage:
        buffer = block.store.buffer
        found = domain(block, self.shapes[buffer])
        translator = Translator(self.tensors, dict(found.variables), block.where)
        if len(block.stores) == 1 or block.init is None:
            for var, bound in block.bindings:
                translator.variables[var] = translator.any_width(bound)
        if block.init is None and found.reduce_axes:
            refuse(
                block.where,
                f"it reduces over {found.reduce_axes[0].name} without T.init()",
                "say what the reduction starts at",
            )
        kinds = [dtype_of(s.buffer, f"{self.where}, buffer {s.buffer.name}") for s in block.stores]
        if block.init is None:
            values = [translator.value(store.value) for store in block.stores]
        elif len(block.stores) == 1:
            values = [self._reduction(block, block.init, translator, found.reduce_axes, kinds[0])]
        else:
            values = self._pairs(block, translator, found.reduce_axes, kinds)
        try:
            return make_tuple_stage(self.names[buffer], found.axes, values, kinds)
        except DefinitionError as error:
            refuse(block.where, str(error))

    def _pairs(
        self, block: Block, translator: Translator, axes: tuple[lw.Axis, ...], kinds: list[str]
    ) -> list[Expr]:
        """What the components of a reduction over tuples come to."""
        starts = {init.buffer: translator.value(init.value) for init in block.inits}
        if len(starts) < len(block.stores) or prod(axis.extent for axis in axes) == 0:
            refuse(block.where, "its reduction has no start for every component, or no term")
        for part, (store, kind) in enumerate(zip(block.stores, kinds, strict=True)):
            translator.held.append((store, lw.Operand("a", part, kind)))
        for var, bound in block.bindings:
            translator.variables[var] = translator.any_width(bound)
        updates = [translator.value(store.value) for store in block.stores]
        inits = [starts[store.buffer] for store in block.stores]
        return tuples.items(updates, inits, axes, block.where)

    def _reduction(
        self, block: Block, init: Any, translator: Translator, axes: tuple[lw.Axis, ...], dtype: str
    ) -> Expr:
        update = recognise(block.store, block.where)
        start = translator.value(init.value)
        value = translator.value(update.value)
        for condition in update.conditions:
            value = lw.select(translator.value(condition), value, identity(update.op, dtype))
        if axes:
            return starting_at(update.op, Reduce(update.op, (value,), axes, (dtype,)), start)
        return value if is_identity(update.op, start) else starting_at(update.op, value, start)

"""The steps of a warp in TensorIR: calls that TVM writes down as those of CUDA's ``nvcuda::wmma``.

A fragment is a buffer in a memory of its own, as many elements long as its matrix has; several lie one after the other, and are
counted. TVM finds out which shape and layout they have by the calls that use them (``InferFragment``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tvm import tirx
from tvm.ir import StringImm
from tvm.tirx import BufferLoad, Evaluate, SeqStmt

from loopwright.sched import dtypes
from loopwright.sched.intrinsics.registry import Fragments, find
from loopwright.sched.language.expr import Expr, Load
from loopwright.sched.lowering.device.fragments import BEGINS
from loopwright.sched.lowering.device.warps import LANES
from loopwright.sched.lowering.places import flat
from loopwright.sched.lowering.stmt import Buffer, Stmt, Warp, walk_statements

FACTORS = ("wmma.matrix_a", "wmma.matrix_b")


class FragmentsOf:
    """The fragments of a kernel: the accumulators of its warps, and for each product two for its factors."""

    def __init__(self, body: Stmt) -> None:
        warps = [s for s in walk_statements(body) if isinstance(s, Warp)]
        self.accumulators = {s.accumulators.tensor for s in warps}
        self.matrices = {load.tensor for s in warps for load, _ in s.matrices}
        self.factors: dict[int, tuple[Any, ...]] = {
            id(s): tuple(_factors(s)) for s in warps if len(s.matrices) == 2
        }

    @property
    def made(self) -> list[Any]:
        """The fragments of factors."""
        return [fragment for pair in self.factors.values() for fragment in pair]

    def alignment(self, buffer: Buffer) -> int:
        """In bytes; matrices in shared memory begin where fragments can be loaded from."""
        return BEGINS if buffer in self.matrices else dtypes.itemsize(buffer.dtype)

    def accumulating(self, buffer: Buffer) -> Any:
        """The buffer in TensorIR for the accumulators of a thread: those of all threads of a warp."""
        assert isinstance(buffer.elements, int)
        return tirx.decl_buffer(
            (buffer.elements * LANES,), buffer.dtype, buffer.name, scope="wmma.accumulator"
        )


def called(
    s: Warp,
    fragments: FragmentsOf,
    buffer_of: Callable[[Buffer], Any],
    index: Callable[[Expr], Any],
) -> Any:
    """The calls for one step of a warp."""
    shape = _shape(s)
    held = s.accumulators.tensor
    assert isinstance(held, Buffer)
    sums, number = buffer_of(held), index(_number(s.accumulators))

    def place(load: Load) -> Any:
        assert isinstance(load.tensor, Buffer)
        return tirx.address_of(BufferLoad(buffer_of(load.tensor), [index(flat(load.tensor, load.indices))]))

    if not s.matrices:
        return _call("tvm_fill_fragment", sums.data, *shape, number, tirx.const(0, held.dtype))
    if len(s.matrices) == 1:
        ((first, steps),) = s.matrices
        return _call("tvm_store_matrix_sync", sums.data, *shape, number, place(first), *_layout(steps))
    zero, made = tirx.const(0, "int32"), []
    for fragment, (first, steps) in zip(fragments.factors[id(s)], s.matrices, strict=True):
        made.append(_call("tvm_load_matrix_sync", fragment.data, *shape, zero, place(first), *_layout(steps)))
    a, b = fragments.factors[id(s)]
    return SeqStmt(
        [*made, _call("tvm_mma_sync", sums.data, number, a.data, zero, b.data, zero, sums.data, number)]
    )


def _factors(s: Warp) -> Iterator[Any]:
    rows, columns, steps = _shape(s)
    for scope, count, (load, _) in zip(FACTORS, (rows * steps, steps * columns), s.matrices, strict=True):
        name = f"{load.tensor.name}_fragment".replace(".", "_")
        yield tirx.decl_buffer((count,), load.dtype, name, scope=scope)


def _shape(s: Warp) -> tuple[int, int, int]:
    tile = find(s.intrinsic, "tensorize").implementation
    assert isinstance(tile, Fragments)
    return tile.rows, tile.columns, tile.steps


def _number(accumulators: Load) -> Expr:
    """Which of the tiles of a warp: where the accumulators are, counted in tiles."""
    buffer = accumulators.tensor
    assert isinstance(buffer, Buffer)
    return flat(replace(buffer, dims=buffer.dims[:-1]), accumulators.indices[:-1])


def _layout(steps: tuple[int, int]) -> tuple[Any, Any]:
    """How far apart rows are that lie one after the other, or columns."""
    down, along = steps
    if along == 1:
        return tirx.const(down, "int32"), StringImm("row_major")
    return tirx.const(along, "int32"), StringImm("col_major")


def _call(name: str, *args: Any) -> Any:
    return Evaluate(tirx.call_intrin("void", f"tirx.{name}", *args))

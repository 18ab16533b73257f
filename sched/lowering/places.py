"""Where elements lie in buffers, and where buffers lie."""

from __future__ import annotations

from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Expr, walk
from loopwright.sched.lowering.affine import Linear, linear, times
from loopwright.sched.lowering.stmt import Buffer

# Local buffers up to this size live on the stack.
STACK_BYTES = 16 * 1024


def flat(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """The place of an element in a buffer, counted from its first.

    TVM's own pass for this simplifies what it finds in indices, and takes ``(2 - i) % 4`` for ``i % -4 * -1``.
    """
    place = Linear({}, 0)
    for step, index in zip(buffer.steps, indices, strict=True):
        place = (
            place.add(linear(index), step) if isinstance(step, int) else place.add(linear(times(index, step)))
        )
    return place.expr()


def step_of(buffer: Buffer, indices: tuple[Expr, ...], var: Axis) -> int:
    """How far in a buffer a step of a loop goes; 0 if that is not the same everywhere."""
    found = 0
    for term, coefficient in linear(flat(buffer, indices)).terms.values():
        if term is var:
            found = coefficient
        elif any(e is var for e in walk(term)):
            return 0
    return found


def home(buffer: Buffer) -> dict[str, Any]:
    """Where a buffer goes. TVM puts what is smaller than 1 KB on the stack, and calls an allocator for all else, each time
    the loops come by: for accumulators that would be most of their cost, so local buffers go on the stack as well."""
    from tvm import tirx

    elements = buffer.elements
    known = buffer.scope == "local" and not isinstance(elements, Expr)
    small = known and elements * dtypes.itemsize(buffer.dtype) <= STACK_BYTES
    return {"disable_lower_builtin": tirx.const(True, "bool")} if small else {}

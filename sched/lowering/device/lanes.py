"""Vector loops in TensorIR, by the vectors of OpenCL.

TVM would make vectors of such loops by itself. But its text loads and stores a vector as one only where it can prove that
the first element's place is a multiple of the lanes, and puts it together from single elements otherwise; OpenCL asks for no more
than the alignment of an element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm import tirx

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Binary, Cast, Const, Expr, Load, substitute, walk
from loopwright.sched.lowering import integers
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.device.vectors import step_of
from loopwright.sched.lowering.stmt import Buffer, For, Store

if TYPE_CHECKING:
    from loopwright.sched.lowering.device.emit import DeviceEmitter

_ZERO = tirx.const(0, "int32")


class Lanes:
    """The lanes of one loop, which :func:`~loopwright.sched.lowering.device.vectors.in_vectors` left as it is.

    Args:
        emitter: writes what is the same for all lanes.
        loop: 2, 4, 8 or 16 lanes of one store.
    """

    def __init__(self, emitter: DeviceEmitter, loop: For) -> None:
        assert isinstance(loop.extent, int) and isinstance(loop.body, Store)
        self.emitter, self.lane, self.count = emitter, loop.var, loop.extent
        self.store: Store = loop.body

    def written(self) -> Any:
        """The statement."""
        store = self.store
        value = self.value(store.value)
        buffer, place, step = self._first(store.buffer, store.indices)
        if step != 1:
            return tirx.BufferStore(buffer, value, [self._ramp(place, step)])
        at = tirx.address_of(tirx.BufferLoad(buffer, [place]))
        return tirx.Evaluate(tirx.call_extern("int32", f"vstore{self.count}", value, _ZERO, at))

    def value(self, e: Expr) -> Any:
        """All lanes of an expression."""
        if not any(part is self.lane for part in walk(e)):
            return tirx.Broadcast(self.emitter.expr(e), self.count)
        match e:
            case Load():
                return self.load(e)
            case Cast():
                return tirx.Cast(f"{e.dtype}x{self.count}", self.value(e.value))
            case Binary(op="floordiv", b=Const()):
                return tirx.Div(self.value(e.a), self.value(e.b))
            case Binary():
                a, b = self.value(e.a), self.value(e.b)
                if dtypes.is_integer(e.dtype) and not self.emitter.ranges.fits(e):
                    return integers.wrapped(e.op, a, b, e.dtype)
                return integers.OPERATIONS[e.op](a, b)
        raise AssertionError(f"no vector for {type(e).__name__}")

    def load(self, e: Load) -> Any:
        """The elements that the lanes read."""
        assert isinstance(e.tensor, Buffer)
        buffer, place, step = self._first(e.tensor, e.indices)
        if step != 1:
            return tirx.BufferLoad(buffer, [self._ramp(place, step)])
        at = tirx.address_of(tirx.BufferLoad(buffer, [place]))
        return tirx.call_pure_extern(f"{buffer.dtype}x{self.count}", f"vload{self.count}", _ZERO, at)

    def _first(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Any, Any, int]:
        """The TensorIR buffer, the place of the first lane's element, and how far the next one lies from it."""
        step = step_of(buffer, indices, self.lane)
        assert step is not None
        found, (place,) = self.emitter.element(
            buffer, tuple(substitute(index, {self.lane: number(0)}) for index in indices)
        )
        return found, place, step

    def _ramp(self, place: Any, step: int) -> Any:
        return tirx.Ramp(place, tirx.const(step, self.emitter.counted), self.count)

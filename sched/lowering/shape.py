"""The loops and buffers of a schedule without what is computed in them: all that a printed nest needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loopwright.sched.language.expr import Const, Expr, Load
from loopwright.sched.lowering.affine import ZERO
from loopwright.sched.lowering.device.builder import DeviceBuilder
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.loopnest import Builder, build
from loopwright.sched.lowering.stmt import Program, Stmt
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.threads import is_bound


def shape_of(nests: Nests) -> Program:
    """The statement tree of scheduled nests, its values and places left out; an intrinsic is matched against them."""
    if is_bound(nests):
        return _DeviceShape(nests).program("shape")
    if any(nest.tensor is not None for nest in nests.stages.values()):
        return build(nests)
    return _Shape(nests, 32, 16).program("shape")


class _Shape(Builder):
    def value(self, expr: Expr, frame: Frame, results: Sequence[Expr] = ()) -> Expr:
        return Const(0, expr.dtype)

    def element(self, frame: Frame, part: int = 0) -> Load:
        buffer = self.storage[frame.nest.name].buffers[part]
        assert buffer is not None
        return Load(buffer, (ZERO,) * len(buffer.dims), buffer.dtype)


class _DeviceShape(DeviceBuilder):
    value = _Shape.value
    element = _Shape.element
    open = Builder.open

    def together(
        self,
        frame: Frame,
        value: Expr,
        elements: Callable[[Frame], tuple[Load, ...]],
        loops: Callable[[], Stmt],
    ) -> Stmt | None:
        return loops()

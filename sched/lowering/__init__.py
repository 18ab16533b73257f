"""Lowering: from the nests of a schedule to a statement tree (:func:`build`), and from that to TensorIR (:func:`emit`)."""

from loopwright.sched.lowering.emit import emit
from loopwright.sched.lowering.loopnest import build

__all__ = ["build", "emit"]

"""Definitions that others wrote in TVM, read as workloads: TE tensors and TensorIR functions.

Only the formula is taken over, never TVM's lowering of it: what is imported is scheduled, tuned and logged like an
operator written in our own language, and an equal formula has the same key.
"""

from __future__ import annotations

from loopwright.sched.importer.te import from_te as from_te
from loopwright.sched.importer.tir import from_tir as from_tir

__all__ = ["from_te", "from_tir"]

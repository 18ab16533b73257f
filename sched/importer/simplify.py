"""TVM's integer simplifier, for indices whose range our own arithmetic sees too wide (``i - i // 4 * 4``)."""

from __future__ import annotations

from typing import Any

from loopwright.sched.expr import Expr
from loopwright.sched.interval import index_range
from tvm import ir, sym
from tvm_ffi import structural_equal


def simplified(expr: Any, variables: dict[Any, Expr]) -> Any | None:
    """``expr`` simplified over the ranges of the variables, or None where that says nothing new."""
    analyzer = sym.Analyzer()
    for var, value in variables.items():
        span = index_range(value)
        if span is not None and str(var.ty.dtype) in ("int32", "int64"):
            analyzer.bind(
                var,
                ir.Range.from_min_extent(
                    ir.prim.IntImm(str(var.ty.dtype), span[0]),
                    ir.prim.IntImm(str(var.ty.dtype), span[1] - span[0] + 1),
                ),
            )
    shorter = analyzer.simplify(expr)
    return None if structural_equal(shorter, expr) else shorter

"""How large an expression is, written out."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.sched.language.expr import Expr, children


def tree_size(expr: Expr) -> int:
    """The number of nodes of an expression written out, where what is shared counts each time. Quick even for billions."""
    return _fold_up(expr, lambda parts: 1 + sum(parts))


def tree_depth(expr: Expr) -> int:
    """How deep an expression is nested; a sum written out term by term is as deep as it has terms."""
    return _fold_up(expr, lambda parts: 1 + max(parts, default=0))


def _fold_up(expr: Expr, combine: Callable[[list[int]], int]) -> int:
    """A number for each node from those of its children, each node visited once, without recursion."""
    known: dict[int, int] = {}
    stack = [expr]
    while stack:
        parts = children(stack[-1])
        missing = [part for part in parts if id(part) not in known]
        if missing:
            stack.extend(missing)
        else:
            known[id(stack[-1])] = combine([known[id(part)] for part in parts])
            stack.pop()
    return known[id(expr)]

"""Which parts of an expression occur several times, and are worth a variable."""

from __future__ import annotations

from loopwright.sched.language.expr import Axis, Const, Expr, Load, children

# Parts of so few nodes are written out again: LLVM finds them equal in no time.
SMALL = 8


def repeated(expr: Expr) -> set[int]:
    """``id`` of the nodes of more than a few parts that stand in several places of an expression.

    Written out, thirty levels of ``x * x + x`` would be a billion nodes. What stands in an index is left where it is.
    """
    sizes: dict[int, int] = {}
    found: set[int] = set()
    stack = [expr]
    while stack:
        current = stack[-1]
        parts = () if isinstance(current, Load) else children(current)
        missing = [part for part in parts if id(part) not in sizes]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if id(current) in sizes:
            continue
        sizes[id(current)] = 1 + sum(sizes[id(part)] for part in parts)
    seen: set[int] = set()
    stack = [expr]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            if sizes[id(current)] > SMALL and not isinstance(current, (Axis, Const, Load)):
                found.add(id(current))
            continue
        seen.add(id(current))
        if not isinstance(current, Load):
            stack.extend(children(current))
    return found

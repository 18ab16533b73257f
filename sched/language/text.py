"""Expressions as text, in the user's names: for errors, printed nests and logs."""

from __future__ import annotations

from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Item,
    Load,
    Operand,
    Reduce,
    Result,
    Select,
    Size,
    Unary,
)
from loopwright.sched.language.extern import Routine

_SIGNS = {
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6), "floordiv": ("//", 6), "mod": ("%", 6), "pow": ("**", 8),
    "eq": ("==", 0), "ne": ("!=", 0), "lt": ("<", 0), "le": ("<=", 0), "gt": (">", 0), "ge": (">=", 0),
    "or": ("|", 1), "and": ("&", 3), "bitor": ("|", 1), "bitxor": ("^", 2), "bitand": ("&", 3),
    "shl": ("<<", 4), "shr": (">>", 4),
}  # fmt: skip


def text(expr: Expr, level: int = 0) -> str:
    """``expr`` as Python-like text; ``level`` is the binding strength of what stands around it."""
    match expr:
        case Const():
            return f"{expr.value:g}" if isinstance(expr.value, float) else str(expr.value)
        case Axis() | Size():
            return expr.name
        case Load():
            indices = ", ".join(text(i) for i in expr.indices)
            return f"{expr.tensor.part_name(expr.part)}[{indices}]"
        case Binary() if expr.op in _SIGNS:
            sign, mine = _SIGNS[expr.op]
            body = f"{text(expr.a, mine)} {sign} {text(expr.b, mine + 1)}"
            return f"({body})" if mine < level else body
        case Binary():
            return f"{expr.op}({text(expr.a)}, {text(expr.b)})"
        case Unary():
            return f"{'-' if expr.op == 'neg' else '~'}{text(expr.a, 7)}"
        case Call(fn=Routine()):
            arrays = (a.tensor.part_name(a.part) for a in expr.args if isinstance(a, Load))
            return f"{expr.fn}({', '.join(arrays)})"
        case Call():
            return f"{expr.fn}({', '.join(text(a) for a in expr.args)})"
        case Cast():
            return f"{expr.dtype}({text(expr.value)})"
        case Select():
            return f"select({text(expr.cond)}, {text(expr.a)}, {text(expr.b)})"
        case Reduce():
            values = text(expr.value) if len(expr.values) == 1 else f"({', '.join(map(text, expr.values))})"
            return f"{expr.label}({values}, over={', '.join(a.name for a in expr.axes)})"
        case Item():
            return f"{text(expr.reduce)}.{expr.part}"
        case Result():
            return f"result.{expr.part}" if expr.part else "result"
        case Operand():
            return f"{expr.side}.{expr.part}"
    raise AssertionError(f"no text for {type(expr).__name__}")

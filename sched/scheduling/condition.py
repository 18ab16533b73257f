"""Conditions of a schedule's special cases: text such as ``"n % 8 == 0"`` or ``"alpha[0] == 0"``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

from loopwright.sched.errors import LoopwrightError, ScheduleError
from loopwright.sched.language.expr import Expr, Size
from loopwright.sched.language.extents import shape_text, sizes_in
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.stage import Input
from loopwright.sched.scheduling.nest import Nests

_BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
_COMPARE = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def parsed(condition: Any, nests: Nests, where: str) -> Expr:
    """The expression that a condition's text means: of elements of inputs, by number, of sizes, and of numbers.

    Errors:
        ScheduleError: it is no such text.
    """
    if not isinstance(condition, str):
        raise ScheduleError(f"{where}: a condition is a text such as 'n >= 16', not {condition!r}")
    try:
        found = _expr(ast.parse(condition.strip(), mode="eval").body, nests)
        dtype = found.dtype if isinstance(found, Expr) else None
    except (SyntaxError, LoopwrightError, KeyError, TypeError, ValueError) as error:
        reason = f"{error.args[0]} is unknown" if isinstance(error, KeyError) else str(error).split("\n")[0]
        raise ScheduleError(
            f"{where}: {condition!r} is no condition ({reason});\n"
            f"it compares elements of inputs such as {_example(nests)}, sizes and numbers"
        ) from None
    if dtype != "bool":
        raise ScheduleError(f"{where}: {condition!r} is not true or false; compare it with something")
    return found


def _example(nests: Nests) -> str:
    tensor = nests.inputs[0] if nests.inputs else None
    return "x[0]" if tensor is None else f"{tensor.name}[{', '.join('0' for _ in tensor.shape)}]"


def _expr(node: ast.expr, nests: Nests) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return node.value
        case ast.Name():
            return _named(node.id, nests)
        case ast.Subscript(value=ast.Name(id=name)):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            tensor = next((t for t in nests.inputs if t.name == name), None)
            if tensor is None:
                raise KeyError(name)
            _check_inside(tensor, [_index(part) for part in parts])
            return tensor[tuple(_index(part) for part in parts)]
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](_expr(node.left, nests), _expr(node.right, nests))
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](_expr(node.left, nests), _expr(right, nests))
        case ast.UnaryOp(op=ast.USub()):
            return -_expr(node.operand, nests)
        case ast.UnaryOp(op=ast.Invert()):
            return ~_expr(node.operand, nests)
    raise ValueError(f"{ast.unparse(node)} is not allowed in it; use ==, <, & and the like")


def _check_inside(tensor: Input, indices: list[int]) -> None:
    """An element that a condition reads is there in every call."""
    for index, size in zip(indices, tensor.shape, strict=False):
        span = (size, size) if isinstance(size, int) else index_range(size)
        if span is None or not 0 <= index < span[0]:
            raise ValueError(f"the index {index} may be outside {tensor.name}{shape_text(tensor.shape)}")


def _index(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    raise ValueError(f"the index {ast.unparse(node)} is no number")


def _named(name: str, nests: Nests) -> Expr:
    sizes = sizes_in(d for t in nests.inputs for d in t.shape if isinstance(d, Expr))
    found: Size | None = next((size for size in sizes if size.name == name), None)
    if found is not None:
        return found
    scalar = next((t for t in nests.inputs if t.name == name and not t.shape), None)
    if scalar is None:
        raise KeyError(name)
    return scalar[()]


def renamed_in(condition: str, names: Mapping[str, str]) -> str:
    """A condition with other names of its inputs."""
    tree = ast.parse(condition.strip(), mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.unparse(tree)


def with_sizes(condition: str, sizes: Mapping[str, int]) -> str | bool:
    """A condition with numbers in place of sizes; whether it holds, if nothing else is asked.

    >>> with_sizes("(n >= 16) & (n % 8 == 0)", {"n": 20})
    False
    >>> with_sizes("(n >= 16) & (x[0] > 0)", {"n": 20})
    '(20 >= 16) & (x[0] > 0)'
    """
    tree = _Numbers(sizes).visit(ast.parse(condition.strip(), mode="eval"))
    if any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        return ast.unparse(tree)
    return bool(_decided(tree.body))


class _Numbers(ast.NodeTransformer):
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.sizes[node.id]) if node.id in self.sizes else node


def _decided(node: ast.expr) -> Any:
    """What an expression of numbers comes to; a division by zero is 0, as in kernels."""
    match node:
        case ast.BinOp():
            a, b = _decided(node.left), _decided(node.right)
            return (
                0 if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and b == 0 else _BINARY[type(node.op)](a, b)
            )
        case ast.Compare():
            return _COMPARE[type(node.ops[0])](_decided(node.left), _decided(node.comparators[0]))
        case ast.UnaryOp(op=ast.USub()):
            return -_decided(node.operand)
        case ast.UnaryOp():
            return not _decided(node.operand)
        case ast.Constant():
            return node.value
    raise AssertionError(ast.unparse(node))

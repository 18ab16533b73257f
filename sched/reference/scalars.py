"""An update in plain numbers: a Python function written for it runs its domain in order.

It is for updates without axes of their own, such as a recurrence over two dimensions, where arrays have nothing to do at
each point. Values are NumPy scalars, so that they round and wrap as arrays do. What the function cannot say is left to
:mod:`loopwright.sched.reference.inorder`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Binary, Cast, Expr, Load, Select, Unary
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.blocks import blocks, cut
from loopwright.sched.reference.inorder import BLOCK, by_point, reads_itself
from loopwright.sched.reference.numbers import BINARIES, floor_of, unit
from loopwright.sched.reference.points import Points, Ranges, Tensors, Value

SIGNS = {
    "add": "+", "sub": "-", "mul": "*",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "and", "or": "or",
}  # fmt: skip


class _Unsayable(Exception):
    """The function has no form for an expression, or met a comparison that rounding may turn."""


def run_scalars(stage: Stage, tensors: Tensors, outs: Sequence[Value]) -> bool:
    """Run an update in order, and say whether it could be; if not, nothing has changed."""
    assert stage.updating is not None
    if len(outs) > 1:
        return False
    (out,) = outs
    if out.slack is not None and out.slack.any() and not dtypes.is_float(stage.dtype):
        return False
    array = list(out.array.reshape(-1))
    slack = None if out.slack is None else out.slack.reshape(-1).tolist()
    try:
        writer = _Writer(stage, out)
        step = writer.function()
        for ranges in blocks(stage.updating.domain, cut(stage.updating.domain, BLOCK)):
            step(array, slack, *writer.arguments(tensors, ranges))
    except _Unsayable:
        return False
    out.array.reshape(-1)[:] = array
    if out.slack is not None:
        out.slack.reshape(-1)[:] = slack
    return True


class _Writer:
    """Writes the function, a line for each operation. An expression is a pair of texts: its value and its slack."""

    def __init__(self, stage: Stage, out: Value) -> None:
        assert stage.updating is not None
        self.stage, self.update, self.out = stage, stage.updating, out
        self.track = out.slack is not None
        self.lines: list[str] = []
        self.known: dict[int, tuple[str, str]] = {}
        # What is computed in advance: expressions whose values (and slacks) are the function's arguments.
        self.ready: list[tuple[Expr, str]] = []
        self.places: list[tuple[tuple[Expr, ...], str]] = []
        self.names: dict[str, Any] = {"rounded": _rounded, "product": _product, "sure": _sure}

    def function(self) -> Callable[..., None]:
        """The function: it takes the elements and their slacks as lists, then what is ready for each point."""
        if self.update.where is not None:
            cond, doubt = self.value(self.update.where)
            if doubt != "0.0":
                raise _Unsayable
            self.lines.append(f"if not {cond}: continue")
        at = self.place(self.update.at, inside=True)
        value, slack = self.value(self.stage.body)
        self.lines.append(f"array[{at}] = {value}")
        if self.track:
            self.lines.append(f"slack[{at}] = {slack}")
        arguments = [name for _, name in self.ready] + [name for _, name in self.places]
        points = f"for {', '.join(arguments)}, in zip({', '.join('_' + name for name in arguments)}):"
        if not arguments:
            raise _Unsayable
        head = f"def step(array, slack, {', '.join('_' + name for name in arguments)}):"
        body = "".join(f"\n        {line}" for line in self.lines)
        exec(compile(f"{head}\n    {points}{body}", f"<update {self.stage.name}>", "exec"), self.names)
        step: Callable[..., None] = self.names["step"]
        return step

    def arguments(self, tensors: Tensors, ranges: Ranges) -> list[Any]:
        """What is ready for the points of a block, a list for each argument of the function."""
        points = Points(tensors, self.update.domain, ranges, self.track)
        extents = [stop - start for start, stop in ranges.values()]
        count = math.prod(extents)
        lists: list[Any] = []
        for expr, _ in self.ready:
            value = by_point(points(expr), extents)
            if value.slack is not None and value.slack.any():
                raise _Unsayable
            lists.append(list(np.broadcast_to(value.array, (count,))))
        return lists + [self._flat(points, indices, extents) for indices, _ in self.places]

    def _flat(self, points: Points, indices: tuple[Expr, ...], extents: list[int]) -> list[int]:
        """Flat positions of elements, clamped into the array as the language has it; -1 outside where it is written."""
        count = math.prod(extents)
        flat, here = np.zeros(count, np.int64), np.ones(count, bool)
        for index, size in zip(indices, self.out.array.shape, strict=True):
            value = by_point(points(index), extents)
            if value.slack is not None and value.slack.any():
                raise _Unsayable
            here &= (value.array >= 0) & (value.array < size)
            flat = flat * size + np.clip(value.array, 0, size - 1).astype(np.int64)
        places: list[int] = (np.where(here, flat, -1) if indices is self.update.at else flat).tolist()
        return places

    # --- expressions --------------------------------------------------------------------------------------------

    def place(self, indices: tuple[Expr, ...], inside: bool = False) -> str:
        """The flat position of an element; ``inside``: a point outside is skipped."""
        if not reads_itself(self.stage, indices):
            name = f"p{len(self.places)}"
            self.places.append((indices, name))
            if inside:
                self.lines.append(f"if {name} < 0: continue")
            return name
        position = "0"
        for index, size in zip(indices, self.out.array.shape, strict=True):
            text, slack = self.value(index)
            if slack != "0.0":
                raise _Unsayable
            name = self.line(f"int({text})")
            if inside:
                self.lines.append(f"if not 0 <= {name} < {size}: continue")
            position = f"({position} * {size} + min(max({name}, 0), {size - 1}))"
        return self.line(position)

    def line(self, text: str) -> str:
        """A name for the value of ``text``."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def value(self, expr: Expr) -> tuple[str, str]:
        """The value of an expression and its slack."""
        if id(expr) not in self.known:
            self.known[id(expr)] = self._value(expr)
        return self.known[id(expr)]

    def _value(self, expr: Expr) -> tuple[str, str]:
        if not reads_itself(self.stage, [expr]):
            name = f"r{len(self.ready)}"
            self.ready.append((expr, name))
            return name, "0.0"
        if expr.dtype in dtypes.NARROW:
            raise _Unsayable
        match expr:
            case Load() if expr.tensor is self.update.base:
                at = self.place(expr.indices)
                slack = self.line(f"slack[{at}]") if self.track and dtypes.is_float(expr.dtype) else "0.0"
                return self.line(f"array[{at}]"), slack
            case Binary():
                return self._binary(expr)
            case Unary(op="neg"):
                text, slack = self.value(expr.a)
                return self.line(f"-{text}"), slack
            case Cast() if not dtypes.is_float(expr.value.dtype):
                text, slack = self.value(expr.value)
                return self.line(f"{text}.astype({expr.dtype!r})"), slack
            case Select():
                (cond, doubt), (a, ea), (b, eb) = (self.value(e) for e in (expr.cond, expr.a, expr.b))
                if doubt != "0.0":
                    raise _Unsayable
                slack = "0.0" if ea == eb == "0.0" else self.line(f"{ea} if {cond} else {eb}")
                return self.line(f"{a} if {cond} else {b}"), slack
        raise _Unsayable

    def _binary(self, expr: Binary) -> tuple[str, str]:
        (a, ea), (b, eb) = self.value(expr.a), self.value(expr.b)
        floats = self.track and dtypes.is_float(expr.a.dtype)
        if expr.op in SIGNS:
            value = self.line(f"{a} {SIGNS[expr.op]} {b}")
        elif expr.op in ("min", "max") and not dtypes.is_float(expr.dtype):
            value = self.line(f"{a} if {a} {'<' if expr.op == 'min' else '>'} {b} else {b}")
        else:
            self.names[f"op_{expr.op}"] = BINARIES[expr.op]
            value = self.line(f"op_{expr.op}({a}, {b})")
        if not floats or ea == eb == "0.0":
            return value, "0.0" if not floats or expr.op not in ("add", "sub", "mul") else self._rounding(
                value, expr
            )
        if expr.dtype == "bool":
            self.lines.append(f"sure({a}, {b}, {ea} + {eb})")
            return value, "0.0"
        if expr.op in ("min", "max"):
            return value, self.line(f"max({ea}, {eb})")
        if expr.op not in ("add", "sub", "mul"):
            raise _Unsayable
        passed = f"product({a}, {ea}, {b}, {eb})" if expr.op == "mul" else f"{ea} + {eb}"
        return value, self.line(f"{passed} + {self._rounding(value, expr)}")

    def _rounding(self, value: str, expr: Expr) -> str:
        return self.line(f"rounded({value}, {unit(expr.dtype)!r}, {floor_of(expr.dtype)!r})")


def _sure(a: Any, b: Any, slack: float) -> None:
    """Give up where rounding may decide how two numbers compare."""
    if slack > 0 and abs(float(a) - float(b)) <= slack:
        raise _Unsayable


def _rounded(value: Any, unit: float, least: float) -> float:
    """How far a rounding leads; an infinity is exact."""
    size = abs(float(value))
    return 0.0 if size == math.inf else size * unit + least


def _product(a: Any, ea: float, b: Any, eb: float) -> float:
    """The slack of a product, but for its own rounding."""
    return (
        (abs(float(a)) * eb if eb else 0.0)
        + (abs(float(b)) * ea if ea else 0.0)
        + (ea * eb if ea and eb else 0.0)
    )

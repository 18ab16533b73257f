"""Random formulas: elements of tensors at random places, put together by random operations of one dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.stage import Tensor

# Functions of floats whose arguments and results stay moderate, whatever they are given.
FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: lw.exp(lw.clip(x, -8, 4)),
    lambda x: lw.exp(lw.clip(x, -8, 4), fast=True),
    lambda x: lw.exp2(lw.clip(x, -8, 4)),
    lambda x: lw.expm1(lw.clip(x, -8, 4)),
    lambda x: lw.log(lw.abs(x) + 1),
    lambda x: lw.log(lw.clip(lw.abs(x), 0, 1000) + 1, fast=True),
    lambda x: lw.log2(lw.abs(x) + 2),
    lambda x: lw.log1p(lw.abs(x)),
    lambda x: lw.sqrt(lw.abs(x) + 1),
    lambda x: lw.rsqrt(lw.abs(x) + 1),
    lambda x: lw.pow(lw.clip(lw.abs(x) + 1, 1, 16), 1.5),
    lw.tanh,
    lw.erf,
    lw.sigmoid,
    lambda x: lw.sigmoid(x, fast=True),
    lambda x: lw.sin(lw.clip(x, -100, 100)),
    lambda x: lw.cos(lw.clip(x, -100, 100)),
)
ANY = ("add", "sub", "mul", "min", "max", "select", "bound")
INTEGER = ("and", "xor", "div", "mod", "saturate", "halve", "shift", "abs")


class Formulas:
    """What draws them, and the stages made of them.

    Attributes:
        dtype: of nearly all that is drawn.
        rounded: whether a function has been drawn, after which nothing is exact.
        stages: what has been defined.
        read: the names of what something reads.
    """

    def __init__(self, rng: Random, dtype: str) -> None:
        self.rng = rng
        self.dtype = dtype
        self.functions = dtypes.is_float(dtype) and rng.random() < 0.25
        self.rounded = False
        self.stages: list[Any] = []
        self.read: set[str] = set()

    def add(self, make: Callable[[str], Any], plainer: Callable[[str], Any]) -> None:
        """One more stage (of tuples all the parts). Where the language refuses what was drawn, it is something plainer."""
        name = f"s{len(self.stages)}"
        try:
            made = make(name)
        except DefinitionError:
            made = plainer(name)
        self.stages += made if isinstance(made, tuple) else (made,)

    def wanted(self) -> tuple[Any, ...]:
        """The stages that a kernel must store: the last one, and those that nothing reads."""
        return tuple(s for s in self.stages if s is self.stages[-1] or s.name not in self.read)

    def source(self) -> Tensor:
        """Something to read."""
        raise NotImplementedError

    def function(self, rank: int, value: Any) -> Any:
        """A function of ``rank`` named axes, as compute wants it."""
        return {
            0: lambda: value(()),
            1: lambda i: value((i,)),
            2: lambda i, j: value((i, j)),
            3: lambda i, j, k: value((i, j, k)),
        }[rank]

    def formula(self, axes: Sequence[Expr], first: Tensor) -> Expr:
        plain = tuple(axis.extent for axis in axes) == first.shape and self.rng.random() < 0.6  # type: ignore[attr-defined]
        value = self.cast(first[tuple(axes)]) if plain else self.load(first, axes)
        for _ in range(self.rng.randint(0, 2)):
            value = self.combine(value, self.load(self.source(), axes), axes)
        return self.finish(value, axes) if self.rng.random() < 0.5 else value

    def finish(self, value: Expr, axes: Sequence[Expr]) -> Expr:
        if self.functions and self.rng.random() < 0.5:
            self.rounded = True
            return self.cast(self.rng.choice(FUNCTIONS)(value))
        return self.combine(value, self.constant(), axes)

    def combine(self, a: Expr, b: Expr, axes: Sequence[Expr]) -> Expr:
        ops = ANY if dtypes.is_float(self.dtype) else (*ANY, *INTEGER)
        match self.rng.choice(ops):
            case "add":
                return a + b
            case "sub":
                return a - b
            case "mul":
                return a * b
            case "min":
                return lw.min(a, b)
            case "max":
                return lw.max(a, b)
            case "select":
                return lw.select(a < b, a, b + 1)
            case "bound":
                axis = self.rng.choice([*axes, lw.const(3, "int32")])
                return lw.select(axis < self.rng.randint(0, 9), a, b)
            case "and":
                return a & b
            case "xor":
                return a ^ b
            case "div":
                return a // self.rng.choice((2, 3, 7))
            case "mod":
                return a % self.rng.choice((2, 3, 5))
            case "saturate":
                return lw.saturating_add(a, self.cast(b)) if a.dtype == self.dtype else a + b
            case "halve":
                return lw.halving_add(a, self.cast(b)) if a.dtype == self.dtype else a - b
            case "shift":
                return a >> self.rng.randint(0, 3) if self.rng.random() < 0.5 else a << self.rng.randint(0, 3)
        return lw.abs(a)

    def constant(self) -> Expr:
        return lw.const(self.rng.randint(0, 5), self.dtype)

    def cast(self, value: Expr) -> Expr:
        return value if value.dtype == self.dtype else lw.cast(self.dtype, value)

    # --- elements -----------------------------------------------------------------------------------------------

    def load(self, tensor: Tensor, axes: Sequence[Expr]) -> Expr:
        """An element of a tensor: each index an axis, shifted, scaled, mirrored, held, or a number."""
        if 0 in tensor.shape:
            return self.constant()
        free = list(axes)
        self.rng.shuffle(free)
        straight = self.rng.random() < 0.6
        order: list[Any] = list(axes) if straight else free
        indices: list[Any] = []
        for size in tensor.shape:
            fitting = [axis for axis in order if axis.extent <= size]
            axis = fitting[0] if fitting else self.rng.choice([*axes, None])
            order = [other for other in order if other is not axis]
            indices.append(self.rng.randrange(size) if axis is None else self.index(axis, size))
        return self.cast(tensor[tuple(indices)])

    def index(self, axis: Any, size: int) -> Any:
        room = size - axis.extent
        pick = self.rng.random()
        if pick < 0.05:
            return self.rng.randrange(size)
        if room >= 0 and pick < 0.7:
            return axis + self.rng.randint(0, room) if pick < 0.2 else axis
        if room >= 0 and pick < 0.8:
            return axis.extent - 1 - axis
        if pick < 0.85:
            return axis // 2 if (axis.extent + 1) // 2 <= size else axis % size
        if pick < 0.9:
            return (axis * 2 + 1) % size
        return lw.clip(axis + self.rng.randint(-2, 2), 0, size - 1)

"""Random workloads: one to four stages of any sort, over odd sizes and several dtypes, each known by a number."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random
from typing import Any

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.stage import Tensor
from loopwright.sched.language.workload import Workload

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 24, 31, 33)
DTYPES = (
    "float32",
    "float32",
    "float32",
    "int32",
    "int32",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int64",
    "float64",
    "float16",
)
MOST_POINTS = 3000
MOST_TERMS = 40_000


def random_work(number: int) -> Workload:
    """The workload of that number."""
    return drawn(seed=number)


@lw.operator
def drawn(seed: int) -> Any:
    """One to four stages; the last is an output, and so is every stage that nothing reads."""
    return _Draw(Random(seed)).outputs()


class _Draw:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(DTYPES)
        self.inputs = [self.input(n) for n in range(rng.randint(1, 2))]
        self.stages: list[Any] = []
        self.read: set[str] = set()

    def outputs(self) -> tuple[Any, ...]:
        """Draw all stages; return those that a kernel must store."""
        for n in range(self.rng.randint(1, 4)):
            make = self.rng.choice(
                (self.pointwise, self.pointwise, self.reduction, self.reduction, self.stencil)
            )
            self.stages.append(make(f"s{n}"))
        last = self.stages[-1]
        return tuple(s for s in self.stages if s is last or s.name not in self.read)

    # --- tensors ------------------------------------------------------------------------------------------------

    def input(self, number: int) -> Tensor:
        rank = self.rng.randint(1, 3)
        return lw.input(f"x{number}", self.shape(rank), self.dtype)

    def shape(self, rank: int) -> tuple[int, ...]:
        while True:
            shape = tuple(self.size() for _ in range(rank))
            if prod(shape) <= MOST_POINTS:
                return shape

    def size(self) -> int:
        return 0 if self.rng.random() < 0.01 else self.rng.choice(SIZES)

    def source(self) -> Tensor:
        """Something to read: the newest stage more often than others."""
        if self.stages and self.rng.random() < 0.7:
            found = self.rng.choice((self.stages[-1], self.rng.choice(self.stages)))
        else:
            found = self.rng.choice(self.inputs)
        self.read.add(found.name)
        return found

    # --- stages -------------------------------------------------------------------------------------------------

    def pointwise(self, name: str) -> Any:
        """Loads anywhere in what there is, put together."""
        first = self.source()
        shape = self.like(first)
        return lw.compute(name, shape, self.function(len(shape), lambda axes: self.formula(axes, first)))

    def stencil(self, name: str) -> Any:
        """Neighbours along one axis of a tensor; the stage is as much smaller, or the border is held."""
        source = self.source()
        dim = self.rng.randrange(source.ndim)
        reach = self.rng.randint(1, 2)
        shape = list(source.shape)
        held = shape[dim] <= reach or self.rng.random() < 0.4
        if not held:
            shape[dim] -= reach

        outside = self.outside(source) if held and 0 not in source.shape else source

        def value(axes: Sequence[Expr]) -> Expr:
            total = None
            for step in range(reach + 1):
                index: list[Any] = list(axes)
                index[dim] = axes[dim] + (step if not held else step - 1)
                term = self.cast(outside[tuple(index)] if 0 not in source.shape else self.constant())
                total = term if total is None else total + term
            assert total is not None
            return self.finish(total, axes)

        return lw.compute(name, tuple(shape), self.function(len(shape), value))

    def outside(self, source: Tensor) -> Any:
        """The source with a boundary condition."""
        kinds = (lw.repeat_edge, lw.repeat_image, lw.mirror_image, lw.mirror_interior)
        pick = self.rng.randrange(len(kinds) + 1)
        return lw.constant_exterior(source, 2) if pick == len(kinds) else kinds[pick](source)

    def reduction(self, name: str) -> Any:
        """One or two reduction axes over a load or a product of two; perhaps with something around it."""
        a, b = self.source(), self.source()
        shape = self.shape(self.rng.randint(0, 2) or 1)
        count = self.rng.choice((1, 1, 1, 2))
        over = tuple(lw.reduce_axis(f"r{n}", self.size()) for n in range(count))
        while prod(axis.extent for axis in over) * prod(shape) > MOST_TERMS:
            over = over[:-1] or (lw.reduce_axis("r0", 7),)

        def value(axes: Sequence[Expr]) -> Expr:
            every = (*over, *axes)
            term = self.load(a, every)
            if self.rng.random() < 0.6:
                term = term * self.load(b, every)
            reduced = self.reduce(term, over)
            return self.finish(reduced, axes) if self.rng.random() < 0.4 else reduced

        return lw.compute(name, shape, self.function(len(shape), value))

    def tuples(self, name: str) -> Any:
        """A stage of pairs: two formulas, two reductions in one loop nest, or the greatest value and where it is."""
        first = self.source()
        kind = self.rng.choice(("formulas", "reductions", "place"))
        shape = self.like(first) if kind == "formulas" else self.shape(1)
        k = lw.reduce_axis("r0", self.rng.choice(SIZES))

        def value(axes: Sequence[Expr]) -> tuple[Expr, Expr]:
            if kind == "formulas":
                return self.formula(axes, first), self.formula(axes, first)
            term = self.load(first, (k, *axes))
            if kind == "reductions":
                return lw.sum(term, over=k), lw.max(self.finish(term, axes), over=k)
            pair: tuple[Expr, Expr] = self.rng.choice((lw.argmax, lw.argmin))(term, over=k, both=True)
            return pair

        return lw.compute(name, shape, self.function(len(shape), value))

    def updated(self, name: str) -> Any:
        """A stage that is changed in place: a scan along its last axis, a histogram, or a sum over a triangle."""
        source = self.source()
        kind = self.rng.choice(("scan", "histogram", "triangle"))
        if 0 in source.shape:
            return self.pointwise(name)
        if kind == "scan":
            s = lw.compute(
                name, source.shape, self.function(source.ndim, lambda axes: self.cast(source[tuple(axes)]))
            )
            t = lw.reduce_axis("t", source.shape[-1])

            def step(axes: Sequence[Expr]) -> Any:
                return (*axes, t), s[(*axes, t - 1)] + s[(*axes, t)]

            return s.update(self.function(source.ndim - 1, step), over=t, where=t >= 1)
        over = tuple(lw.reduce_axis(f"t{n}", size) for n, size in enumerate(source.shape))
        s = lw.compute(name, (self.rng.choice(SIZES),), lambda b: self.constant())
        if kind == "histogram":
            place = lw.cast("int32", source[over])
            return s.update(lambda old: old + 1, at=(place,), over=over)
        value = self.cast(source[over])
        return s.update(lambda b: ((b,), s[b] + value), over=over, where=lambda b: over[-1] <= b)

    def reduce(self, term: Expr, over: tuple[Any, ...]) -> Expr:
        kind = self.rng.choice(("sum", "sum", "sum", "max", "min", "any", "all", "argmax", "argmin"))
        if kind in ("argmax", "argmin"):
            full = all(axis.extent for axis in over)
            return lw.cast(self.dtype, getattr(lw, kind)(term, over=over)) if full else self.constant()
        if kind in ("any", "all"):
            return lw.cast(self.dtype, getattr(lw, kind)(term > self.constant(), over=over))
        if kind == "sum":
            return lw.sum(term, over=over)
        return lw.max(term, over=over) if kind == "max" else lw.min(term, over=over)

    # --- formulas -----------------------------------------------------------------------------------------------

    def function(self, rank: int, value: Any) -> Any:
        """A function of ``rank`` named axes, as compute wants it."""
        return {
            0: lambda: value(()),
            1: lambda i: value((i,)),
            2: lambda i, j: value((i, j)),
            3: lambda i, j, k: value((i, j, k)),
        }[rank]

    def like(self, source: Tensor) -> tuple[int, ...]:
        """The shape of a tensor, perhaps turned."""
        shape = list(source.shape)
        if self.rng.random() < 0.2:
            self.rng.shuffle(shape)
        return tuple(shape)

    def formula(self, axes: Sequence[Expr], first: Tensor) -> Expr:
        plain = tuple(axis.extent for axis in axes) == first.shape and self.rng.random() < 0.6  # type: ignore[attr-defined]
        value = self.cast(first[tuple(axes)]) if plain else self.load(first, axes)
        for _ in range(self.rng.randint(0, 2)):
            value = self.combine(value, self.load(self.source(), axes), axes)
        return self.finish(value, axes) if self.rng.random() < 0.5 else value

    def finish(self, value: Expr, axes: Sequence[Expr]) -> Expr:
        return self.combine(value, self.constant(), axes)

    def combine(self, a: Expr, b: Expr, axes: Sequence[Expr]) -> Expr:
        ops = ["add", "sub", "mul", "min", "max", "select", "bound"]
        if not dtypes.is_float(self.dtype):
            ops += ["and", "xor", "div", "mod"]
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
                axis = self.rng.choice(list(axes))
                return lw.select(axis < self.rng.randint(0, 9), a, b)
            case "and":
                return a & b
            case "xor":
                return a ^ b
            case "div":
                return a // self.rng.choice((2, 3, 7))
        return a % self.rng.choice((2, 3, 5))

    def constant(self) -> Expr:
        return lw.const(self.rng.randint(0, 5), self.dtype)

    def cast(self, value: Expr) -> Expr:
        return value if value.dtype == self.dtype else lw.cast(self.dtype, value)

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
            axis = fitting[0] if fitting else self.rng.choice(list(axes))
            order = [other for other in order if other is not axis]
            indices.append(self.index(axis, size))
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

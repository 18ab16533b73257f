"""Random workloads: one to four stages of any sort, over odd sizes and several dtypes, each known by a number."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random
from typing import Any

import loopwright as lw
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.stage import Tensor
from loopwright.sched.language.workload import Workload
from tests.fuzz.intrinsics import AXPY_DTYPES, PAIRS
from tests.fuzz.open_works import OpenDraw
from tests.fuzz.routines import MOST_RANK, turned
from tests.fuzz.updates import Updates

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 24, 31, 33)
DTYPES = (
    "float32", "float32", "float32", "int32", "int32", "int8", "uint8", "int16", "uint16", "int64", "uint32", "float64",
    "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
MOST_POINTS = 3000
MOST_TERMS = 40_000
OPEN = 0.12  # the share of workloads with open sizes
TENSOR = 0.25  # the share of the others that begin with what intrinsics compute


def random_work(number: int) -> Workload:
    """The workload of that number."""
    return drawn(seed=number)


@lw.operator
def drawn(seed: int) -> Any:
    """One to four stages; the last is an output, and so is every stage that nothing reads."""
    rng = Random(seed)
    return (OpenDraw if rng.random() < OPEN else _Draw)(rng).outputs()


class _Draw(Updates):
    def __init__(self, rng: Random) -> None:
        super().__init__(rng, rng.choice(DTYPES))
        self.inputs = [self.input(n) for n in range(rng.randint(1, 2))]

    def outputs(self) -> tuple[Any, ...]:
        """Draw all stages; return those that a kernel must store."""
        kinds = [self.pointwise] * 4 + [self.reduction] * 4 + [self.stencil] * 2
        kinds += [self.updated] * 2 + [self.tuples, self.pairs, self.routine]
        if self.rng.random() < TENSOR:
            self.add(self.rng.choice((self.product, self.product, self.scaled)), self.pointwise)
        for _ in range(self.rng.randint(0 if self.stages else 1, 4 - len(self.stages))):
            self.add(self.rng.choice(kinds), self.pointwise)
        return self.wanted()

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

    def like(self, source: Tensor) -> tuple[int, ...]:
        """The shape of a tensor, perhaps turned."""
        shape = list(source.shape)
        if self.rng.random() < 0.2:
            self.rng.shuffle(shape)
        return tuple(shape)

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

    def routine(self, name: str) -> Any:
        """What a C function makes of a whole array."""
        source = self.source()
        return turned(name, source) if source.ndim <= MOST_RANK else self.pointwise(name)

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
            if self.rounded:
                return lw.sum(term, over=k), lw.min(term, over=k)
            pair: tuple[Expr, Expr] = self.rng.choice((lw.argmax, lw.argmin))(term, over=k, both=True)
            return pair

        return lw.compute(name, shape, self.function(len(shape), value))

    def product(self, name: str) -> Any:
        """A product of two matrices, of bytes in pairs or of whatever it is: an intrinsic may compute it."""
        M, N, K = (self.rng.choice(sizes) for sizes in ((1, 3, 5, 8), (8, 9, 16, 21, 32), (4, 5, 7, 8, 17)))
        left = self.dtype if self.dtype in (*PAIRS, *AXPY_DTYPES) else "int8"
        right = "int8" if left == "uint8" else left
        rows = left == "float32" and self.rng.random() < 0.5
        a = lw.input("a", (M, K), left)
        named = "rows" if rows else "bytes" if left in PAIRS else "columns"
        b = lw.input(named, (N, K) if rows else (K, N), right)
        self.inputs.append(a)
        k = lw.reduce_axis("k", K)
        kind = "int32" if left in PAIRS else left

        def value(i: Expr, j: Expr) -> Expr:
            element = b[j, k] if rows else b[k, j]
            total = lw.sum(lw.cast(kind, a[i, k]) * lw.cast(kind, element), over=k)
            return self.finish(total, (i, j)) if self.rng.random() < 0.3 else total

        return lw.compute(name, (M, N), value)

    def scaled(self, name: str) -> Any:
        """Rows times a number each, and 1 more: an intrinsic of the tests' own computes it."""
        M, N = self.rng.choice((1, 3, 5)), self.rng.choice((8, 13, 20, 33))
        dtype = self.dtype if self.dtype in AXPY_DTYPES else "float32"
        x, w = lw.input("x", (M, N), dtype), lw.input("scales", (M,), dtype)
        self.inputs.append(x)
        return lw.compute(name, (M, N), lambda i, j: x[i, j] * w[i] + 1)

    def reduce(self, term: Expr, over: tuple[Any, ...]) -> Expr:
        kinds = ("sum", "sum", "sum", "max", "min", "any", "all", "argmax", "argmax", "argmin")
        kind = self.rng.choice(kinds[:5] if self.rounded else kinds)
        if kind in ("argmax", "argmin"):
            full = all(axis.extent for axis in over)
            return lw.cast(self.dtype, getattr(lw, kind)(term, over=over)) if full else self.constant()
        if kind in ("any", "all"):
            return lw.cast(self.dtype, getattr(lw, kind)(term > self.constant(), over=over))
        if kind == "sum":
            return lw.sum(term, over=over)
        return lw.max(term, over=over) if kind == "max" else lw.min(term, over=over)

"""Random workloads whose sizes are open: one kernel serves all of them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import loopwright as lw
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.extents import Extent
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.stage import Tensor
from loopwright.sched.language.workload import Workload
from tests.fuzz.formulas import Formulas

NUMBERS = (0, 1, 2, 7, 8, 9, 17, 33)  # what sizes are tried
DTYPES = ("float32", "float32", "int32", "int8", "uint8", "float64", "float16", "bfloat16")


class OpenDraw(Formulas):
    """One to three stages over one or two sizes."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, rng.choice(DTYPES))
        sizes = [
            lw.size(name, at_least=rng.choice((0, 0, 1)), multiple_of=rng.choice((1, 1, 1, 1, 4)))
            for name in ("n", "m")[: rng.randint(1, 2)]
        ]
        first = [*sizes, *rng.choice(((), (), (3,), (8,)))]
        rng.shuffle(first)
        dims = [*sizes, *(size + 2 for size in sizes), 5]
        second = [rng.choice(dims) for _ in range(rng.randint(1, 2))]
        self.inputs = [lw.input(f"x{n}", tuple(shape), self.dtype) for n, shape in enumerate((first, second))]

    def outputs(self) -> tuple[Any, ...]:
        """Draw all stages; return those that a kernel must store. The first input is read, since it has all sizes."""
        kinds = (
            self.pointwise,
            self.pointwise,
            self.reduction,
            self.stencil,
            self.halves,
            self.scan,
            self.count,
        )
        for _ in range(self.rng.randint(1, 3)):
            source, kind = self.source() if self.stages else self.inputs[0], self.rng.choice(kinds)
            self.add(lambda name: kind(name, source), lambda name: self.pointwise(name, source))  # noqa: B023
        return self.wanted()

    def source(self) -> Tensor:
        """Something to read: a stage more often than an input."""
        found = self.rng.choice([*self.inputs, *self.stages, *self.stages])
        self.read.add(found.name)
        return found

    # --- stages -------------------------------------------------------------------------------------------------

    def pointwise(self, name: str, source: Tensor) -> Any:
        """As the source, perhaps turned, beside other elements that are there."""
        shape = list(source.shape)
        if self.rng.random() < 0.3:
            self.rng.shuffle(shape)

        def value(axes: Sequence[Expr]) -> Expr:
            total = self.element(source, axes)
            for _ in range(self.rng.randint(0, 2)):
                total = self.combine(total, self.element(self.source(), axes), axes)
            return self.cast(self.finish(total, axes))

        return lw.compute(name, tuple(shape), self.function(len(shape), value))

    def reduction(self, name: str, source: Tensor) -> Any:
        """Over one dimension of the source, perhaps times something that has it too."""
        over = self.rng.randrange(source.ndim)
        k = lw.reduce_axis("k", source.shape[over])
        other = self.source()
        shape = [size for at, size in enumerate(source.shape) if at != over] or [3]

        def value(axes: Sequence[Expr]) -> Expr:
            place = list(axes)[: source.ndim - 1]
            place.insert(over, k)
            term = source[tuple(place)]
            if self.rng.random() < 0.5:
                term = term * self.element(other, (k, *axes))
            found = self.rng.choice((lw.sum, lw.sum, lw.max, lw.min))(term, over=k)
            return self.cast(self.finish(found, axes)) if self.rng.random() < 0.5 else found

        return lw.compute(name, tuple(shape), self.function(len(shape), value))

    def stencil(self, name: str, source: Tensor) -> Any:
        """Neighbours along one axis; the border is held, or the stage is smaller."""
        dim = self.rng.randrange(source.ndim)
        shape = list(source.shape)
        smaller = _least(shape[dim]) >= 2
        if smaller:
            shape[dim] = shape[dim] - 2
        elif _least(shape[dim]) == 0:
            return self.pointwise(name, source)
        kinds = (
            lw.repeat_edge,
            lambda x: lw.constant_exterior(x, 2),
        )  # images of a dimension need its length
        read: Any = source if smaller else self.rng.choice(kinds)(source)

        def value(axes: Sequence[Expr]) -> Expr:
            terms = [
                read[tuple(a + step if n == dim else a for n, a in enumerate(axes))] for step in range(3)
            ]
            return self.cast(terms[0] + terms[1] * 2 + terms[2])

        return lw.compute(name, tuple(shape), self.function(len(shape), value))

    def halves(self, name: str, source: Tensor) -> Any:
        """Every second element and the one after it."""
        shape = (*source.shape[:-1], source.shape[-1] // 2)

        def value(axes: Sequence[Any]) -> Expr:
            *rows, i = axes
            return self.cast(source[(*rows, 2 * i)] + source[(*rows, 2 * i + 1)])

        return lw.compute(name, shape, self.function(len(shape), value))

    def scan(self, name: str, source: Tensor) -> Any:
        """Running sums along the last axis, or the first."""
        dim = self.rng.choice((0, source.ndim - 1))
        copy = self.function(source.ndim, lambda axes: self.cast(source[tuple(axes)]))
        s = lw.compute(name, source.shape, copy)
        t = lw.reduce_axis("t", source.shape[dim])

        def value(axes: Sequence[Expr]) -> Any:
            here, before = list(axes), list(axes)
            here.insert(dim, t)
            before.insert(dim, t - 1)
            return tuple(here), self.cast(s[tuple(here)] + s[tuple(before)])

        return s.update(self.function(source.ndim - 1, value), over=t, where=t > 0)

    def count(self, name: str, source: Tensor) -> Any:
        """How often small numbers are there, if it is sure which they are; a row of the source otherwise."""
        if self.rounded:
            return self.pointwise(name, source)
        over = tuple(lw.reduce_axis(f"t{n}", size) for n, size in enumerate(source.shape))
        s = lw.compute(name, (self.rng.choice((1, 5, 16)),), lambda b: lw.cast(self.dtype, b))
        return s.update(lambda old: old + 1, at=lw.cast("int32", source[over]), over=over)

    # --- elements -----------------------------------------------------------------------------------------------

    def element(self, tensor: Tensor, axes: Sequence[Any]) -> Expr:
        """An element at axes as long as its dimensions, forwards or backwards, or as near as they come; or a number."""
        indices: list[Any] = []
        for size in tensor.shape:
            same = [axis for axis in axes if str(axis.extent) == str(size)]
            if same and self.rng.random() < 0.9:
                axis = self.rng.choice(same)
                indices.append(size - 1 - axis if self.rng.random() < 0.2 else axis)
            elif _least(size) == 0:
                return self.constant()
            else:
                indices.append(lw.clip(self.rng.choice([*axes, lw.const(0, "int32")]), 0, size - 1))
        return self.cast(tensor[tuple(indices)])


def _least(size: Extent) -> int:
    if isinstance(size, int):
        return size
    span = index_range(size)
    return 0 if span is None else span[0]


def numbers(work: Workload) -> list[dict[str, int]]:
    """Sizes to try a workload with, as its promises allow; one size differs from another by little."""
    found: list[dict[str, int]] = []
    for number in NUMBERS:
        wanted = {}
        for at, size in enumerate(work.sizes):
            near = max(0, number - at) if number > 2 else number
            wanted[size.name] = max(size.at_least, near // size.multiple_of * size.multiple_of)
        if wanted not in found:
            found.append(wanted)
    return found

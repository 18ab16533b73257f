"""Random updates: histograms, scatters, scans, recursive filters, triangles, and writes at random places in a stated order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.stage import Tensor
from tests.fuzz.formulas import Formulas

SHORT = (1, 2, 3, 5)
ORDERED = ("add", "add", "max", "mul", "sub", "mix")


class Updates(Formulas):
    """Stages that are changed in place."""

    def updated(self, name: str) -> Any:
        """A stage of a drawn sort, updated once or twice."""
        source = self.source()
        kinds = [self.scan, self.triangle, self.ordered, self.ordered]
        if not (self.rounded and dtypes.is_float(source.dtype)):
            kinds += [self.histogram, self.scatter]
        if 0 in source.shape:
            return self.ordered(name, source)
        made = self.rng.choice(kinds)(name, source)
        return self.again(made) if self.rng.random() < 0.2 else made

    def again(self, s: Any) -> Any:
        """One more update, of every element."""
        return s.update(self.function(s.ndim, lambda axes: (tuple(axes), self.finish(s[tuple(axes)], axes))))

    def scan(self, name: str, source: Tensor) -> Any:
        """Along one axis, from its beginning or its end, with one or two of the elements before."""
        dim, size = self.rng.randrange(source.ndim), self.rng.choice((1, 1, 2))
        backwards, keeps = self.rng.random() < 0.3, self.rng.random() < 0.5
        copy = self.function(source.ndim, lambda axes: self.cast(source[tuple(axes)]))
        s = lw.compute(name, source.shape, copy)
        t = lw.reduce_axis("t", source.shape[dim])
        at = t.extent - 1 - t if backwards else t
        step = 1 if backwards else -1

        def value(axes: Sequence[Expr]) -> Any:
            def element(index: Any) -> Expr:
                place = list(axes)
                place.insert(dim, index)
                return s[tuple(place)]

            place = list(axes)
            place.insert(dim, at)
            before = element(at + step) if size == 1 else element(at + step) - element(at + 2 * step)
            return tuple(place), self.cast(lw.max(before, element(at)) if keeps else before + element(at))

        return s.update(self.function(source.ndim - 1, value), over=t, where=t >= size)

    def histogram(self, name: str, source: Tensor) -> Any:
        """How often each number is there: those outside the bins are skipped."""
        over = self.domain(source)
        bins = self.rng.choice((1, 4, 7, 16, 33))
        s = lw.compute(name, (bins,), lambda b: self.constant())
        place = lw.cast("int32", source[over])
        return s.update(lambda old: old + 1, at=(place,), over=over)

    def scatter(self, name: str, source: Tensor) -> Any:
        """Each element to a place that the data says, of which some are outside; the last one stays, or they are added up."""
        over = self.domain(source)
        rows = self.rng.choice((1, 3, 8, 13))
        columns = self.rng.choice((1, 4, 9))
        s = lw.compute(name, (rows, columns), lambda i, j: self.constant())
        place = lw.cast("int32", source[over]) % (rows + 1) - self.rng.choice((0, 0, 1))
        term = self.cast(source[over])
        adds = self.rng.random() < 0.5

        def value(j: Expr) -> Any:
            mine = term + self.cast(j)
            return (place, j), self.cast(s[place, j] + mine if adds else mine)

        return s.update(value, over=over)

    def triangle(self, name: str, source: Tensor) -> Any:
        """Sums over a part of a domain that differs from element to element."""
        over = self.domain(source)
        s = lw.compute(name, (self.rng.choice((1, 4, 7, 13)),), lambda b: self.constant())
        value = self.cast(source[over])
        kind = self.rng.randrange(3)
        wheres = (
            lambda b: over[-1] <= b,
            lambda b: over[-1] > b,
            lambda b: (over[0] + over[-1] < 7) & (b > 0),
        )
        return s.update(lambda b: ((b,), self.cast(s[b] + value)), over=over, where=wheres[kind])

    def pairs(self, name: str) -> Any:
        """A stage of tuples, both parts updated at once: the greatest of each class and where it came, or two sums."""
        source = self.source()
        t = lw.reduce_axis("t", self.rng.choice((1, 3, 7, 16)))
        size = self.rng.choice((1, 2, 5))
        term = self.load(source, (t,))
        parts = lw.compute(name, (size,), lambda k: (self.constant(), self.constant()))
        if self.rng.random() < 0.5:
            return lw.update(parts, lambda v, p: (self.cast(v + term), self.cast(p - v)), at=t % size, over=t)
        found = lambda v, p: (lw.max(v, term), lw.select(term > v, self.cast(t), p))  # noqa: E731
        return lw.update(parts, found, at=t % size, over=t, where=t > 0)

    def domain(self, source: Tensor) -> tuple[Any, ...]:
        """An axis for each dimension of a tensor."""
        return tuple(lw.reduce_axis(f"t{n}", size) for n, size in enumerate(source.shape))

    # --- in a stated order --------------------------------------------------------------------------------------

    def ordered(self, name: str, source: Tensor) -> Any:
        """Writes at places that are linear in a domain, or numbers, or known to the data only; some outside, some met twice."""
        rng = self.rng
        shape = tuple(rng.choice((1, 3, 4, 6)) for _ in range(rng.choice((1, 2, 2, 3))))
        over = tuple(lw.reduce_axis(f"t{n}", rng.choice(SHORT)) for n in range(rng.choice((1, 2, 2, 3))))
        own = rng.randrange(len(shape)) if len(shape) > 1 and rng.random() < 0.4 else None
        fill = self.function(len(shape), lambda axes: reduce(lambda a, b: a + b, map(self.cast, axes)))
        s = lw.compute(name, shape, fill)
        places = [self.place(over, source) for _ in shape]
        reads = [self.places_near(places, over, source) for _ in range(rng.choice((0, 1, 1, 2)))]
        op, condition = rng.choice(ORDERED), rng.random() < 0.4
        axis, bound = rng.choice(over), rng.choice((0, 1))

        def value(axes: Sequence[Expr]) -> Any:
            def full(parts: list[Expr]) -> tuple[Expr, ...]:
                return tuple(axes[0] if n == own else part for n, part in enumerate(parts))

            at = full(places)
            term = self.load(source, over)
            for number, parts in enumerate(reads):
                term = self.joined(op, number, term, self.element(s, full(parts), at))
            return at, self.cast(term)

        where = axis > bound if condition else None
        return s.update(self.function(0 if own is None else 1, value), over=over, where=where)

    def place(self, over: tuple[Any, ...], source: Tensor) -> Expr:
        rng, pick = self.rng, self.rng.random()
        axis = rng.choice(over)
        if pick < 0.65:
            scale = rng.choice((1, 1, 1, 1, 2, -1))
            shift = rng.choice((-1, 0, 0, 0, 1, 1, 2)) + (axis.extent - 1 if scale < 0 else 0)
            return axis * scale + shift
        if pick < 0.8:
            return lw.const(rng.randrange(4), "int32")
        if pick < 0.9 and len(over) > 1:
            first, second = rng.sample(over, 2)
            return first + second
        if self.rounded and dtypes.is_float(source.dtype):
            return axis
        return lw.cast("int32", self.load(source, over)) % 5

    def places_near(self, places: list[Expr], over: tuple[Any, ...], source: Tensor) -> list[Expr]:
        """Where an update reads: often where it writes, or in the same row."""
        if self.rng.random() < 0.45:
            return places
        return [part if self.rng.random() < 0.4 else self.place(over, source) for part in places]

    def element(self, s: Any, index: tuple[Expr, ...], at: tuple[Expr, ...]) -> Expr:
        """An element of the stage that changes; 0 outside of it. Where it writes it is inside."""
        if all(a is b for a, b in zip(index, at, strict=True)):
            return s[index]
        inside = reduce(lambda a, b: a & b, ((i >= 0) & (i < n) for i, n in zip(index, s.shape, strict=True)))
        return lw.select(inside, s[index], lw.const(0, self.dtype))

    def joined(self, op: str, number: int, term: Expr, element: Expr) -> Expr:
        match op:
            case "add":
                return term + element
            case "max":
                return lw.max(term, element)
            case "mul":
                return term * element
            case "sub":
                return element - term
        return element + term if number else term - element

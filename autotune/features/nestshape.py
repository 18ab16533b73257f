"""Loop extents and footprints of a scheduled stage, for many fillings of its knobs at once.

Lowering one candidate takes milliseconds, and the search looks at thousands. So what the cost model asks for is computed from
the nests, where every extent is an array over candidates instead of a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Load
from loopwright.sched.language.extents import known_shape
from loopwright.sched.language.stage import Stage
from loopwright.sched.scheduling.nest import Fuse, Split, StageNest

Array = np.ndarray[Any, Any]
# One number for all candidates, or an array with one for each. Plain numbers are much the faster to compute with.
Size = Array | int | float
LINE = 64  # bytes of a cache line


@dataclass(frozen=True)
class Access:
    """One tensor as a stage reads or writes it: for each dimension the axes that move its index, with their steps."""

    tensor: str
    shape: tuple[Size, ...]
    itemsize: int
    dims: tuple[tuple[tuple[Axis, Size], ...], ...]
    packed: bool = False
    write: bool = False

    def uses(self, axis: Axis) -> bool:
        """Whether the axis moves the access."""
        return any(axis is a for dim in self.dims for a, _ in dim)

    def stride_one(self, axis: Axis) -> bool:
        """Whether a step along the axis goes to the next element in memory."""
        if not self.dims or any(a is axis for dim in self.dims[:-1] for a, _ in dim):
            return False
        return any(a is axis and isinstance(step, int) and step == 1 for a, step in self.dims[-1])


def steps(index: Expr) -> tuple[tuple[Axis, int], ...]:
    """The axes in an index, with the factors before them; what is no plain sum counts with a step of 1.

    Example:
        >>> i, j = Axis("i", 4), Axis("j", 4)
        >>> [(axis.name, step) for axis, step in steps(i * 2 + j)]
        [('i', 2), ('j', 1)]
    """
    found: dict[Axis, int] = {}

    def visit(e: Expr, factor: int) -> None:
        match e:
            case Axis():
                found[e] = found.get(e, 0) + factor
            case Cast():
                visit(e.value, factor)
            case Binary(op="mul") if isinstance(e.b, Const):
                visit(e.a, factor * int(e.b.value))
            case Binary(op="mul") if isinstance(e.a, Const):
                visit(e.b, factor * int(e.a.value))
            case Binary(op="sub"):
                visit(e.a, factor)
                visit(e.b, -factor)
            case Binary(op="floordiv" | "mod"):
                visit(e.a, factor)
            case Binary():
                visit(e.a, factor)
                visit(e.b, factor)

    visit(index, 1)
    return tuple((axis, step) for axis, step in found.items() if step)


def access_of(load: Load, packed: bool = False) -> Access:
    """The access a load makes."""
    tensor = load.tensor
    dims = tuple(steps(index) for index in load.indices)
    return Access(tensor.name, known_shape(tensor.shape), dtypes.itemsize(tensor.dtype), dims, packed)


def write_of(stage: Stage) -> Access:
    """The access by which a stage stores its elements."""
    places = stage.axes if stage.updating is None else stage.updating.at
    dims = tuple(steps(index) for index in places)
    return Access(stage.name, known_shape(stage.shape), dtypes.itemsize(stage.dtype), dims, write=True)


class NestShape:
    """A stage's loops over a population: ``extent[name]`` is an array (or a number) for every loop of the nest.

    Args:
        nest: the loops; the same for the whole population, but for the factors of splits.
        factors: outer loop of a split -> its factor for each candidate.
        domain: axis name -> how much of the axis is computed.
    """

    def __init__(self, nest: StageNest, factors: Mapping[str, Size], domain: Mapping[str, Size]) -> None:
        self.nest = nest
        # Loops of all times, those that were split or fused since included, are told apart by ids.
        self._sizes: dict[str, Size] = dict(domain)
        self._current = {name: name for name in domain}
        self._axes = {name: frozenset((name,)) for name in domain}
        self._splits: dict[str, tuple[str, str, Size]] = {}
        self._fused: dict[str, tuple[str, Size, bool]] = {}
        self.tails: Size = 0  # splits that leave a rest
        for relation in nest.relations:
            if isinstance(relation, Split):
                self._split(relation, factors.get(relation.outer, relation.factor))
            else:
                self._fuse(relation)
        self.leaves = [loop.name for loop in nest.loops]
        self._leaf_ids = {self._current[name]: name for name in self.leaves}
        self.extent = {name: self._sizes[self._current[name]] for name in self.leaves}
        self.roots = {name: self._axes[self._current[name]] for name in self.leaves}
        self._spans: dict[tuple[str, frozenset[str]], Size] = {}
        self._touched: dict[tuple[int, frozenset[str]], Size] = {}
        self._moving: dict[int, frozenset[str]] = {}

    def _new(self, name: str, size: Size, axes: frozenset[str]) -> str:
        key = name
        while key in self._sizes:
            key += "'"
        self._sizes[key], self._axes[key], self._current[name] = size, axes, key
        return key

    def _split(self, split: Split, factor: Size) -> None:
        parent = self._current[split.parent]
        size, axes = self._sizes[parent], self._axes[parent]
        outer = self._new(split.outer, -(-size // factor), axes)
        inner = self._new(split.inner, least(factor, size), axes)
        self._splits[parent] = (outer, inner, factor)
        self.tails = self.tails + 1 * (size % factor != 0)

    def _fuse(self, fuse: Fuse) -> None:
        outer, inner = self._current[fuse.outer], self._current[fuse.inner]
        length = self._sizes[inner]
        fused = self._new(fuse.fused, self._sizes[outer] * length, self._axes[outer] | self._axes[inner])
        self._fused[outer], self._fused[inner] = (fused, length, True), (fused, length, False)

    def moving(self, access: Access) -> frozenset[str]:
        """The loops of the nest that move an access."""
        if id(access) not in self._moving:
            axes = {axis.name for dim in access.dims for axis, _ in dim}
            self._moving[id(access)] = frozenset(name for name in self.leaves if self.roots[name] & axes)
        return self._moving[id(access)]

    def span(self, axis: str, inside: frozenset[str]) -> Size:
        """How many consecutive values an axis takes while the loops ``inside`` run."""
        own = frozenset(name for name in inside if axis in self.roots[name])
        found = self._spans.get((axis, own))
        if found is None:
            found = self._spans[axis, own] = self._span(axis, own)
        return found

    def _span(self, key: str, inside: frozenset[str]) -> Size:
        if key in self._splits:
            outer_key, inner_key, factor = self._splits[key]
            outer, inner = self._span(outer_key, inside), self._span(inner_key, inside)
            return least((outer - 1) * factor + inner, self._sizes[key])
        if key in self._fused:
            fused, length, is_outer = self._fused[key]
            whole = self._span(fused, inside)
            return -(-whole // length) if is_outer else least(whole, length)
        return self._sizes[key] if self._leaf_ids.get(key) in inside else 1

    def covered(self, access: Access, inside: frozenset[str]) -> list[Size]:
        """For each dimension of a tensor, how much of it an access touches while the loops ``inside`` run."""
        sizes = []
        for dim, size in zip(access.dims, access.shape, strict=True):
            total: Size = 1
            for axis, step in dim:
                total = total + most(step, -step) * (self.span(axis.name, inside) - 1)
            sizes.append(least(total, size))
        return sizes

    def touched(self, access: Access, inside: frozenset[str]) -> Size:
        """Bytes of cache that an access fills while the loops ``inside`` run: whole lines, unless the tensor is packed."""
        relevant = inside & self.moving(access)
        key = (id(access), relevant)
        if key not in self._touched:
            self._touched[key] = self._bytes(access, relevant)
        return self._touched[key]

    def _bytes(self, access: Access, inside: frozenset[str]) -> Size:
        sizes = self.covered(access, inside)
        if not sizes:
            return access.itemsize
        *rest, last = sizes
        row = last * access.itemsize
        if not access.packed:
            # A piece of a row shares its lines with its neighbours; half a line more on average at unaligned ends.
            whole = last >= access.shape[-1]
            if isinstance(whole, bool):
                row = row if whole else most(row, LINE)
            else:
                row = np.where(whole, row, np.maximum(row, LINE))
        return product([*rest, row])

    def product(self, names: Sequence[str]) -> Size:
        """How often a body inside these loops runs."""
        return product([self.extent[name] for name in names])


def product(values: Iterable[Size]) -> Size:
    """The product of sizes, as a float: it may be larger than an integer of 64 bits."""
    total: Size = 1.0
    for value in values:
        total = total * value
    return total


def least(a: Size, b: Size) -> Size:
    """The smaller one, for each candidate.

    Example:
        >>> least(3, 2), least(np.array([1, 5]), 2).tolist()
        (2, [1, 2])
    """
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        smaller: Array = np.minimum(a, b)
        return smaller
    return min(a, b)


def most(a: Size, b: Size) -> Size:
    """The larger one, for each candidate."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        larger: Array = np.maximum(a, b)
        return larger
    return max(a, b)

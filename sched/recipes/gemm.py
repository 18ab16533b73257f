"""The recipe for stages like a matrix product: a register tile, cache blocks around it, packing, parallel blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.roles import Operand, Roles
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs
# Tiles are counted outside the innermost loops, where asking whether there is one more costs nothing; peeling blocks would
# double the code, and with it the time to compile.
WHOLE = "guard"
Packing = Literal["none", "root", "block"]
Sharing = Literal["rows", "columns", "both"]


@dataclass(frozen=True)
class GemmPlan:
    """The choices of the recipe; numbers may be knobs.

    Attributes:
        rows, columns: the register tile. ``columns`` are elements of the vector axis.
        row_tiles, column_tiles: register tiles in a cache block.
        unroll: reduction steps written out.
        depth: reduction steps in a block, None for all of them at once. A block of the packed operand then stays in the
            cache while all rows of the block pass by; partial sums are kept in the output.
        packing: copy the vectorized operand into the order it is read in: not at all, all of it first, or each block of
            columns where it is used.
        sharing: what the cores divide among themselves: blocks of rows, of columns, or both together.
        order: of the tiles in a block: ``rows`` has the loop over row tiles outside. A name stands for a knob with both.
    """

    rows: Number
    columns: Number
    row_tiles: Number
    column_tiles: Number
    unroll: Number
    depth: Number | None = None
    packing: Packing = "none"
    sharing: Sharing = "columns"
    order: str = "columns"


def gemm(schedule: Schedule, roles: Roles, plan: GemmPlan) -> Schedule:
    """Schedule a GEMM-like stage."""
    return _Gemm(schedule, roles, plan).written()


class _Gemm:
    """The loops of one stage by their names, and the directives in the order they must come."""

    def __init__(self, schedule: Schedule, roles: Roles, plan: GemmPlan) -> None:
        assert roles.vector is not None and roles.rows is not None
        self.schedule, self.roles, self.plan = schedule, roles, plan
        self.stage = roles.stage.name
        self.rows, self.columns = roles.rows.name, roles.vector.name
        names = Names(schedule.nests.stages[self.stage])
        self.row_tile, self.row = names.pair(self.rows, "t", "r")
        self.column_tile, self.lane = names.pair(self.columns, "t", "v")
        self.row_block, self.row_in = names.pair(self.rows, "o", "b")
        self.column_block, self.column_in = names.pair(self.columns, "o", "b")
        self.steps = [axis.name for axis in roles.reduce]
        self.deep, self.unrolled = names.pair(self.steps[-1], "o", "u") if self.steps else ("", "")
        self.deep_block, self.deep_in = names.pair(self.steps[-1], "d", "s") if self.steps else ("", "")
        self.shared = names.new("p")
        self.names = names

    def written(self) -> Schedule:
        """The whole recipe."""
        s, plan, stage = self.schedule, self.plan, self.stage
        s = s.split(f"{stage}.{self.rows}", (self.row_tile, self.row), plan.rows)
        s = s.split(f"{stage}.{self.row_tile}", (self.row_block, self.row_in), plan.row_tiles, WHOLE)
        s = s.split(f"{stage}.{self.columns}", (self.column_tile, self.lane), plan.columns)
        blocks = (self.column_block, self.column_in)
        s = s.split(f"{stage}.{self.column_tile}", blocks, plan.column_tiles, WHOLE)
        steps = self.steps[-1]
        if plan.depth is not None:
            s, steps = s.split(f"{stage}.{steps}", (self.deep_block, self.deep_in), plan.depth), self.deep_in
        s = s.split(f"{stage}.{steps}", (self.deep, self.unrolled), plan.unroll)
        s = s.reorder(stage, self._order())
        s = s.reorder(stage, self._tile_order())
        s, outermost, block = self._fused(s)
        s = (
            s.vectorize(f"{stage}.{self.lane}")
            .unroll(f"{stage}.{self.row}")
            .unroll(f"{stage}.{self.unrolled}")
        )
        s = s.parallel(f"{stage}.{outermost}")
        for operand in self._packed():
            s = pack(
                s, operand, self.roles, plan.columns, f"{stage}.{block}" if plan.packing == "block" else None
            )
        return s

    def _order(self) -> str:
        """All loops, outermost first."""
        outside = [axis.name for axis in self.roles.outer]
        blocks = [self.row_block, self.column_block]
        if self.plan.sharing == "columns":
            blocks.reverse()
        tiles = [self.row_in, self.column_in]
        if self.plan.depth is not None:
            blocks.insert(1 if self.plan.sharing == "columns" else 2, self.deep_block)
        rest = [*self.steps[:-1], self.deep, self.unrolled, self.row, self.lane]
        ones = [axis.name for axis in self.roles.stage.all_axes if axis.extent == 1]
        return " ".join([*ones, *outside, *blocks, *tiles, *rest])

    def _tile_order(self) -> str | Knob:
        orders = {"rows": f"{self.row_in} {self.column_in}", "columns": f"{self.column_in} {self.row_in}"}
        return orders.get(self.plan.order) or Knob(self.plan.order, tuple(orders.values()))

    def _fused(self, s: Schedule) -> tuple[Schedule, str, str]:
        """Fuse what the cores share out; the loop to run in parallel, and the loop at which a block of columns is whole."""
        blocks = [self.row_block, self.column_block]
        if self.plan.sharing == "columns":
            blocks.reverse()
        inside = blocks if self.plan.sharing == "both" else blocks[:1]
        shared = [axis.name for axis in self.roles.outer] + inside
        outermost, *others = shared
        for number, loop in enumerate(others):
            name = self.shared if number == len(others) - 1 else self.names.new("f")
            s = s.fuse(f"{self.stage}.{outermost}", f"{self.stage}.{loop}", name)
            outermost = name
        whole = outermost if self.column_block in shared else self.column_block
        if self.plan.depth is not None:
            whole = self.deep_block
        return s, outermost, whole

    def _packed(self) -> list[Operand]:
        """The operands to copy: all that must be, and with packing also those that could be read as they are."""
        if self.plan.packing == "none":
            return []
        return [o for o in self.roles.streams if packable(o, self.roles)]


def packable(operand: Operand, roles: Roles) -> bool:
    """Whether the recipe can copy this operand: its indices are plain, and the vector axis is one of them."""
    plain = operand.plain and sum(1 for dim in operand.dims if roles.vector in dim) == 1
    return plain and all(dim for dim, size in zip(operand.dims, operand.shape, strict=True) if size > 1)


def pack(schedule: Schedule, operand: Operand, roles: Roles, lanes: Number, at: str | None) -> Schedule:
    """Copy an operand so that its vectors lie one after the other in the order of the reduction."""
    name = free_name(schedule.nests, f"{operand.name}_packed")
    s = schedule.cache_read(operand.name, at=at, name=name, consumers=[roles.stage.name])
    nest = s.nests.stages[name]
    names = Names(nest)
    dims = [next(iter(dim), None) for dim in operand.dims]
    loops = [axis.name for axis in nest.stage.axes]
    vector = next(loop for loop, axis in zip(loops, dims, strict=True) if axis is roles.vector)
    outer, inner = names.pair(vector, "o", "i")
    s = s.split(f"{name}.{vector}", (outer, inner), lanes)
    reducing = [loop for loop, axis in zip(loops, dims, strict=True) if axis is not None and axis.reduce]
    others = [loop for loop in loops if loop != vector and loop not in reducing]
    # Of a block the few vectors of a row are copied together: the other way round LLVM writes out whole copies of the long loop.
    copied = [*others, outer, *reducing] if at is None else [*others, *reducing, outer]
    s = s.reorder(name, " ".join([*copied, inner]))
    s = s.transform_layout(name, " ".join([*others, outer, *reducing, inner]))
    if at is None:
        first = [*others, outer]
        shared = first[0]
        for loop in first[1:]:
            fused = names.new("p")
            if _in_layout(s, name):
                break
            s, shared = s.fuse(f"{name}.{shared}", f"{name}.{loop}", fused), fused
        s = s.parallel(f"{name}.{shared}")
    return s.vectorize(f"{name}.{inner}")


def _in_layout(schedule: Schedule, stage: str) -> bool:
    return schedule.nests.stages[stage].layout is not None


def free_name(nests: Nests, wanted: str) -> str:
    """A name that no tensor has."""
    name, number = wanted, 2
    while nests.tensor(name) is not None:
        name, number = f"{wanted}{number}", number + 1
    return name

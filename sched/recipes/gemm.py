"""The recipe for stages like a matrix product: a register tile, cache blocks around it, packing, parallel blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.packing import compute_here, keep, pack, steps_last
from loopwright.sched.recipes.products import Products
from loopwright.sched.recipes.roles import Operand, Roles, packable
from loopwright.sched.scheduling.knobs import Knob
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
        band: iterations of the innermost axis outside the tile that are in one block, where they share what is packed.
        lanes: elements of a vector of what is laid out anew for a turned stage.
        here: producers that are computed in each block, over what it reads; the others are computed whole, before.
        products: how narrow elements are multiplied and summed; None for plain multiply-adds. What they read is always packed.
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
    band: Number | None = None
    lanes: int = 8
    here: tuple[str, ...] = ()
    products: Products | None = None


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
        self.steps = [axis.name for axis in roles.steps]
        self.outside = [axis.name for axis in roles.outer]
        self.band_in = ""
        if plan.band is not None:
            self.banded = self.outside.pop()
            self.band, self.band_in = names.pair(self.banded, "o", "b")
            self.outside.append(self.band)
        self.deep, self.unrolled = names.pair(self.steps[-1], "o", "u") if self.steps else ("", "")
        self.deep_block, self.deep_in = names.pair(self.steps[-1], "d", "s") if self.steps else ("", "")
        # What an intrinsic stands for are loops over its results, and over the terms that it sums.
        self.dot = plan.products if plan.products is not None and plan.products.intrinsic else None
        self.groups, self.terms = names.pair(self.steps[-1], "q", "g") if self.dot else ("", "")
        self.vectors, self.results = names.pair(self.lane, "o", "l") if self.dot else ("", "")
        self.shared = names.new("p")
        self.names = names

    def written(self) -> Schedule:
        """The whole recipe."""
        s, plan, stage = self.schedule, self.plan, self.stage
        if plan.products is not None:
            s = keep(s, plan.products, self.roles, plan.lanes * self.roles.itemsize)
        s = s.split(f"{stage}.{self.rows}", (self.row_tile, self.row), plan.rows)
        s = s.split(f"{stage}.{self.row_tile}", (self.row_block, self.row_in), plan.row_tiles, WHOLE)
        tail = "pad" if self.dot else "auto"
        s = s.split(f"{stage}.{self.columns}", (self.column_tile, self.lane), plan.columns, tail)
        blocks = (self.column_block, self.column_in)
        s = s.split(f"{stage}.{self.column_tile}", blocks, plan.column_tiles, WHOLE)
        if plan.band is not None:
            s = s.split(f"{stage}.{self.banded}", (self.band, self.band_in), plan.band, WHOLE)
        s = self._steps_split(s)
        s = s.reorder(stage, self._order())
        s = s.reorder(stage, self._tile_order())
        s, outermost, block = self._fused(s)
        s = s.vectorize(f"{stage}.{self.lane}") if not self.dot else s.unroll(f"{stage}.{self.vectors}")
        if self.dot is None or not self.dot.tiles:
            s = s.unroll(f"{stage}.{self.row}").unroll(f"{stage}.{self.unrolled}")
        s = s.parallel(f"{stage}.{outermost}")
        for producer in plan.here:
            s = compute_here(s, producer, f"{stage}.{outermost}", plan.columns)
        for operand in self._packed():
            at = f"{stage}.{block}" if plan.packing == "block" else None
            s = pack(s, operand, self.roles, plan.columns, at, plan.products)
        if self.dot is not None:
            return self._tensorized(s, self.dot)
        return steps_last(s, self.roles, plan.lanes) if self.roles.turned and plan.products is None else s

    def _steps_split(self, s: Schedule) -> Schedule:
        """The innermost steps of the reduction: in groups that an intrinsic sums, in blocks, and some written out."""
        stage, plan, steps = self.stage, self.plan, self.steps[-1]
        terms = 1
        if self.dot is not None:
            terms = self.dot.terms
            s, steps = s.split(f"{stage}.{steps}", (self.groups, self.terms), terms), self.groups
            s = s.split(f"{stage}.{self.lane}", (self.vectors, self.results), self.dot.lanes)
        if plan.depth is not None:
            blocks = (self.deep_block, self.deep_in)
            s, steps = s.split(f"{stage}.{steps}", blocks, plan.depth // terms), self.deep_in
        return s.split(f"{stage}.{steps}", (self.deep, self.unrolled), plan.unroll)

    def _tensorized(self, s: Schedule, dot: Products) -> Schedule:
        """The innermost loops done by the intrinsic; groups are whole where the copies are."""
        if dot.padded:
            s = s.pad(self.stage, dot.axis.name, dot.terms)
        return s.tensorize(f"{self.stage}.{self.row if dot.tiles else self.results}", str(dot.intrinsic))

    def _order(self) -> str:
        """All loops, outermost first."""
        blocks = [self.row_block, self.column_block]
        if self.plan.sharing == "columns":
            blocks.reverse()
        tiles = [*([self.band_in] if self.band_in else []), self.row_in, self.column_in]
        if self.plan.depth is not None:
            blocks.insert(1 if self.plan.sharing == "columns" else 2, self.deep_block)
        tile = [self.unrolled, self.row, self.lane]
        if self.dot is not None and self.dot.tiles:
            tile = [self.vectors, self.row, self.results, self.unrolled, self.terms]
        elif self.dot is not None:
            tile = [self.unrolled, self.row, self.vectors, self.results, self.terms]
        rest = [*self.steps[:-1], self.deep, *tile]
        ones = [axis.name for axis in self.roles.stage.all_axes if axis.extent == 1]
        return " ".join([*ones, *self.outside, *blocks, *tiles, *rest])

    def _tile_order(self) -> str | Knob:
        rows = f"{self.band_in} {self.row_in}".strip()
        orders = {"rows": f"{rows} {self.column_in}", "columns": f"{self.column_in} {rows}"}
        return orders.get(self.plan.order) or Knob(self.plan.order, tuple(orders.values()))

    def _fused(self, s: Schedule) -> tuple[Schedule, str, str]:
        """Fuse what the cores share out; the loop to run in parallel, and the loop at which a block of columns is whole."""
        blocks = [self.row_block, self.column_block]
        if self.plan.sharing == "columns":
            blocks.reverse()
        inside = blocks if self.plan.sharing == "both" else blocks[:1]
        shared = self.outside + inside
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
        return [o for o in self.roles.streams if packable(o, self.roles.vector)]

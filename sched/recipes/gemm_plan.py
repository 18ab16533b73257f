"""The numbers of the recipe for matrix products, from a target's registers, caches and cores."""

from __future__ import annotations

from math import ceil, prod

from loopwright.sched import dtypes
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import native_lanes, points
from loopwright.sched.recipes.gemm import GemmPlan, Packing, Sharing
from loopwright.sched.recipes.products import Products
from loopwright.sched.recipes.roles import Roles, packed_ahead
from loopwright.sched.recipes.turned import turned
from loopwright.sched.runtime.target import Target

# A reduction of so many steps is done in blocks, that what is packed for it stays in the cache.
LONG, BLOCK = 1024, 256
# Steps of the reduction that are written out.
STEPS = 4
# Cycles for each: a multiply-add on vectors that are not aligned, an element of a result written alone, one laid out anew.
WINDOWED, WRITE, MOVE = 1.1, 8, 2
# More rows of a picture in a block gain nothing.
BAND = 16


def tile_roles(roles: Roles, target: Target) -> Roles | None:
    """The roles that a register tile is made for: those of the output's order in memory, or turned; None where none pays."""
    other = turned(roles)
    if other is None or not roles.gemm_like:
        return other if other is not None else roles if roles.gemm_like else None
    return other if _turned_cost(other, target) < _padded(roles, target) * WINDOWED else roles


def _turned_cost(roles: Roles, target: Target) -> float:
    """How much longer a turned tile takes than one without waste: lanes left empty, results written one by one, operands
    laid out anew."""
    depth = prod(known(axis.extent) for axis in roles.reduce)
    laid_out = sum(o.elements for o in roles.operands) * MOVE * native_lanes(roles, target)
    return _padded(roles, target) * (1 + WRITE / depth) + laid_out / points(roles)


def _padded(roles: Roles, target: Target) -> float:
    """The share of lanes that have no element."""
    assert roles.vector is not None
    lanes, extent = native_lanes(roles, target), known(roles.vector.extent)
    return ceil(extent / lanes) * lanes / extent


def gemm_plan(roles: Roles, target: Target, products: Products | None = None) -> GemmPlan:
    """A register tile that fills the registers, blocks that fit the second cache, even shares for the cores."""
    assert roles.rows is not None and roles.vector is not None
    rows, columns = register_tile(roles, target)
    columns = max(columns, products.lanes if products is not None else 1)
    if products is not None and products.tiles:
        rows, columns = products.rows, products.lanes
    row_tiles = ceil(known(roles.rows.extent) / rows)
    column_tiles = ceil(known(roles.vector.extent) / columns)
    last = known(roles.steps[-1].extent) if roles.steps else 1
    tiles = products is not None and products.tiles
    blocked = last >= LONG and roles.shared is None and not tiles
    depth = prod(known(axis.extent) for axis in roles.steps[:-1]) * (BLOCK if blocked else last)
    # A block of columns stays in the second cache while all rows pass by.
    itemsize = roles.itemsize if products is None else dtypes.itemsize(products.stream_dtype)
    wide = max(1, min(column_tiles, target.l2 // 2 // max(1, depth * columns * itemsize)))
    packing = packing_of(roles, rows, column_tiles, products)
    sharing, *_ = possible = sharings(roles, products)
    band = band_of(roles, target)
    batches = prod(known(axis.extent) for axis in roles.outer)
    batches = batches if band is None else ceil(batches / band)
    if batches >= 2 * target.cores:
        row_block, column_block = row_tiles, column_tiles if packing == "root" else wide
    elif column_tiles >= target.cores and "columns" in possible:
        row_block, column_block = row_tiles, even_share(column_tiles, wide, target.cores)
    else:
        sharing = "rows"
        row_block, column_block = (
            even_share(row_tiles, ceil(row_tiles / target.cores), target.cores),
            column_tiles,
        )
    steps = STEPS
    if products is not None:
        steps = products.steps if products.tiles else min(STEPS, products.steps)
    return GemmPlan(
        rows=rows,
        columns=columns,
        row_tiles=row_block,
        column_tiles=column_block,
        unroll=steps,
        depth=BLOCK if blocked and (packing == "block" or packed_ahead(roles)) else None,
        packing=packing,
        sharing=sharing,
        order="rows" if roles.shared is None else "columns",
        band=band,
        lanes=native_lanes(roles, target),
        products=products,
    )


def sharings(roles: Roles, products: Products | None = None) -> tuple[Sharing, ...]:
    """What the cores can divide among themselves.

    A vector of an intrinsic that is not full is padded, which an axis cannot be that is fused with others.
    """
    lanes = products.lanes if products is not None else 1
    if roles.vector is not None and known(roles.vector.extent) % lanes:
        return ("rows",) if roles.outer else ("columns", "rows")
    return ("columns", "rows", "both") if roles.shared is None else ("columns", "rows")


def packing_of(roles: Roles, rows: int, column_tiles: int, products: Products | None = None) -> Packing:
    """Pack what must be, and what many rows read; once for all where blocks outside the tile would do the same again."""
    assert roles.rows is not None
    if packed_ahead(roles):
        return "root"
    again = any(not o.uses(axis) for axis in roles.outer for o in roles.streams)
    if products is not None:
        # Where a block of fused axes begins is no number of whole vectors, as an intrinsic wants it.
        return "root" if again or products.stream.merged else "block"
    reads = known(roles.rows.extent) * (known(roles.shared.extent) if roles.shared is not None else 1)
    if not roles.pack and (column_tiles == 1 or reads < 4 * rows):
        return "none"
    return "root" if again else "block"


def band_of(roles: Roles, target: Target) -> int | None:
    """Rows of a picture in a block: what they read fits half the second cache, and the cores get even shares."""
    if roles.shared is None:
        return None
    extent = known(roles.shared.extent)
    read = [o for o in roles.operands if o.uses(roles.shared)]
    row = sum(o.elements // max(1, o.along(roles.shared)) for o in read) * roles.itemsize
    return even_share(extent, max(1, min(extent, BAND, target.l2 // 2 // max(1, row))), target.cores)


def register_tile(roles: Roles, target: Target) -> tuple[int, int]:
    """Rows and columns of the register tile: two vectors wide, accumulators in all registers but four.

    The components of a reduction over tuples share them.
    """
    assert roles.rows is not None and roles.vector is not None
    lanes = native_lanes(roles, target)
    columns = 2 * lanes
    while columns > 1 and columns // 2 >= known(roles.vector.extent):
        columns //= 2
    reduce = roles.stage.reduce
    components = len(reduce.values) if reduce is not None else 1
    most = max(1, (target.registers - 4) // (components * max(1, ceil(columns / lanes))))
    extent = known(roles.rows.extent)
    if extent <= most:
        return extent, columns
    # Of the tall tiles take the one that leaves few rows over; a lower one makes less of what it loads.
    return min(
        range(max(1, most - 2), most + 1), key=lambda rows: -(-extent // rows) * rows * (1 + 1 / rows)
    ), columns


def even_share(tiles: int, wide: int, cores: int) -> int:
    """Tiles in a block, at most ``wide``, so that the blocks are shared evenly by the cores if that can be.

    >>> even_share(48, 10, 2), even_share(3, 2, 2)
    (8, 2)
    """
    wide = max(1, min(wide, ceil(tiles / cores)))

    def cost(block: int) -> tuple[float, int]:
        blocks = ceil(tiles / block)
        # The slowest core's tiles, and a little for every further block.
        return ceil(blocks / cores) * block * (1 + 0.02 * (wide - block) / wide), -block

    return min(range(1, wide + 1), key=cost)

"""Numbers for chains of stencils, from the target's registers and caches."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, prod

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.chains import Chain, with_chains
from loopwright.sched.recipes.facts import WORTH_SHARING
from loopwright.sched.recipes.stencil import StencilPlan, stencil
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

# Rows of the last stage written out side by side: more than these compile for long and run no faster.
MOST_ROWS = 8
# Operations written out in the innermost loop.
MOST_CODE = 256
# A strip is so many times as long as what its neighbours compute again, where nothing is kept from one to the next.
STRETCH = 16
# Strips for each core, so that one that is late does not keep the others waiting for long.
SHARES = 4


def stencils(schedule: Schedule, target: Target) -> tuple[Schedule, set[str]]:
    """Schedule the chains of stencils of a workload; the stages that are thereby done."""
    inlined, chains = with_chains(schedule)
    try:
        written = schedule_chains(inlined, chains, target)
    except ScheduleError:
        return schedule, set()
    return written, {name for chain in chains for name in chain.names}


def schedule_chains(schedule: Schedule, chains: Iterable[Chain], target: Target) -> Schedule:
    """Schedule chains by the numbers that suit the target."""
    for chain in chains:
        schedule = stencil(schedule, chain, stencil_plan(chain, target))
    return schedule


def stencil_plan(chain: Chain, target: Target) -> StencilPlan:
    """As many rows in registers as these hold, groups of rows that stay in the second cache, a few strips for each core."""
    height = known(chain.row.extent)
    lanes = vector_lanes(chain, target)
    rows = min(rows_in_registers(chain, target, lanes), height)
    group = max(1, min(MOST_ROWS // rows, ceil(height / rows)))
    many = prod(known(axis.extent) for axis in chain.outer)
    strips = max(1, ceil(SHARES * target.cores / many))
    spread = max(member.rows for member in chain.members)
    least = STRETCH * max(1, spread) if chain.in_rows else rows * group
    blocks = max(1, ceil(height / (rows * group)))
    strip = min(blocks, max(ceil(blocks / strips), ceil(least / (rows * group))))
    return StencilPlan(
        strip=strip,
        group=group,
        rows=rows,
        lanes=lanes,
        member_rows=2,
        tile=tile_of(chain, target, rows * group, lanes),
        slide=bool(chain.in_rows) and spread > 0 and strip > 1,
        parallel=points_of(chain) >= WORTH_SHARING,
    )


def points_of(chain: Chain) -> int:
    """Elements of the last stage."""
    return prod(known(axis.extent) for axis in chain.last.axes)


def vector_lanes(chain: Chain, target: Target) -> int:
    """A register of the narrowest elements, or what a row has."""
    lanes = max(1, target.vector_bytes // chain.itemsize)
    while lanes > 1 and lanes > known(chain.lane.extent):
        lanes //= 2
    return lanes


def rows_in_registers(chain: Chain, target: Target, lanes: int) -> int:
    """Rows of the last stage that are computed together: what they share is then in registers."""
    needed = chain.in_vectors
    for rows in (8, 6, 4, 3, 2):
        held = sum((rows + m.rows) * ceil(lanes * m.itemsize / target.vector_bytes) for m in needed if m.rows)
        copies = rows * prod(known(axis.extent) for axis in chain.across)
        shared = any(m.rows for m in chain.members if not m.beside) or not needed
        if shared and held <= target.registers - 4 and copies * chain.work <= MOST_CODE:
            return rows
    return 1


def tile_of(chain: Chain, target: Target, rows: int, lanes: int) -> int | None:
    """Vectors in a tile of the rows, so that the rows of a group stay in the second cache; None where whole rows stay there."""
    height = sum((rows + m.rows) * m.itemsize for m in chain.in_rows)
    last = rows * sum(map(dtypes.itemsize, chain.last.dtypes))
    width = known(chain.lane.extent)
    most = target.l2 // max(1, height + last)
    if not chain.in_rows or width <= most:
        return None
    tiles = ceil(width / most)
    return max(1, ceil(ceil(width / lanes) / tiles))

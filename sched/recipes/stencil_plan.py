"""Numbers for chains of stencils, from the target's registers and caches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, prod

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.chains import Chain, with_chains
from loopwright.sched.recipes.facts import WORTH_SHARING
from loopwright.sched.recipes.stencil import StencilPlan, stencil
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

# What is computed again for each block of rows in registers may be at most so much of what is computed at all.
AGAIN = 2.5
# Rows of the last stage written out side by side: more than these compile for long and run no faster.
MOST_ROWS = 8
# Operations written out in the innermost loop.
MOST_CODE = 256
# Operations for an element of a member from which on its rows are written out one by one.
MUCH = 24
# A strip is so many times as long as what its neighbours compute again, where nothing is kept from one to the next.
STRETCH = 16
# Strips for each core, so that one that is late does not keep the others waiting for long.
SHARES = 4


def stencils(schedule: Schedule, target: Target) -> tuple[Schedule, set[str]]:
    """Schedule the chains of stencils of a workload; the stages that are thereby done."""
    inlined, chains = chains_for(schedule, target)
    try:
        written = schedule_chains(inlined, chains, target)
    except ScheduleError:
        return schedule, set()
    return written, {name for chain in chains for name in chain.names}


def chains_for(schedule: Schedule, target: Target) -> tuple[Schedule, list[Chain]]:
    """The chains of a workload, with the members computed for whole rows whose rows the target's registers do not hold."""
    inlined, chains = with_chains(schedule)
    return inlined, [settled(chain, target) for chain in chains]


def settled(chain: Chain, target: Target) -> Chain:
    """The chain, its members in registers only if these hold so many rows that little is computed again."""
    rows = min(rows_in_registers(chain, target, vector_lanes(chain, target)), known(chain.row.extent))
    if all(rows + member.rows <= AGAIN * rows for member in chain.in_vectors):
        return chain
    return replace(chain, members=tuple(replace(member, whole=True) for member in chain.members))


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
        member_rows=1 if any(member.work > MUCH for member in chain.in_rows) else 2,
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
    while lanes > 1 and lanes > width_of(chain):
        lanes //= 2
    return lanes


def width_of(chain: Chain) -> int:
    """Elements in a row of the last stage, of all colours."""
    return known(chain.lane.extent) * (1 if chain.colours is None else known(chain.colours.extent))


def rows_in_registers(chain: Chain, target: Target, lanes: int) -> int:
    """Rows of the last stage that are computed together: what they share is then in registers."""
    needed = chain.in_vectors
    for rows in (8, 6, 4, 3, 2):
        held = sum((rows + m.rows) * ceil(lanes * m.itemsize / target.vector_bytes) for m in needed if m.rows)
        copies = rows * prod(known(axis.extent) for axis in chain.across)
        shared = any(m.rows for m in chain.in_vectors) or not needed
        if shared and held <= target.registers - 4 and copies * chain.work <= MOST_CODE:
            return rows
    return 1


def tile_of(chain: Chain, target: Target, rows: int, lanes: int) -> int | None:
    """Vectors in a tile of the rows, so that the rows of a group stay in the second cache; None where whole rows stay there."""
    height = sum((rows + m.rows) * m.itemsize for m in chain.in_rows)
    last = rows * sum(map(dtypes.itemsize, chain.last.dtypes))
    width = width_of(chain)
    most = target.l2 // max(1, height + last)
    if not chain.in_rows or width <= most:
        return None
    tiles = ceil(width / most)
    return max(1, ceil(ceil(width / lanes) / tiles))

"""The recipe for sums over a window that moves along the vector axis: pooling, convolutions of each channel by itself.

What is loaded is used again by neighbours only. So a tile of neighbours is computed at once, with the window written out: each
element is loaded once for all of those that it is in the window of.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import Any, Literal

from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import WORTH_SHARING, native_lanes, points
from loopwright.sched.recipes.graph import feeding
from loopwright.sched.recipes.names import Names
from loopwright.sched.recipes.packing import compute_here
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import fuse_all
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

# Multiply-adds that are written out, and rows of a picture in a block: more gain nothing.
WRITTEN, BAND = 128, 8
Place = Literal["inline", "block", "root"]
Number = Any  # an int, a knob, or arithmetic on knobs


@dataclass(frozen=True)
class WindowPlan:
    """The choices of the recipe; numbers may be knobs.

    Attributes:
        lanes: elements of the vector loop.
        near: neighbours along the innermost other axis of the window that are computed together.
        band: rows of the outermost axis of the window in a block, which one core does.
        written: how many of the window's axes are written out, the innermost first.
        place: where what feeds it is computed: written out in the sums, in each block over what that reads, or before.
        pad: fill up the last vector of a row: more of what feeds the sums is computed than a row needs.
        parallel: share the blocks out over the cores.
    """

    lanes: Number
    near: Number = 1
    band: Number = 1
    written: int = 2
    place: Place = "inline"
    pad: bool = False
    parallel: bool = True


def neighbours(roles: Roles) -> tuple[Axis, ...]:
    """The axes along which the window moves, apart from the vector axis, outermost first."""
    moving = {
        axis
        for operand in roles.operands
        for dim in operand.dims
        if any(a in operand.steps for a in dim)
        for axis in dim
    }
    return tuple(axis for axis in roles.spatial if axis in moving and axis is not roles.vector)


def steps_of(roles: Roles) -> tuple[Axis, ...]:
    """The axes of the window; last that along which neighbours are computed together: they share what its steps load."""
    near = neighbours(roles)[-1:]
    shared = {
        a
        for o in roles.operands
        for dim in o.dims
        for a in dim
        if a in o.steps and any(n in dim for n in near)
    }
    return tuple(sorted(roles.reduce, key=lambda axis: axis in shared))


def window(schedule: Schedule, roles: Roles, plan: WindowPlan) -> Schedule:
    """Schedule a sum over a window: blocks of rows for the cores, in them tiles of neighbours in vectors."""
    assert roles.vector is not None
    stage, s = roles.stage.name, schedule
    feeds = feeding(s.nests, stage)
    for producer in feeds if plan.place == "inline" else []:
        s = s.compute_inline(producer)
    names = Names(s.nests.stages[stage])
    moving = neighbours(roles)
    blocks, lane = names.pair(roles.vector.name, "o", "v")
    s = s.split(f"{stage}.{roles.vector.name}", (blocks, lane), plan.lanes, "pad" if plan.pad else "auto")
    inner, tiles, outside = [], [blocks], [axis.name for axis in roles.spatial if axis is not roles.vector]
    if moving:
        across, near = names.pair(moving[-1].name, "t", "n")
        s = s.split(f"{stage}.{moving[-1].name}", (across, near), plan.near)
        inner, tiles = [near], [across, blocks]
        outside.remove(moving[-1].name)
    if len(moving) > 1:
        band, row = names.pair(moving[0].name, "o", "b")
        s = s.split(f"{stage}.{moving[0].name}", (band, row), plan.band, "guard")
        outside[outside.index(moving[0].name)] = band
        tiles = [row, *tiles]
    steps = [axis.name for axis in steps_of(roles)]
    ones = [axis.name for axis in roles.stage.all_axes if axis.extent == 1]
    if not outside:
        outside, tiles = tiles[:1], tiles[1:]
    s = s.reorder(stage, " ".join([*ones, *outside, *tiles, *steps, *inner, lane]))
    s, outermost = fuse_all(s, stage, names, outside)
    s = s.vectorize(f"{stage}.{lane}")
    for loop in [*inner, *steps[len(steps) - plan.written :]]:
        s = s.unroll(f"{stage}.{loop}")
    s = s.parallel(f"{stage}.{outermost}") if plan.parallel else s
    for producer in feeds if plan.place == "block" else []:
        s = compute_here(s, producer, f"{stage}.{outermost}", plan.lanes)
    return s


def window_plan(roles: Roles, target: Target) -> WindowPlan:
    """As many neighbours as leave few over and share most of what they load, the window written out if it is small.

    Padding is written out in the sums where vectors are whole pixels. Vectors that lie across its border would be taken apart.
    """
    assert roles.vector is not None
    native = native_lanes(roles, target)
    length = known(roles.vector.extent)
    lanes = min(native, filled(length)) if roles.slides else min(native, length)
    moving = neighbours(roles)
    extent = known(moving[-1].extent) if moving else 1
    window = max((known(axis.extent) for axis in roles.reduce), default=1)
    code = WRITTEN // 2 if roles.slides else WRITTEN
    most = min(extent, 8, max(4, code // prod(known(axis.extent) for axis in roles.reduce)))
    near = min(range(1, most + 1), key=lambda n: ceil(extent / n) * (n + window - 1))
    if (
        not roles.slides
        and moving
        and _step(roles, moving[-1]) > 1
        and known(roles.vector.extent) >= 2 * native
    ):
        lanes, near = 2 * native, min(near, 2)  # neighbours share little
    rows = known(moving[0].extent) if len(moving) > 1 else 1
    shared = points(roles) >= WORTH_SHARING
    band = max(1, min(BAND, rows // (2 * target.cores) if shared and target.cores > 1 else rows))
    return WindowPlan(
        lanes=lanes,
        near=near,
        band=band,
        written=written(roles, near * ceil(lanes / native), code),
        place="block" if roles.slides else "inline",
        pad=roles.slides and length % lanes != 0,
        parallel=shared,
    )


def filled(length: int) -> int:
    """The lanes of one vector that holds a short row: a power of two.

    Example:
        >>> filled(14), filled(16)
        (16, 16)
    """
    return 1 << max(0, length - 1).bit_length()


def _step(roles: Roles, axis: Axis) -> int:
    """How far apart the windows of neighbours along an axis are."""
    return max((dim.get(axis, 0) for o in roles.operands for dim in o.dims), default=1)


def written(roles: Roles, copies: int, code: int) -> int:
    """How many of the window's axes can be written out."""
    sizes = [known(axis.extent) for axis in steps_of(roles)]
    count = 0
    while count < len(sizes) and prod(sizes[len(sizes) - count - 1 :]) * copies <= code:
        count += 1
    return count

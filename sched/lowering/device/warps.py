"""Stages that warps compute: 32 threads that run in step multiply small matrices together.

A warp holds a product and its factors in *fragments*, spread over its threads; which thread has which element is for the
device to know. The nest is prepared as if a thread had every 32nd element of a tile, row by row: a program like any other, in
which the same is found out as of any other, and which a test can run. The fragments stand in its place when it is written down
(:mod:`loopwright.sched.lowering.device.fragments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from loopwright.sched.errors import ScheduleError
from loopwright.sched.intrinsics.registry import Fragments, find
from loopwright.sched.scheduling.address import loop_index, shown
from loopwright.sched.scheduling.checks import sizes
from loopwright.sched.scheduling.nest import Fuse, Loop, Nests, Split, StageNest
from loopwright.sched.scheduling.threads import THREADS, VTHREAD, bound_axes

# The threads of a warp are those of this axis: a block has as many along it as a warp.
AXIS: Final = "threadIdx.x"
LANES = 32


def of_warp(nest: StageNest) -> bool:
    """Whether warps compute a stage."""
    return nest.tensor is not None and find(nest.tensor[1], f"tensorize {nest.name}").of_warp


def shape_of_tile(nest: StageNest) -> Fragments:
    """The rows, columns and steps of what a warp multiplies at once."""
    assert nest.tensor is not None
    found = find(nest.tensor[1], f"tensorize {nest.name}").implementation
    assert isinstance(found, Fragments)
    return found


def in_warps(nests: Nests, where: str) -> Nests:
    """Nests in which the tiles of such stages are divided among the threads of warps.

    Errors:
        ScheduleError: their loops cannot be divided so.
    """
    for nest in nests.stages.values():
        if of_warp(nest):
            check_room_for_warp(where, nest)
            check_none_follows(where, nests, nest)
            nests = nests.with_stage(_divided(where, nest))
    return nests


def lanes_of(nest: StageNest) -> tuple[str, str] | None:
    """Of a prepared nest, the loop over a thread's elements of a tile, and the one that is bound to the threads of the warp."""
    made = nest.makers.get(nest.tensor[0]) if nest.tensor is not None else None
    if isinstance(made, Split) and any(loop.name == made.inner and loop.kind == AXIS for loop in nest.loops):
        return made.outer, made.inner
    return None


def check_room_for_warp(where: str, nest: StageNest) -> None:
    """The threads of a warp are those of threadIdx.x, all of them; virtual threads would be written inside the tile."""
    bound = bound_axes(nest, (AXIS, VTHREAD))
    if AXIS in bound:
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(bound[AXIS])} is bound to {AXIS}, which are the {LANES} threads that do "
            f"{_named(nest)} together;\nbind it to threadIdx.y or threadIdx.z"
        )
    if VTHREAD in bound:
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(bound[VTHREAD])} is bound to {VTHREAD}, and {nest.name} is computed by "
            f"{_named(nest)};\nunroll it, inside the reduction, and each warp has several tiles"
        )


def check_none_follows(where: str, nests: Nests, nest: StageNest) -> None:
    """Which thread of a warp has which element nobody knows: none may go on with it by itself, but the block may, with all."""
    inside = next(
        (n for n, loop in enumerate(nest.loops) if loop.kind in THREADS or loop.reduce), len(nest.loops)
    )
    for other in nests.stages.values():
        place = other.place
        if place.kind == "after" and place.stage == nest.name and loop_index(nest, place.loop) >= inside:
            raise ScheduleError(
                f"{where}: {other.name} is computed at {nest.name}.{shown(place.loop)}, by the thread that has its elements of "
                f"{nest.name}, and {_named(nest)} spreads these over a warp;\n"
                f"compute {other.name} at a loop outside of all that are bound to threads"
            )


def check_warps(where: str, kernel: str, inside: Iterable[StageNest], block: Mapping[str, int]) -> None:
    """Warps are rows of a block: along threadIdx.x it must be as long as a warp."""
    for nest in inside:
        if of_warp(nest) and block.get(AXIS) != LANES:
            raise ScheduleError(
                f"{where}: in the kernel of {kernel} {block.get(AXIS)} threads along {AXIS} are bound, and {_named(nest)} of "
                f"{nest.name} wants {LANES};\nsplit what is bound to it by {LANES}, and bind the rest to threadIdx.y"
            )


def _divided(where: str, nest: StageNest) -> StageNest:
    """The rows and columns of a tile as one loop, every 32nd iteration a thread's."""
    assert nest.tensor is not None
    tile, length = shape_of_tile(nest), sizes(nest)
    first = loop_index(nest, nest.tensor[0])
    outer, inner = nest.loops[:first], nest.loops[first:]
    whole = [loop for loop in inner if length[loop.name] != 1]
    sides = [loop for loop in whole if not loop.reduce]
    found = [length[loop.name] for loop in (*sides, *(loop for loop in whole if loop.reduce))]
    if found != [tile.rows, tile.columns, tile.steps]:
        said = ", ".join(f"{shown(loop.name)} in {length[loop.name]}" for loop in inner)
        raise ScheduleError(
            f"{where}: {_named(nest)} computes {tile.rows} x {tile.columns} elements of {tile.steps} terms, and the loops of "
            f"{nest.name} from there inwards are {said};\nsplit by these numbers; pad what is no multiple of them"
        )
    both, turn, lane = (
        new_name(nest, f"{sides[0].name}_{sides[1].name}{end}") for end in ("", "_turn", "_lane")
    )
    relations = (
        *nest.relations,
        Fuse(sides[0].name, sides[1].name, both),
        Split(both, turn, lane, LANES, "guard"),
    )
    ones = [replace(loop, kind="serial") for loop in inner if length[loop.name] == 1]
    step = next(loop for loop in whole if loop.reduce)
    outside = next((n for n, loop in enumerate(outer) if loop.reduce), len(outer))
    loops = (
        *outer[:outside], Loop(lane, kind=AXIS), *outer[outside:], *ones, Loop(turn, kind="tensorize"), step,
    )  # fmt: skip
    return nest.with_(loops=loops, relations=relations, tensor=(turn, nest.tensor[1]))


def _named(nest: StageNest) -> str:
    assert nest.tensor is not None
    return repr(nest.tensor[1])


def new_name(nest: StageNest, name: str) -> str:
    """A name that no loop of a nest has."""
    while name in nest.all_names():
        name += "_"
    return name

"""What makes ``tail="shift_inward"`` legal: the last tile computes again what the one before it has computed.

That changes nothing where an element's value does not depend on how often it is computed: not where it is added up in
place, nor where it was overwritten in between. Every directive is followed by these checks, since any may move a loop.
"""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Expr
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.checks import sizes
from loopwright.sched.scheduling.nest import Loop, Nests, Split, StageNest
from loopwright.sched.scheduling.windows import between, leaves

# Reductions that may take a term twice.
IDEMPOTENT = ("min", "max", "any", "all")


def check_shifts(where: str, nests: Nests) -> None:
    """All the rules of this file."""
    for nest in nests.stages.values():
        for split in nest.relations:
            if isinstance(split, Split) and split.tail == "shift_inward":
                tiles = leaves(nest, split.outer)
                check_length_known(where, nest, split)
                check_updated_once(where, nest, split)
                check_terms_once(where, nest, split)
                check_sums_whole(where, nest, tiles)
                check_window_moves_on(where, nests, nest, tiles)


def check_length_known(where: str, nest: StageNest, split: Split) -> None:
    """Only a loop that is known to be as long as a tile has room to move one inward."""
    size = sizes(nest)[split.parent]
    if isinstance(size, Expr):
        raise ScheduleError(
            f"{where}: only a call knows how long {nest.name}.{shown(split.parent)} is ({size}), and what is shorter than a tile "
            "has no room to move it inward;\ntail='peel' leaves it in place"
        )


def check_updated_once(where: str, nest: StageNest, split: Split) -> None:
    """An update changes what is there, and must do so once."""
    if nest.stage.updating is not None:
        raise ScheduleError(
            f"{where}: moved inward, the last tile of {nest.name}.{shown(split.parent)} would update some elements for a "
            "second time;\ntail='peel' or 'guard' updates each once"
        )


def check_terms_once(where: str, nest: StageNest, split: Split) -> None:
    """Tiles of a reduction may overlap only where taking a term twice is the same as taking it once."""
    inner = leaves(nest, split.inner)
    if not any(loop.reduce and loop.name in inner for loop in nest.loops):
        return
    assert nest.stage.reduce is not None
    if nest.stage.reduce.op not in IDEMPOTENT:
        raise ScheduleError(
            f"{where}: moved inward, the last tile of {nest.name}.{shown(split.parent)} would take terms of the "
            f"{nest.stage.reduce.op} for a second time;\ntail='peel' or 'guard' takes each once"
        )


def check_sums_whole(where: str, nest: StageNest, tiles: list[str]) -> None:
    """An element that two tiles compute is computed whole by each, one after the other."""
    if nest.stage.reduce is None:
        return
    inside: Loop | None = None
    # Vector lanes run innermost, wherever their loop stands.
    for loop in sorted(nest.loops, key=lambda loop: loop.kind == "vectorize"):
        if loop.reduce:
            inside = inside or loop
        elif loop.name in tiles and inside is not None and nest.stage.reduce.op not in IDEMPOTENT:
            raise ScheduleError(
                f"{where}: the last of the tiles that {nest.name}.{shown(loop.name)} runs over is moved inward, and inside "
                f"{nest.name}.{shown(inside.name)} it would add to the same sums again;\n"
                f"{shown(loop.name)} must stand outside {shown(inside.name)}, or tail='peel' leaves the tile in place"
            )
        elif loop.name in tiles and loop.kind == "parallel":
            raise ScheduleError(
                f"{where}: the last of the tiles that {nest.name}.{shown(loop.name)} runs over is moved inward, and another "
                f"thread may be at the same sums;\ntail='peel' leaves the tile in place"
            )


def check_window_moves_on(where: str, nests: Nests, nest: StageNest, tiles: list[str]) -> None:
    """A stage that is kept from one tile to the next has forgotten what a tile that goes back would read."""
    for other in nests.stages.values():
        if other.place.kind != "at" or other.place.stage != nest.name or other.stored is None:
            continue
        for loop in between(nests, other):
            if loop.name in tiles:
                raise ScheduleError(
                    f"{where}: {other.name} is kept from one iteration of {nest.name}.{shown(loop.name)} to the next, and "
                    f"the last, moved inward, would go back;\ntail='peel' leaves it in place"
                )

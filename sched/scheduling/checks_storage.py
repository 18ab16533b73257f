"""What makes it legal to store a stage farther out than it is computed: asked again whenever a loop or a stage moves."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.address import loop_index, shown
from loopwright.sched.scheduling.nest import Nests, StageNest
from loopwright.sched.scheduling.windows import axis_of, between, leaves, slides, trends


def check_storage(where: str, nests: Nests) -> None:
    """All the rules of this file, for every stage that they concern."""
    for nest in nests.stages.values():
        if nest.stored is None or (nest.place.kind == "root" and not nest.stored.stage):
            continue
        check_stored_around(where, nests, nest)
        check_stored_alone(where, nests, nest)
        check_shared_by_no_threads(where, nests, nest)
        check_in_order(where, nests, nest)
        check_slides(where, nests, nest)


def _spot(nest: StageNest) -> str:
    return f"{nest.place.stage}.{shown(nest.place.loop)}"


def check_stored_around(where: str, nests: Nests, nest: StageNest) -> None:
    """A buffer lives outside the loop it is filled in: in another loop of the same stage, or right around that stage."""
    stored = nest.stored
    assert stored is not None
    home = f"in {stored.stage}.{shown(stored.loop)}" if stored.stage else "at root"
    if nest.place.kind != "at":
        raise ScheduleError(
            f"{where}: {nest.name} is stored {home}, so it must be computed inside a loop of a stage that reads it;\n"
            f"compute_at comes first, compute_root drops the storage"
        )
    host = nests.stages[nest.place.stage]
    if stored.stage == host.name:
        if loop_index(host, stored.loop) < loop_index(host, nest.place.loop):
            return
        raise ScheduleError(
            f"{where}: {nest.name} is computed at {_spot(nest)} and stored {home}, which is not outside it;\n"
            f"name a loop farther out, or none with store_root({nest.name!r})"
        )
    place = nests.place_of(host.name)
    around = (place.stage, place.loop) if place.kind != "root" else ("", "")
    if (stored.stage, stored.loop) != around:
        outside = f"in {place.stage}.{shown(place.loop)}" if around[0] else "at root"
        raise ScheduleError(
            f"{where}: {nest.name} is computed in the loops of {host.name}, so it is stored in one of these, or "
            f"{outside} where {host.name} is computed; not {home}"
        )


def check_stored_alone(where: str, nests: Nests, nest: StageNest) -> None:
    """What follows a stage inside its loops would have a buffer for one iteration only."""
    for other in nests.stages.values():
        if other.place.kind == "after" and other.place.stage == nest.name:
            raise ScheduleError(
                f"{where}: {other.name} follows {nest.name} inside its loops and is stored where {nest.name} is computed; "
                f"a stage stored farther out has no followers"
            )


def check_shared_by_no_threads(where: str, nests: Nests, nest: StageNest) -> None:
    """Iterations that add to one window run one after the other."""
    for loop in between(nests, nest):
        if loop.kind == "parallel":
            raise ScheduleError(
                f"{where}: the iterations of {nest.place.stage}.{shown(loop.name)} run in parallel and would share the buffer of "
                f"{nest.name}, which is stored outside;\nstore it in that loop"
            )


def check_in_order(where: str, nests: Nests, nest: StageNest) -> None:
    """An axis that moves between storage and computation does so upwards: outer parts outside inner ones."""
    host, loops = nests.stages[nest.place.stage], between(nests, nest)
    for loop in loops:
        axis = axis_of(host, loop.name)
        if axis is None:
            raise ScheduleError(
                f"{where}: {nest.name} is stored outside the fused loop {host.name}.{shown(loop.name)}, in which two axes move; "
                f"store it in that loop, or leave the loops apart"
            )
        parts = leaves(host, axis.name)
        order = [other.name for other in host.loops if other.name in parts]
        if order != parts:
            raise ScheduleError(
                f"{where}: {nest.name} is stored outside {host.name}.{shown(loop.name)}, and {axis.name} does not go up in the "
                f"loops {' '.join(map(shown, order))};\nreorder them to {' '.join(map(shown, parts))}, or store it farther in"
            )


def check_slides(where: str, nests: Nests, nest: StageNest) -> None:
    """Some loop moves the region of the stage forward in one dimension: otherwise there is nothing to keep."""
    found, host = slides(nests, nest), nests.stages[nest.place.stage]
    if found.along or found.still:
        return
    reasons = []
    for loop in between(nests, nest):
        axis = axis_of(host, loop.name)
        assert axis is not None
        mine = trends(nests, nest.name, host, axis)
        moved = [nest.stage.axes[dim].name for dim, trend in enumerate(mine) if trend != 0]
        if any(trend == -1 for trend in mine):
            why = f"backwards in {', '.join(moved)}"
        elif None in mine:
            why = f"in {', '.join(moved)}, in no one direction that is known"
        elif len(moved) > 1:
            why = f"in {' and '.join(moved)} at once"
        else:
            why = f"in {moved[0]}, as another loop does"
        reasons.append(f"{host.name}.{shown(loop.name)} moves its region {why}")
    raise ScheduleError(
        f"{where}: no iteration would find a part of {nest.name} that those before it left behind;\n"
        f"{'; '.join(dict.fromkeys(reasons))}"
    )

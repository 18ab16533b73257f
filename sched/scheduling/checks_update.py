"""What makes directives on updates legal: the order of their domain, and that an updated stage stays in one piece."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.checks import PAST
from loopwright.sched.scheduling.nest import Loop, Nests, StageNest
from loopwright.sched.scheduling.order import commutes, conflict, settled, written_order
from loopwright.sched.scheduling.threads import BOUND

AS_ITS_BASE = "and writes into the buffer of its definition; name that one"


def check_update_order(where: str, nest: StageNest) -> None:
    """The loops of a domain stand as written, unless any order gives the same."""
    if nest.stage.updating is None or commutes(nest.stage):
        return
    loops = [loop.name for loop in nest.loops if loop.reduce]
    written = written_order(nest)
    if loops == written:
        return
    same = next(n for n, (a, b) in enumerate(zip(loops, written, strict=True)) if a != b)
    why = conflict(nest.stage, settled(nest, written[:same]))
    if why is not None:
        raise ScheduleError(
            f"{where}: the domain of {nest.name} runs in the order {' '.join(map(shown, written))!r}, and another order changes "
            f"the result:\n{why}.\nThe other loops of {nest.name} may stand anywhere between these"
        )


def check_update_kinds(where: str, nest: StageNest) -> None:
    """Loops of a domain run side by side only if their iterations do not meet."""
    if nest.stage.updating is None:
        return
    outside: list[str] = []
    for loop in (loop for loop in nest.loops if loop.reduce):
        side_by_side = loop.kind in ("vectorize", "parallel", *BOUND)
        why = conflict(nest.stage, settled(nest, outside)) if side_by_side else None
        if why is not None:
            own = [f"{nest.name}.{shown(other.name)}" for other in nest.loops if not other.reduce]
            instead = (
                f"Choose one of {', '.join(own)}" if own else "There are no loops but those of the domain"
            )
            if commutes(nest.stage):
                instead = f"rfactor({nest.name + '.' + shown(loop.name)!r}) first gives each of them elements of its own"
            raise ScheduleError(
                f"{where}: the iterations of {nest.name}.{shown(loop.name)} depend on each other, so it cannot be "
                f"{PAST[loop.kind]}:\n{why}.\n{instead}"
            )
        outside.append(loop.name)


def check_accumulates(where: str, nest: StageNest) -> None:
    """Partial results of an update can be kept apart only if it accumulates: they are combined in the end."""
    if not commutes(nest.stage):
        label = nest.stage.label
        raise ScheduleError(
            f"{where}: {nest.name} is an update, and its iterations go on from one another, in the order written;\n"
            f"only one that combines {label}[at] with a value, by + - * min max & | ^, and reads nothing more of {label}, "
            "has partial results"
        )


def check_of_domain(where: str, nest: StageNest, loop: Loop) -> None:
    """Only a loop of an update's domain can be taken out of it; its own axes are independent as it is."""
    if not loop.reduce:
        domain = [f"{nest.name}.{shown(other.name)}" for other in nest.loops if other.reduce]
        instead = f"choose one of {', '.join(domain)}" if domain else f"{nest.name} has no domain"
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(loop.name)} is no loop of the domain, its iterations are independent as they are; "
            f"{instead}"
        )


def check_not_update(where: str, nest: StageNest, why: str | None = None) -> None:
    """The stage is a definition. An update is placed by its definition, which is the reason if no other is given."""
    if nest.place.kind == "chain":
        head = nest.place.stage
        placed = f"computed right after {head} wherever that is; place {head}, and its updates go with it"
        raise ScheduleError(f"{where}: {nest.name} is an update, {why or placed}")


def check_not_updated(where: str, nests: Nests, nest: StageNest, why: str) -> None:
    """The stage is neither an update nor updated."""
    check_not_update(where, nest)
    updates = nests.updates(nest.name)
    if updates:
        names = ", ".join(update.name for update in updates)
        raise ScheduleError(f"{where}: {nest.name} is updated ({names}), {why}")


def check_finished(where: str, nests: Nests, name: str) -> None:
    """What is copied for others to read is the result of all updates."""
    last = nests.last(nests.head(name))
    if name not in (nests.head(name), last):
        raise ScheduleError(
            f"{where}: {name} is updated further, by {last}; its values in between have no readers.\n"
            f"Name {nests.head(name)} to copy the result"
        )

"""Finding stages and loops by the names a user writes: ``"C.io"`` is loop ``io`` of stage ``C``."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.nest import Fuse, Loop, Nests, Split, StageNest

# vectorize(loop, n) leaves halves that the user calls "j" and "j.v"; unroll and parallel likewise. Among relations every
# name is another loop's, so the outer half is "j.o" there, and shown as "j".
OUTER, LANES, COPIES, GRAIN = ".o", ".v", ".u", ".g"


def shown(loop: str) -> str:
    """What the user calls a loop."""
    return loop.removesuffix(OUTER)


def find_stage(nests: Nests, name: str, where: str) -> StageNest:
    """The nest of the stage ``name``.

    Errors:
        ScheduleError: there is no such stage; the message lists those there are.
    """
    nest = nests.stages.get(name) if isinstance(name, str) else None
    if nest is not None:
        return nest
    if not isinstance(name, str):
        raise ScheduleError(f"{where}: a stage is named by a text such as 'C', not by {name!r}")
    host = name.rpartition(".")[0]
    if host in nests.stages:
        raise ScheduleError(f"{where}: {name!r} is a loop; here stands the name of a stage, such as {host!r}")
    raise no_stage(nests, name, where)


def find_loop(nests: Nests, address: str, where: str) -> tuple[StageNest, Loop]:
    """The stage and the loop that an address names. A stage's own name may hold a dot: the longest match wins.

    Errors:
        ScheduleError: no such stage, no such loop (any more), or the stage is inlined and has no loops.
    """
    if not isinstance(address, str):
        raise ScheduleError(f"{where}: a loop is named by a text such as 'C.i', not by {address!r}")
    first: tuple[StageNest, str] | None = None
    cut = address.rfind(".")
    while cut > 0:
        nest = nests.stages.get(address[:cut])
        if nest is not None:
            name = address[cut + 1 :]
            for loop in nest.loops:
                if shown(loop.name) == name and nest.place.kind != "inline":
                    return nest, loop
            first = first or (nest, name)
        cut = address.rfind(".", 0, cut)
    raise no_stage(nests, address, where) if first is None else no_loop(first[0], first[1], where)


def loop_index(nest: StageNest, name: str) -> int:
    """The position of a leaf loop in its nest, outermost 0; raises KeyError."""
    for index, loop in enumerate(nest.loops):
        if loop.name == name:
            return index
    raise KeyError(name)


def no_loop(nest: StageNest, name: str, where: str) -> ScheduleError:
    """Why ``name`` is no loop of a stage: inlined, split, fused, or never there."""
    if nest.place.kind == "inline":
        return ScheduleError(
            f"{where}: {nest.name} is inlined, so it has no loops; compute_root({nest.name!r}) gives them back"
        )
    if nest.stage.routine is not None:
        return ScheduleError(
            f"{where}: {nest.name} is computed whole, by one call of {nest.stage.routine}, so it has no loops;\n"
            "those of what it reads and of what reads it can be scheduled"
        )
    loops = ", ".join(shown(loop.name) for loop in nest.loops)
    address = f"{nest.name}.{name}"
    for relation in nest.relations:
        if isinstance(relation, Split) and relation.parent == name:
            parts = f"{relation.outer} and {relation.inner}"
            return ScheduleError(
                f"{where}: {address} was split into {parts}; name one of these.\nThe loops of {nest.name} are {loops}"
            )
        if isinstance(relation, Fuse) and name in (relation.outer, relation.inner):
            return ScheduleError(
                f"{where}: {address} was fused into {relation.fused}; name that one.\nThe loops of {nest.name} are {loops}"
            )
    if not loops:
        return ScheduleError(
            f"{where}: {nest.name} has no loop {name!r}: it has no loops, it is a single element"
        )
    meant = _meant(name, [shown(loop.name) for loop in nest.loops])
    return ScheduleError(
        f"{where}: {nest.name} has no loop {name!r}{meant}.\nThe loops of {nest.name} are {loops}"
    )


def no_stage(nests: Nests, address: str, where: str) -> ScheduleError:
    """Why nothing is found under a name: an input, a stage without a loop, or unknown."""
    stages = ", ".join(nests.stages)
    # The part before the last dot was meant for the stage, unless there is none.
    name = address.rpartition(".")[0] or address
    if any(t.name in (name, address) for t in nests.inputs):
        found = next(t.name for t in nests.inputs if t.name in (name, address))
        return ScheduleError(
            f"{where}: {found} is an input, it is not computed and has no loops;\n"
            f"cache_read({found!r}, ...) makes a copy that has. The stages are {stages}"
        )
    if address in nests.stages:
        return ScheduleError(
            f"{where}: {address!r} is a stage; name one of its loops, such as '{address}.{_first(nests, address)}'"
        )
    return ScheduleError(
        f"{where}: there is no stage {name!r}{_meant(name, nests.stages)}.\nThe stages are {stages}"
    )


def _first(nests: Nests, stage: str) -> str:
    return next((shown(loop.name) for loop in nests.stages[stage].loops), "<loop>")


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), 1, 0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""

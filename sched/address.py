"""Finding stages and loops by the names a user writes: ``"C.io"`` is loop ``io`` of stage ``C``."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

from loopwright.sched.errors import ScheduleError
from loopwright.sched.nest import Fuse, Loop, Nests, Split, StageNest


def find_stage(nests: Nests, name: str, where: str) -> StageNest:
    """The nest of the stage ``name``.

    Errors:
        ScheduleError: there is no such stage; the message lists those there are.
    """
    nest = nests.stages.get(name) if isinstance(name, str) else None
    if nest is None:
        host = name.rpartition(".")[0] if isinstance(name, str) else ""
        if host in nests.stages:
            raise ScheduleError(
                f"{where}: {name!r} is a loop; here stands the name of a stage, such as {host!r}"
            )
        _no_stage(nests, name, where)
    return nest


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
                if loop.name == name:
                    if nest.place.kind == "inline":
                        _inlined(nest, where)
                    return nest, loop
            first = first or (nest, name)
        cut = address.rfind(".", 0, cut)
    if first is None:
        _no_stage(nests, address, where)
    no_loop(first[0], first[1], where)


def loop_index(nest: StageNest, name: str) -> int:
    """The position of a leaf loop in its nest, outermost 0; raises KeyError."""
    for index, loop in enumerate(nest.loops):
        if loop.name == name:
            return index
    raise KeyError(name)


def no_loop(nest: StageNest, name: str, where: str) -> NoReturn:
    """Say why ``name`` is no loop of a stage: split, fused, or never there."""
    if nest.place.kind == "inline":
        _inlined(nest, where)
    loops = [loop.name for loop in nest.loops]
    address = f"{nest.name}.{name}"
    for relation in nest.relations:
        if isinstance(relation, Split) and relation.parent == name:
            raise ScheduleError(
                f"{where}: {address} was split into {relation.outer} and {relation.inner}; "
                f"name one of these.\nThe loops of {nest.name} are {', '.join(loops)}"
            )
        if isinstance(relation, Fuse) and name in (relation.outer, relation.inner):
            raise ScheduleError(
                f"{where}: {address} was fused into {relation.fused}; name that one.\n"
                f"The loops of {nest.name} are {', '.join(loops)}"
            )
    if not loops:
        raise ScheduleError(f"{where}: {nest.name} has no loops, it is a single element")
    raise ScheduleError(
        f"{where}: stage {nest.name} has no loop {name!r}{_meant(name, loops)}.\n"
        f"The loops of {nest.name} are {', '.join(loops)}"
    )


def _inlined(nest: StageNest, where: str) -> NoReturn:
    raise ScheduleError(
        f"{where}: {nest.name} is inlined, so it has no loops; compute_root({nest.name!r}) gives them back"
    )


def _no_stage(nests: Nests, address: str, where: str) -> NoReturn:
    stages = list(nests.stages)
    # The part before the last dot was meant for the stage, unless there is none.
    name = address.rpartition(".")[0] or address if isinstance(address, str) else address
    found = next((t for t in nests.inputs if t.name in (name, address)), None)
    if found is not None:
        raise ScheduleError(
            f"{where}: {found.name} is an input, it is not computed and has no loops;\n"
            f"cache_read({found.name!r}, ...) makes a copy that has. The stages are {', '.join(stages)}"
        )
    if name in nests.stages:
        raise ScheduleError(f"{where}: {address!r} names no loop; write {name}.<loop>")
    raise ScheduleError(
        f"{where}: there is no stage {name!r}{_meant(str(name), stages)}.\nThe stages are {', '.join(stages)}"
    )


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), 1, 0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""

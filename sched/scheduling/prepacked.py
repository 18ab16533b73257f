"""Which stages are computed before any call, from weights alone, and which in every call."""

from __future__ import annotations

from loopwright.sched.language.workload import producers
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.placement import readers
from loopwright.sched.scheduling.roots import root_of


def prepacked(nests: Nests) -> tuple[str, ...]:
    """The stages whose values ``kernel.prepack`` makes."""
    return tuple(name for name, nest in nests.stages.items() if nest.prepacked)


def depends_on(nests: Nests, stage: str) -> set[str]:
    """The names of all inputs and stages that a stage depends on, however far away."""
    found: set[str] = set()
    pending = [stage]
    while pending:
        name = pending.pop()
        if name in nests.stages:
            new = {tensor.name for tensor in producers(nests.stages[name].stage)} - found
            found |= new
            pending += new
    return found


def roots_ahead(nests: Nests) -> set[str]:
    """The stages at root computed before any call: those that are prepacked, and all they depend on."""
    first = prepacked(nests)
    needed = {name for stage in first for name in depends_on(nests, stage) if name in nests.stages}
    return {root_of(nests, name) for name in needed.union(first)}


def roots_in_calls(nests: Nests) -> set[str]:
    """The stages at root computed in every call: outputs, and all that is not prepacked and not read by such stages alone."""
    members: dict[str, list[str]] = {}
    for name in nests.stages:
        members.setdefault(root_of(nests, name), []).append(name)
    read_by = {
        root: {root_of(nests, reader) for name in names for reader in readers(nests, name)} - {root}
        for root, names in members.items()
    }
    outputs = {root_of(nests, name) for name in nests.outputs.values()}
    found = set(members) - set(prepacked(nests))
    while gone := {root for root in found - outputs if read_by[root] and not read_by[root] & found}:
        found -= gone
    return found

"""The stages that are not computed inside others, and the order they come in."""

from __future__ import annotations

from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.placement import all_reads


def root_of(nests: Nests, name: str) -> str:
    """The stage at root in whose loops ``name`` is computed."""
    place = nests.place_of(name)
    return nests.head(name) if place.kind in ("root", "inline") else root_of(nests, place.stage)


def root_order(nests: Nests) -> list[str]:
    """The stages at root, each after all that it or what is inside it reads."""
    order: list[str] = []

    def visit(root: str) -> None:
        if root in order:
            return
        for name, nest in nests.stages.items():
            if nest.place.kind != "inline" and root_of(nests, name) == root:
                for read in all_reads(nests, name):
                    if root_of(nests, read) != root:
                        visit(root_of(nests, read))
        order.append(root)

    for name, nest in nests.stages.items():
        if nest.place.kind != "inline":
            visit(root_of(nests, name))
    return order

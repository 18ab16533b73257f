"""In which order the stages at root are computed."""

from __future__ import annotations

from loopwright.sched.language.workload import producers
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.roots import root_of


def root_stages(nests: Nests) -> list[str]:
    """The stages at root in an order that computes everything before it is read, also by stages placed inside."""
    order: list[str] = []
    computed = [name for name, nest in nests.stages.items() if nest.place.kind != "inline"]

    def visit(root: str) -> None:
        if root in order:
            return
        for name in computed:
            if root_of(nests, name) == root:
                for tensor in producers(nests.stages[name].stage):
                    for owner in _owners(nests, tensor.name):
                        if owner != root:
                            visit(owner)
        order.append(root)

    for name in computed:
        visit(root_of(nests, name))
    return order


def _owners(nests: Nests, name: str) -> list[str]:
    """The root stages to be computed before ``name`` can be read; an inlined one stands for what it reads."""
    if name not in nests.stages:
        return []
    nest = nests.stages[name]
    if nest.place.kind != "inline":
        return [root_of(nests, name)]
    return [owner for tensor in producers(nest.stage) for owner in _owners(nests, tensor.name)]

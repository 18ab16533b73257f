"""Loop names for recipes: readable, and not taken."""

from __future__ import annotations

from loopwright.sched.scheduling.nest import Nests, StageNest


class Names:
    """Gives out names in one stage: ``i_o`` for the outer loop of ``i``, or ``i_o2`` if that is taken."""

    def __init__(self, nest: StageNest) -> None:
        self._used = nest.all_names()

    def new(self, wanted: str) -> str:
        """A fresh name."""
        name, number = wanted, 2
        while name in self._used:
            name, number = f"{wanted}{number}", number + 1
        self._used.add(name)
        return name

    def pair(self, axis: str, outer: str, inner: str) -> tuple[str, str]:
        """Names for the two halves of a loop."""
        return self.new(f"{axis}_{outer}"), self.new(f"{axis}_{inner}")


def free_name(nests: Nests, wanted: str) -> str:
    """A name that no tensor has."""
    name, number = wanted, 2
    while nests.tensor(name) is not None:
        name, number = f"{wanted}{number}", number + 1
    return name

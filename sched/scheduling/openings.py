"""Where knobs stand among the loops of a schedule: a space is a schedule with openings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loopwright.sched.scheduling.address import COPIES, GRAIN, LANES, find_loop, shown
from loopwright.sched.scheduling.knobs import Derived, Knob
from loopwright.sched.scheduling.nest import Nests

if TYPE_CHECKING:
    from loopwright.sched.scheduling.schedule import Schedule


# Directives that split a loop: the argument that says how, and what the inner half is called.
_GROUPS = {
    "split": ("factor", ""),
    "vectorize": ("width", LANES),
    "unroll": ("factor", COPIES),
    "parallel": ("grain", GRAIN),
}


def open_factors(schedule: Schedule) -> Iterator[tuple[tuple[str, str], Knob | Derived]]:
    """For splits whose factor is a knob: (stage, inner loop) -> the knob."""
    if not schedule.knobs:
        return
    nests = Nests.of(schedule.work)
    for directive in schedule.directives:
        full = directive.fill(schedule.witness)
        if directive.kind in _GROUPS and not full.off:
            stage, loop = find_loop(nests, full.get("loop"), directive.kind)
            argument, suffix = _GROUPS[directive.kind]
            inner = full.get("names")[1] if directive.kind == "split" else shown(loop.name) + suffix
            factor = directive.get(argument)
            if isinstance(factor, (Knob, Derived)):
                yield (stage.name, inner), factor
        if directive.kind == "tile":
            for tile, filled_tile in zip(directive.get("tiles"), full.get("tiles"), strict=True):
                if isinstance(tile[3], (Knob, Derived)):
                    yield (full.get("stage"), filled_tile[2]), tile[3]
        nests = full.applied(nests)

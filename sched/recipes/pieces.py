"""A reduction cut into pieces, where no spatial axis gives the cores enough to do."""

from __future__ import annotations

from typing import Any

from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.scheduling.schedule import Schedule


def in_pieces(s: Schedule, roles: Roles, piece: Any) -> tuple[Schedule, str, list[str], str]:
    """Reduce each ``piece`` steps of the outermost reduction axis in a stage of their own.

    Returns:
        The schedule, that stage's name, its reduction loops, and its loop over pieces.
    """
    stage, (first, *others) = roles.stage.name, [axis.name for axis in roles.reduce]
    pieces, inside = Names(s.nests.stages[stage]).pair(first, "p", "i")
    name = free_name(s.nests, f"{stage}_pieces")
    s = s.split(f"{stage}.{first}", (pieces, inside), piece).rfactor(f"{stage}.{pieces}", name=name)
    return s, name, [inside, *others], pieces

"""What makes directives legal beside stages that a C function computes whole: all it works on lies as it expects it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Axis, Load, children
from loopwright.sched.language.extents import same_shape
from loopwright.sched.scheduling.nest import Nests, StageNest

# Directives that would compute such a stage elsewhere or in parts, or store it otherwise.
MOVING = (
    "compute_at", "reverse_compute_at", "compute_inline", "transform_layout", "storage_align", "pad", "store_at", "store_root",
)  # fmt: skip


def check_stays_whole(where: str, nests: Nests, kind: str, args: Mapping[str, Any]) -> None:
    """What a C function computes is computed at root, in one call, into a buffer that lies row by row."""
    named = args.get("stage")
    nest = nests.stages.get(named) if isinstance(named, str) else None
    if nest is None or nest.stage.routine is None or kind not in MOVING:
        return
    raise ScheduleError(
        f"{where}: {nest.name} is computed whole, by one call of {nest.stage.routine}, at root, where the function expects it;\n"
        f"cache_read({nest.name!r}) makes a copy that can be placed and laid out"
    )


def check_read_whole(where: str, nests: Nests) -> None:
    """What a C function reads is stored, and lies row by row in its shape: asked again whenever something changes."""
    for nest in nests.stages.values():
        if nest.stage.routine is not None:
            for load in children(nest.stage.body):
                assert isinstance(load, Load)
                source = nests.stages.get(load.tensor.label)
                why = None if source is None else _lies_otherwise(source, load)
                if why is not None:
                    raise ScheduleError(
                        f"{where}: {nest.stage.routine} reads {load.tensor.label} whole, as an array, and it {why};\n"
                        f"cache_read({load.tensor.label!r}, consumers=[{nest.name!r}]) first makes a copy for it to read"
                    )


def _lies_otherwise(source: StageNest, load: Load) -> str | None:
    """How a stage is not stored row by row in the shape that is read."""
    if source.place.kind == "inline":
        return "would be stored nowhere"
    if source.layout is not None:
        return f"would be laid out {' '.join(source.layout)!r}"
    if source.align:
        return "would have gaps between its rows"
    read = tuple(index.extent for index in load.indices if isinstance(index, Axis))
    return None if same_shape(source.stage.shape, read) else "would be longer than the function is told"

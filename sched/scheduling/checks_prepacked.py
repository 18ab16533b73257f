"""What makes it legal to compute a stage before any call: rules asked again whenever something changes."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Expr
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import Nests, StageNest
from loopwright.sched.scheduling.prepacked import depends_on, prepacked


def check_prepacked(where: str, nests: Nests) -> None:
    """What is computed before any call can be, and is there whole for every call: asked again whenever something changes."""
    for name in prepacked(nests):
        why = why_not(nests, nests.stages[name])
        if why is not None:
            raise ScheduleError(f"{where}: {name} cannot be computed before any call: {why}")
    versions = [nests, *(case.nests for case in nests.cases)]
    if nests.cases and any(prepacked(version) for version in versions):
        raise ScheduleError(
            f"{where}: weights are packed once for all calls, so a kernel that has them packed has no special cases"
        )


def why_not(nests: Nests, nest: StageNest) -> str | None:
    """Why a stage cannot be prepacked; None if it can."""
    inputs = {t.name: t for t in nests.inputs}
    needed = depends_on(nests, nest.name)
    others = [t.name for t in inputs.values() if t.name in needed and not t.weight]
    if others:
        return (
            f"it depends on {' and '.join(others)}, which may differ from call to call;\n"
            f"an input is a weight by lw.input(..., weight=True), or weights={others[0]!r} of the operator"
        )
    if nest.name in nests.outputs.values():
        return "it writes an output; cache_write first computes it into a buffer of its own"
    if nests.updates(nest.name) or nest.place.kind == "chain":
        return (
            f"it is updated; cache_read({nests.head(nest.name)!r}) makes a copy of the result, which can be"
        )
    if nest.place.kind == "inline":
        return "it is inlined where it is read"
    if nest.place.kind != "root":
        return f"it is computed inside {nest.place.stage}.{shown(nest.place.loop)}; compute_root({nest.name!r}) first"
    followed = [
        n.name for n in nests.stages.values() if (n.place.kind, n.place.stage) == ("after", nest.name)
    ]
    if followed:
        return f"{followed[0]} follows it inside its loops, and would be computed with it"
    started = [n.name for n in nests.stages.values() if n.start == nest.name]
    if started:
        return f"the reduction of {started[0]} goes on from what it stores, and would change it"
    if nest.scope != "global":
        return f"it is kept in {nest.scope} memory, which does not outlive a call"
    if not any(t.weight for t in inputs.values()):
        return "no input is a weight"
    stages = [nests.stages[n].stage for n in (nest.name, *needed) if n in nests.stages]
    if any(isinstance(axis.extent, Expr) for stage in stages for axis in stage.all_axes):
        return "how long its loops are, or those of what it depends on, is not known before a call"
    if any(stage.routine for stage in stages):
        return "a C function computes it, or what it depends on"
    return None

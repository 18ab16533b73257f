"""Before a kernel relies on an intrinsic, its implementation is compared with its definition.

Each is run once in a process, three times over, so that it also has to go on from what it gave before; on random
elements, among them the extreme ones of their types. What this host cannot run is taken as its author wrote it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError, ScheduleError, TargetError
from loopwright.sched.intrinsics.registry import Intrinsic, find
from loopwright.sched.language.expr import Axis, Expr, Load, rewrite
from loopwright.sched.language.stage import Input, Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target, host
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.threads import bound_axes

ROUNDS = 3
SEEDS = 4
_TRUSTED: set[Intrinsic] = set()


def check_target(nests: Nests, target: Target) -> None:
    """Refuse loops that are bound to the axes of a GPU, and intrinsics that the target does not have.

    Raises:
        ScheduleError: a loop is bound.
        TargetError: a feature is missing.
    """
    for nest in nests.stages.values():
        for axis, loop in bound_axes(nest).items():
            raise ScheduleError(
                f"{nest.name}.{shown(loop)} is bound to {axis}, which a GPU has and target {target.kind!r} has not;\n"
                "build for 'opencl', or use parallel"
            )
        if nest.tensor is not None:
            intrinsic = find(nest.tensor[1], f"tensorize {nest.name}.{shown(nest.tensor[0])}")
            missing = sorted(set(intrinsic.features) - set(target.features))
            if missing:
                raise TargetError(
                    f"tensorize {nest.name}.{shown(nest.tensor[0])}: the intrinsic {intrinsic.name!r} needs "
                    f"{', '.join(missing)}, which {target.kind} {target.mcpu} does not have"
                )


def check_implementations(nests: Nests) -> None:
    """Compare what the intrinsics of a schedule do with what they should, each once.

    Raises:
        BuildError: one does something else.
    """
    for nest in nests.stages.values():
        if nest.tensor is not None:
            intrinsic = find(nest.tensor[1], f"tensorize {nest.name}")
            if intrinsic not in _TRUSTED and set(intrinsic.features) <= set(host().features):
                _compare(intrinsic)
                _TRUSTED.add(intrinsic)


def _compare(intrinsic: Intrinsic) -> None:
    _compare_repeated(intrinsic, ROUNDS)
    if intrinsic.begins:  # as it does where one call has all terms of the sums
        _compare_repeated(intrinsic, 1)


def _compare_repeated(intrinsic: Intrinsic, rounds: int) -> None:
    from loopwright.sched.reference import Expected
    from loopwright.sched.runtime.build import lower_schedule, signature_of
    from loopwright.sched.runtime.kernel import compile_function

    work = _repeated(intrinsic, rounds)
    stage = work.stages[0]
    loops = [axis.name for axis in (*stage.axes, *stage.reduce_axes)]
    again = next(axis.name for axis in stage.all_axes if axis.name.startswith("again"))
    first = next(name for name in loops if name != again)
    order = [again, *(name for name in loops if name != again)]
    schedule = work.schedule().reorder(stage.name, order).tensorize(f"{stage.name}.{first}", intrinsic.name)
    lowered = lower_schedule(schedule, host())
    kernel = compile_function(lowered.func, signature_of(work, lowered.program), host())
    for seed in range(SEEDS):
        arrays = [_elements(t, np.random.default_rng(seed)) for t in work.inputs]
        wrong = Expected.of(work, arrays).check(kernel(*arrays))
        if wrong is not None:
            raise BuildError(
                f"the intrinsic {intrinsic.name!r} does not do what its definition says;\n{wrong}"
            )


def _repeated(intrinsic: Intrinsic, rounds: int) -> Workload:
    """The definition done several times over, on operands that lie one after the other."""
    stage = intrinsic.stage
    name = "again"
    while any(axis.name == name for axis in stage.all_axes):
        name += "_"
    again = Axis(name, rounds, stage.reduce is not None)
    inputs = {t.name: Input(t.name, (rounds, *t.shape), t.dtype) for t in intrinsic.operands}

    def change(e: Expr) -> Expr | None:
        return Load(inputs[e.tensor.name], (again, *e.indices), e.dtype) if isinstance(e, Load) else None

    bodies = tuple(rewrite(body, change) for body in stage.bodies)
    if stage.reduce is None:
        made = Stage(stage.name, (again, *stage.axes), bodies, None, stage.dtypes)
    else:
        from dataclasses import replace

        values = tuple(rewrite(value, change) for value in stage.reduce.values)
        reduce = replace(stage.reduce, values=values, axes=(again, *stage.reduce.axes))
        made = Stage(stage.name, stage.axes, bodies, reduce, stage.dtypes)
    return Workload(f"intrinsic_{stage.name}", {}, inputs.values(), [made])


def _elements(tensor: Input, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if not dtypes.is_integer(tensor.dtype):
        return rng.standard_normal(tensor.shape).astype(tensor.dtype)
    low, high = (int(limit) for limit in dtypes.limits(tensor.dtype))
    values = rng.integers(low, high, tensor.shape, dtype=tensor.dtype, endpoint=True)
    extreme = rng.choice(np.array([low, high], tensor.dtype), tensor.shape)
    return np.where(rng.random(tensor.shape) < 0.3, extreme, values)

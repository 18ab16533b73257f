"""Inputs that are the same in many calls: weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Expr
from loopwright.sched.language.stage import Input

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload


def check_weight(tensor: Input) -> None:
    """Refuse a weight that could not be packed before any call."""
    if any(isinstance(size, Expr) for size in tensor.shape):
        raise DefinitionError(
            f"input {tensor.name!r}: a weight is packed before any call says how long its dimensions are; its sizes are numbers"
        )


def with_weights(work: Workload, names: Sequence[str]) -> Workload:
    """The workload with inputs declared weights; see :meth:`Workload.with_weights`."""
    from loopwright.sched.language import canonical
    from loopwright.sched.language.extern import with_functions_of

    if not names:
        return work
    inputs = {tensor.name: tensor for tensor in work.inputs}
    for name in names:
        if name not in inputs:
            raise DefinitionError(
                f"{work.name} has no input {name!r} to be a weight; the inputs are {', '.join(inputs) or 'none'}"
            )
        check_weight(inputs[name])
    weights = [name for name, tensor in inputs.items() if tensor.weight or name in names]
    data = work.to_json()
    data["inputs"] = [[*row[:3], *(["weight"] if row[0] in weights else [])] for row in data["inputs"]]
    found = with_functions_of(canonical.workload_from_json(data), work)
    found.args, found.numpy = work.args | {"weights": " ".join(weights)}, work.numpy
    return found

"""The meaning of a definition: a NumPy evaluator that shares no code with the lowering, and a judge of kernels.

What it computes, where the language leaves a choice:

- Every expression is evaluated in its own dtype; float functions are computed in float64 and rounded once. Float sums and
  products over reduction axes run in float64 and are rounded once, at the end. Integers wrap.
- An empty sum is 0, an empty product 1; an empty max is the least value of the dtype (-inf of floats), an empty min the
  greatest; an empty any is False, an empty all True.
- An index that only the data knows, or that stands under a select, is clamped into its tensor.
- ``//`` and ``%`` round toward minus infinity: on floats ``a // b`` is ``floor(a / b)`` and ``a % b`` is
  ``a - floor(a / b) * b``; on integers, by zero, both are 0. A shift by the width of the type or more, or by a negative
  number, leaves 0 or the sign.
- A cast of a float to an integer drops its fraction; what does not fit becomes the nearest there is, and NaN 0.
- min and max are NaN where an operand is, also over reduction axes, in any order. Of -0.0 and 0.0 they give either.
- bfloat16 and the 8-bit floats are computed in float32 and rounded after each operation; float64 and integers go to them
  through float32, as in ``ml_dtypes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import ArgumentError, ArgumentTypeError
from loopwright.sched.language.binding import bound
from loopwright.sched.language.stage import origin
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.reference.numbers import Array
from loopwright.sched.reference.points import Value
from loopwright.sched.reference.stages import StageEvaluator

__all__ = ["Expected", "check_arrays", "evaluate", "matches", "random_inputs"]


def evaluate(work: Workload, arrays: Sequence[Any]) -> Any:
    """Evaluate a definition with NumPy.

    Args:
        work: the workload.
        arrays: one for each input, in order, of its shape and dtype.

    Returns:
        The output array, or a tuple of them if the workload has several outputs.

    Raises:
        ArgumentError: another number of arrays, or a wrong shape.
        ArgumentTypeError: a wrong dtype.
    """
    given = check_arrays(work, arrays)
    values = tuple(value.array for value in _run(_numbered(work, given), given, track=False))
    return values if len(values) > 1 else values[0]


def _numbered(work: Workload, arrays: Sequence[Array]) -> Workload:
    """The workload at the sizes of its arrays: everything here is evaluated with numbers."""
    return work.at(bound(work, [array.shape for array in arrays])) if work.sizes else work


def check_arrays(work: Workload, arrays: Sequence[Any]) -> list[Array]:
    """``arrays`` as NumPy arrays, if they are what the workload takes; the errors are those of :func:`evaluate`."""
    if len(arrays) != len(work.inputs):
        names = ", ".join(tensor.name for tensor in work.inputs)
        raise ArgumentError(f"{work}: takes {len(work.inputs)} arrays ({names}), {len(arrays)} were given")
    found = [np.asarray(array) for array in arrays]
    for tensor, array in zip(work.inputs, found, strict=True):
        if array.dtype != dtypes.numpy_dtype(tensor.dtype):
            raise ArgumentTypeError(
                f"{work}: {tensor.name} is {tensor.dtype}, but the array given is {array.dtype}"
            )
        if not work.sizes and array.shape != tensor.shape:
            raise ArgumentError(
                f"{work}: {tensor.name} has the shape {tensor.shape}, but the array given has {array.shape}"
            )
    if work.sizes:
        bound(work, [array.shape for array in found])
    return found


def _run(work: Workload, arrays: list[Array], track: bool) -> list[Value]:
    tensors: dict[int, tuple[Value, ...]] = {
        id(tensor): (Value(array),) for tensor, array in zip(work.inputs, arrays, strict=True)
    }
    evaluate_stage = StageEvaluator(tensors, track)
    with np.errstate(all="ignore"):
        for stage in work.stages:
            tensors[id(stage)] = evaluate_stage(stage)
    return [tensors[id(stage)][part] for stage, part in map(origin, work.outputs)]


@dataclass(frozen=True)
class Expected:
    """What a right kernel returns for some arrays: the reference's values, and how far from them rounding may lead.

    Computing it costs two to four evaluations; keep it to judge many kernels of one workload.
    """

    names: tuple[str, ...]
    values: tuple[Array, ...]
    slacks: tuple[Array | None, ...]

    @staticmethod
    def of(work: Workload, arrays: Sequence[Any]) -> Expected:
        """Evaluate ``work`` with running error analysis.

        The slack of an element grows with each rounding of a float on its way: ``eps * |value|`` for an operation, 16 of
        that for a function, ``eps * (4 + 4 * sqrt(n)) * sum(|terms|)`` for a sum of n terms in any order (nothing if all
        partial sums are sure to be exact, as with :func:`random_inputs`), and what the operands brought along. In sums of
        products of bfloat16, subnormal numbers may count as zero. A comparison that could go either way lets a select take
        either side. Integers have none.
        """
        given = check_arrays(work, arrays)
        found = _run(_numbered(work, given), given, track=True)
        return Expected(
            tuple(t.label for t in work.outputs), tuple(v.array for v in found), tuple(v.slack for v in found)
        )

    def check(self, got: Any) -> str | None:
        """None if ``got`` (an array, or a tuple of them) is right; otherwise one line that says what is wrong, and where."""
        outputs = tuple(got) if isinstance(got, (tuple, list)) else (got,)
        if len(outputs) != len(self.values):
            return f"{len(outputs)} outputs instead of {len(self.values)}"
        for name, array, want, slack in zip(self.names, outputs, self.values, self.slacks, strict=True):
            wrong = _compare(name, np.asarray(array), want, slack)
            if wrong is not None:
                return wrong
        return None


def matches(work: Workload, got: Any, want: Any, arrays: Sequence[Any]) -> str | None:
    """None if a kernel's result ``got`` is right beside the reference's ``want``; otherwise one line about the difference.

    ``arrays`` are the inputs both came from; they decide how far rounding may lead, see :meth:`Expected.of`.
    """
    bounds = Expected.of(work, arrays)
    values = tuple(want) if isinstance(want, (tuple, list)) else (want,)
    return Expected(bounds.names, tuple(np.asarray(value) for value in values), bounds.slacks).check(got)


def _compare(name: str, got: Array, want: Array, slack: Array | None) -> str | None:
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{name}: {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype == bool:
        wrong = got != want if slack is None else (got != want) & ~slack
        distance = wrong.astype(np.float64)
    elif slack is None:
        wrong = (got != want) & ~((got != got) & (want != want))
        distance = _distance(got, want) if wrong.any() else np.zeros(got.shape)
    else:
        distance = _distance(got, want)
        # Where the slack is no number (0/0, inf - inf) any number will do; but what was never written is NaN.
        loose = np.isnan(slack) & (np.isfinite(got) | ~np.isfinite(want))
        beyond = _may_overflow(want, slack) & ~np.isfinite(got)
        wrong = ~((distance <= slack) | (got == want) | ((got != got) & (want != want)) | loose | beyond)
    if not wrong.any():
        return None
    worst = np.unravel_index(
        int(np.argmax(np.where(wrong, np.nan_to_num(distance, nan=np.inf, posinf=np.inf), -1))), wrong.shape
    )
    at = ", ".join(str(int(n)) for n in worst)
    line = f"{name}: {int(wrong.sum())} of {wrong.size} elements differ; worst at [{at}]: {got[worst]} instead of {want[worst]}"
    if slack is None or want.dtype == bool:
        return line
    return f"{line}, which rounding moves by at most {float(slack[worst]):.2g}"


def _may_overflow(want: Array, slack: Array) -> Array:
    """Where rounding may lead beyond the greatest number, to an infinity or NaN."""
    if not dtypes.is_float(want.dtype.name):
        return np.zeros(want.shape, bool)
    return np.isfinite(slack) & (np.abs(want.astype(np.float64)) + slack > dtypes.greatest(want.dtype.name))


def _distance(got: Array, want: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.abs(got.astype(np.float64) - want.astype(np.float64))

"""Stages that C functions compute whole, by the NumPy functions that stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Load, children
from loopwright.sched.language.extents import known_shape
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array, unit
from loopwright.sched.reference.points import Value

# What unsure inputs may do to a result is tried: so often, and taken so many times.
TRIES, SAFETY = 5, 8


def computed_whole(stage: Stage, tensors: dict[int, tuple[Value, ...]], track: bool) -> tuple[Value, ...]:
    """The values of a stage, part by part.

    Raises:
        DefinitionError: there is no NumPy function, or it gives other arrays than the stage has.
    """
    inputs = [tensors[id(load.tensor)][load.part] for load in children(stage.body) if isinstance(load, Load)]
    arrays = _called(stage, [value.array for value in inputs])
    if not track:
        return tuple(map(Value, arrays))
    return tuple(map(Value, arrays, _slacks(stage, inputs, arrays)))


def _called(stage: Stage, given: list[Array]) -> list[Array]:
    routine = stage.routine
    assert routine is not None
    if routine.numpy is None:
        raise DefinitionError(
            f"{routine}: give it numpy=, a function that computes the same of arrays; the reference needs it"
        )
    result: Any = routine.numpy(*(array.copy() for array in given))
    count, shape = len(stage.bodies), known_shape(stage.shape)
    found = [np.asarray(part) for part in (result if count > 1 or isinstance(result, tuple) else (result,))]
    if [array.shape for array in found] != [shape] * count:
        shapes = ", ".join(str(array.shape) for array in found)
        raise DefinitionError(
            f"stage {stage.name}: its NumPy function gives arrays of shape {shapes}, and the stage has {count} of {shape}"
        )
    return [array.astype(dtypes.numpy_dtype(kind)) for array, kind in zip(found, stage.dtypes, strict=True)]


def _slacks(stage: Stage, inputs: list[Value], arrays: list[Array]) -> list[Array | None]:
    """How far a right function's values may be off: as far as sums of all that is read, anywhere in the array.

    What unsure inputs make of that is tried out; of integers that come from such, nothing is known.
    """
    terms = max((value.array.size for value in inputs), default=1)
    unsure = any(value.slack is not None and value.slack.any() for value in inputs)
    moved = [np.zeros(array.shape) for array in arrays]
    for number in range(TRIES if unsure else 0):
        changed = _called(stage, [_moved(value, number) for value in inputs])
        for most, array, other in zip(moved, arrays, changed, strict=True):
            np.maximum(most, np.abs(array.astype(float) - other.astype(float)), out=most)
    slacks: list[Array | None] = []
    for array, most, kind in zip(arrays, moved, stage.dtypes, strict=True):
        if dtypes.is_float(kind):
            size = _greatest(np.abs(array.astype(float)))
            own = unit(kind) * (4 + 4 * np.sqrt(terms)) * size + SAFETY * _greatest(most)
            slacks.append(np.full(array.shape, own))
        elif unsure:
            slacks.append(np.full(array.shape, True) if kind == "bool" else np.full(array.shape, np.inf))
        else:
            slacks.append(None)
    return slacks


def _moved(value: Value, number: int) -> Array:
    """An input, its elements moved as far as they may be off: all upwards, or each in a direction of its own."""
    if value.slack is None or not dtypes.is_float(str(value.array.dtype)):
        return value.array
    signs = np.random.default_rng(number).choice([-1.0, 1.0], value.array.shape) if number else 1.0
    moved: Array = (value.array.astype(float) + signs * value.slack).astype(value.array.dtype)
    return moved


def _greatest(array: Array) -> float:
    """The greatest finite number in an array; 0 if there is none."""
    return float(np.max(array, where=np.isfinite(array), initial=0.0))

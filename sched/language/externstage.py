"""Stages that one call of a C function computes whole: a transform, a sort, a solver, whatever is there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Axis, Call, Expr, Extent, Load
from loopwright.sched.language.extern import Routine, check_symbol, found_in
from loopwright.sched.language.stage import Input, Part, Stage, Tensor, check_name, check_shape
from loopwright.sched.language.updates import check_current

if TYPE_CHECKING:
    import numpy as np


@overload
def extern_stage(
    name: str,
    shape: Iterable[Extent] | Extent,
    symbol: str,
    inputs: Iterable[Tensor],
    *,
    numpy: Callable[..., Any],
    dtype: tuple[object, ...],
    library: str | PathLike[str] | None = None,
) -> tuple[Part, ...]: ...
@overload
def extern_stage(
    name: str,
    shape: Iterable[Extent] | Extent,
    symbol: str,
    inputs: Iterable[Tensor],
    *,
    numpy: Callable[..., Any],
    dtype: str | type | np.dtype[Any] | None = None,
    library: str | PathLike[str] | None = None,
) -> Stage: ...
def extern_stage(
    name: str,
    shape: Iterable[Extent] | Extent,
    symbol: str,
    inputs: Iterable[Tensor],
    *,
    numpy: Callable[..., Any],
    dtype: object = None,
    library: str | PathLike[str] | None = None,
) -> Stage | tuple[Part, ...]:
    """Define a stage that one call of a C function computes whole from whole arrays.

    The function gets pointers to the inputs and then to the output, then their extents, all dimensions of each input in
    order and then those of the output. It returns 0, or a number that says what went wrong; for ``x[n]`` and ``y[m]``::

        int symbol(const float *x, float *y, int64_t n, int64_t m)

    Arrays are contiguous, the last dimension running fastest, and aligned to their elements. Inputs must not be written.
    With a tuple of dtypes the stage has as many parts, all of the one shape: a pointer to each, the extents once.

    The stage has no loops and stays at root, with its buffers as the function expects them. What it reads and what
    reads it are scheduled freely, as long as it is stored whole, row by row.

    Args:
        name: the stage's name.
        shape: of the output.
        symbol: the function's name; the process must have it, or ``library``.
        inputs: what the function reads: inputs, stages, parts of stages.
        numpy: from arrays to an array of that shape, or a tuple of them: what ``reference()`` and the tuner compare with.
        dtype: of the elements; by default that of the first input.
        library: the shared library that has the symbol. Exported kernels are linked with it.

    Raises:
        DefinitionError: a malformed symbol, no NumPy function, or something that is no tensor among the inputs.

    >>> import numpy as np
    >>> from loopwright.sched.language.builders import input
    >>> x = input("x", (8,), "int32")
    >>> extern_stage("y", (8,), "sort_ints", [x], numpy=np.sort)
    <stage y int32[8]>
    """
    what = f"stage {name!r}"
    if "." in check_name(name, "stage"):
        raise DefinitionError(f"{what}: a name has no dot; C.k speaks of the axis k of stage C")
    axes = tuple(Axis(f"d{dim}", size) for dim, size in enumerate(check_shape(shape, what)))
    check_symbol(symbol, what)
    if not callable(numpy):
        raise DefinitionError(
            f"{what}: numpy= is a function of arrays that computes the same, not {numpy!r}; kernels are compared with it"
        )
    read = tuple(_array(tensor, what) for tensor in _listed(inputs, what))
    kinds = _dtypes(dtype, read, what)
    found_in(library, symbol)
    routine = Routine(symbol, numpy)
    stage = Stage(name, axes, tuple(Call(routine, read, kind) for kind in kinds), None, kinds)
    return tuple(Part(stage, part) for part in range(len(kinds))) if isinstance(dtype, tuple) else stage


def whole(tensor: Tensor, part: int = 0) -> Load:
    """A tensor that is read whole, as an element at axes over all of it: so what asks which box is read finds that."""
    axes: tuple[Expr, ...] = tuple(Axis(f"d{dim}", size) for dim, size in enumerate(tensor.shape))
    return Load(tensor, axes, tensor.dtypes[part] if isinstance(tensor, Stage) else tensor.dtype, part)


def _listed(inputs: Iterable[Tensor], what: str) -> tuple[Tensor, ...]:
    if isinstance(inputs, Tensor) or not isinstance(inputs, Iterable):
        raise DefinitionError(f"{what}: the inputs are a list of tensors, such as [x]")
    return tuple(inputs)


def _array(tensor: object, what: str) -> Load:
    if isinstance(tensor, Part):
        check_current(tensor.stage)
        return whole(tensor.stage, tensor.index)
    if isinstance(tensor, Stage):
        check_current(tensor)
        return whole(tensor)
    if isinstance(tensor, Input):
        return whole(tensor)
    raise DefinitionError(
        f"{what}: {tensor!r} is no tensor; a C function reads inputs and stages whole, and numbers from an array"
    )


def _dtypes(dtype: object, read: tuple[Load, ...], what: str) -> tuple[str, ...]:
    if dtype is None:
        if not read:
            raise DefinitionError(f"{what}: it reads nothing whose dtype it could have; say dtype=")
        return (read[0].dtype,)
    kinds = dtype if isinstance(dtype, tuple) else (dtype,)
    if not kinds:
        raise DefinitionError(f"{what}: dtype= is an empty tuple; give a dtype for each part")
    return tuple(dtypes.check_dtype(kind, what) for kind in kinds)

"""Symbolic sizes of a kernel: what its arrays' dimensions are made of, and what the arrays of a call say they are.

A dimension is a number, or a tuple as in a workload's JSON: ``("size", name, at_least, at_most, multiple_of)``,
``("const", number, dtype)``, ``(operation, a, b)``. So a signature stays plain data, and loading a library needs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loopwright.sched.arithmetic import OPERATIONS
from loopwright.sched.errors import ArgumentError

Dim = int | tuple[Any, ...]
# The inputs of a call -> a number that their shapes say.
FromArrays = Callable[[Sequence[Any]], int]

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}


@dataclass(frozen=True)
class Limit:
    """A number that indices of 32 bits put a bound on: an extent, or how many elements a buffer has."""

    what: str
    value: Dim
    most: int
    least: int = 0


def dim_from_json(value: Any) -> Dim:
    """A dimension from JSON, where tuples have become lists.

    >>> dim_from_json(["add", ["size", "n", 0, 9, 1], ["const", 2, "int32"]])
    ('add', ('size', 'n', 0, 9, 1), ('const', 2, 'int32'))
    """
    if isinstance(value, list):
        return tuple(dim_from_json(item) if isinstance(item, list) else item for item in value)
    return int(value)


def nodes(dim: Dim) -> Iterator[tuple[Any, ...]]:
    """The sizes, constants and operations that a dimension is made of."""
    if isinstance(dim, tuple):
        yield dim
        if dim[0] not in ("size", "const"):
            yield from nodes(dim[1])
            yield from nodes(dim[2])


def number(dim: Dim, sizes: Mapping[str, int]) -> int:
    """A dimension at the given sizes."""
    if isinstance(dim, int):
        return dim
    if dim[0] == "size":
        return sizes[dim[1]]
    if dim[0] == "const":
        return int(dim[1])
    a, b = number(dim[1], sizes), number(dim[2], sizes)
    if dim[0] in OPERATIONS:
        return OPERATIONS[dim[0]](a, b)
    raise ArgumentError(f"unknown operation {dim[0]!r} in the size of a dimension")


def from_arrays(dim: Dim, where: Mapping[tuple[Any, ...], tuple[int, int]]) -> FromArrays:
    """A dimension as a function of the inputs: looked up once, and then called with every call of a kernel.

    Args:
        dim: the dimension.
        where: the input, and the dimension of it, that has a size; see :func:`sources`.
    """
    if isinstance(dim, int) or dim[0] == "const":
        fixed = number(dim, {})
        return lambda arrays: fixed
    if dim[0] == "size":
        position, axis = where[dim]
        return lambda arrays: arrays[position].shape[axis]
    a, b, operation = from_arrays(dim[1], where), from_arrays(dim[2], where), OPERATIONS[dim[0]]
    return lambda arrays: operation(a(arrays), b(arrays))


def dim_text(dim: Dim, level: int = 0) -> str:
    """A dimension as it is printed."""
    if isinstance(dim, int):
        return str(dim)
    if dim[0] in ("size", "const"):
        return str(dim[1])
    if dim[0] not in _SIGNS:
        return f"{dim[0]}({dim_text(dim[1])}, {dim_text(dim[2])})"
    mine = 1 if dim[0] in ("add", "sub") else 2
    whole = f"{dim_text(dim[1], mine)} {_SIGNS[dim[0]]} {dim_text(dim[2], mine + 1)}"
    return f"({whole})" if mine < level else whole


def shape_text(shape: Sequence[Dim]) -> str:
    """A shape as a tuple is printed."""
    return f"({', '.join(map(dim_text, shape))}{',' if len(shape) == 1 else ''})"


def sources(shapes: Sequence[Sequence[Dim]]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Where a call finds each size: size -> the position of an input and of its dimension that is just this size."""
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for position, shape in enumerate(shapes):
        for dim, size in enumerate(shape):
            if isinstance(size, tuple) and size[0] == "size":
                found.setdefault(size, (position, dim))
    return found


def broken_promise(size: tuple[Any, ...], value: int) -> str | None:
    """What a number breaks of the promises about a size, in words."""
    _, _, at_least, at_most, multiple_of = size
    if value < at_least:
        return f"at least {at_least}"
    if value > at_most:
        return f"at most {at_most}"
    return f"a multiple of {multiple_of}" if value % multiple_of else None

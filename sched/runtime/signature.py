"""What a kernel takes and gives: names, shapes, dtypes and roles, in a form that travels with a library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import LoadError
from loopwright.sched.runtime.sizes import (
    Dim,
    FromArrays,
    Limit,
    dim_from_json,
    dim_text,
    from_arrays,
    number,
    sources,
)

INPUT = "input"
WEIGHT = "weight"  # an input that is the same in many calls
OUTPUT = "output"

# DLPack's type code and width of each element type a kernel can take.
DLPACK_CODES: dict[str, tuple[int, int]] = {
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bool": (6, 8),
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
}


@dataclass(frozen=True)
class Param:
    """One array of a kernel.

    >>> Param("A", (500, 200), "float32")
    Param(name='A', shape=(500, 200), dtype='float32', role='input')
    """

    name: str
    shape: tuple[Dim, ...]
    dtype: str
    role: str = INPUT

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The element type as NumPy's dtype."""
        return dtypes.numpy_dtype(self.dtype)

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return DLPACK_CODES[self.dtype][1] // 8

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The shape, where it is all numbers."""
        return tuple(number(size, {}) for size in self.shape)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return self.itemsize * prod(self.extents)

    def at(self, sizes: Mapping[str, int]) -> Param:
        """The array with numbers for its sizes."""
        return Param(self.name, tuple(number(size, sizes) for size in self.shape), self.dtype, self.role)

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(dim_text, self.shape))}]"


@dataclass(frozen=True)
class Signature:
    """The name of a kernel and its arrays; inputs are passed first, in order, then outputs.

    ``limits`` are what a kernel with symbolic sizes refuses beyond the shapes. ``calls`` are the stages that C functions
    compute whole, each with the function's name.

    >>> s = Signature("scale", (Param("A", (4,), "float32"), Param("B", (4,), "float32", "output")))
    >>> print(s)
    scale(A: float32[4]) -> B: float32[4]
    >>> Signature.from_json(s.to_json()) == s
    True
    """

    name: str
    params: tuple[Param, ...]
    limits: tuple[Limit, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()

    @cached_property
    def sizes(self) -> dict[tuple[Any, ...], tuple[int, int]]:
        """The symbolic sizes, and the input and dimension where a call finds each; empty if all shapes are numbers."""
        return sources([p.shape for p in self.inputs])

    def at(self, sizes: Mapping[str, int]) -> Signature:
        """The signature with numbers for its sizes."""
        return Signature(self.name, tuple(p.at(sizes) for p in self.params), calls=self.calls)

    @cached_property
    def inputs(self) -> tuple[Param, ...]:
        """The arrays a caller passes, in order."""
        return tuple(p for p in self.params if p.role != OUTPUT)

    @cached_property
    def weights(self) -> tuple[Param, ...]:
        """Those of the inputs that are weights."""
        return tuple(p for p in self.params if p.role == WEIGHT)

    @cached_property
    def outputs(self) -> tuple[Param, ...]:
        """The arrays a call fills, in order."""
        return tuple(p for p in self.params if p.role == OUTPUT)

    @cached_property
    def shapes_of_outputs(self) -> list[tuple[list[FromArrays], np.dtype[Any]]]:
        """For each output what its extents are, given the inputs of a call, and its element type."""
        return [([from_arrays(extent, self.sizes) for extent in p.shape], p.numpy) for p in self.outputs]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """For each array in the order of a call (inputs, then outputs), its place in ``params``."""
        places = range(len(self.params))
        return tuple(sorted(places, key=lambda i: self.params[i].role == OUTPUT))

    @cached_property
    def in_call_order(self) -> tuple[Param, ...]:
        """All arrays: the inputs, then the outputs."""
        return (*self.inputs, *self.outputs)

    def __str__(self) -> str:
        results = ", ".join(map(str, self.outputs))
        if len(self.outputs) > 1:
            results = f"({results})"
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> {results}"

    def to_json(self) -> dict[str, Any]:
        """A plain value that :meth:`from_json` turns back into an equal signature."""
        params = [[p.name, list(p.shape), p.dtype, p.role] for p in self.params]
        plain: dict[str, Any] = {"name": self.name, "params": params}
        if self.limits:
            plain["limits"] = [[limit.what, limit.value, limit.most, limit.least] for limit in self.limits]
        if self.calls:
            plain["calls"] = [list(call) for call in self.calls]
        return plain

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Signature:
        """The signature that :meth:`to_json` wrote.

        Raises:
            LoadError: the value is no signature.
        """
        try:
            params = tuple(_param(*row) for row in _rows(value["params"]))
            rows = value.get("limits", ())
            limits = tuple(Limit(str(what), dim_from_json(dim), int(m), int(n)) for what, dim, m, n in rows)
            calls = tuple((str(stage), str(symbol)) for stage, symbol in value.get("calls", ()))
            return cls(str(value["name"]), params, limits, calls)
        except (KeyError, TypeError, ValueError) as error:
            raise LoadError(f"not a kernel's signature: {error!r}") from None


def _rows(value: object) -> Iterable[Iterable[Any]]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("params must be a list")
    return value


def _param(name: str, shape: Iterable[int], dtype: str, role: str) -> Param:
    if dtype not in DLPACK_CODES or role not in (INPUT, WEIGHT, OUTPUT):
        raise ValueError(f"unknown dtype or role: {dtype!r}, {role!r}")
    return Param(str(name), tuple(dim_from_json(extent) for extent in shape), dtype, role)

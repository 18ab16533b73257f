"""Shapes of elementwise operators: NumPy's broadcasting, and the operators that are made of a formula for one element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loopwright.sched.dtypes import is_float, is_integer
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import compute, input
from loopwright.sched.language.expr import Axis, Expr, Extent
from loopwright.sched.language.extents import same
from loopwright.sched.language.operator import Operator
from loopwright.sched.language.stage import Stage, Tensor

Shape = tuple[int, ...]
# What an operator takes -> how its docstring says it, and which dtypes these are.
KINDS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "numbers": ("of numbers", lambda dtype: is_float(dtype) or is_integer(dtype)),
    "floats": ("of floats", is_float),
    "C floats": ("of float32 or float64", lambda dtype: dtype in ("float32", "float64")),
    "integers": ("of integers", is_integer),
    "bits": ("of integers or bool", lambda dtype: is_integer(dtype) or dtype == "bool"),
    "anything": ("of any dtype", lambda dtype: True),
}


def broadcast(where: str, *shapes: Sequence[Extent]) -> tuple[Extent, ...]:
    """The shape that arrays of these shapes have together: aligned at their last dimensions, where 1 fits anything.

    >>> broadcast("add", (8, 1, 3), (4, 3))
    (8, 4, 3)

    Raises:
        DefinitionError: two extents differ, and neither is 1.
    """
    whole: list[Extent] = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for place, extent in enumerate(shape, len(whole) - len(shape)):
            if same(whole[place], 1):
                whole[place] = extent
            elif not same(extent, 1) and not same(extent, whole[place]):
                shown = " and ".join(str(tuple(each)) for each in shapes)
                raise DefinitionError(
                    f"{where}: shapes {shown} do not broadcast: {whole[place]} and {extent} meet, and neither is 1"
                )
    return tuple(whole)


def element(tensor: Tensor, axes: Sequence[Axis]) -> Expr:
    """What a tensor contributes to the element at ``axes`` of a shape it was broadcast to."""
    last = axes[len(axes) - len(tensor.shape) :]
    return tensor[
        tuple(
            0 if same(extent, 1) and not same(axis.extent, 1) else axis
            for extent, axis in zip(tensor.shape, last, strict=True)
        )
    ]


def checked(where: str, takes: str, dtype: str) -> str:
    """The dtype, if the operator takes it.

    Raises:
        DefinitionError: it takes others.
    """
    text, fits = KINDS[takes]
    if not fits(dtype):
        raise DefinitionError(f"{where}: it takes arrays {text}; got dtype={dtype!r}")
    return dtype


def unary(
    name: str, formula: str, of: Callable[[Expr], Expr], numpy: Callable[..., Any], takes: str, module: str
) -> Operator:
    """An operator on each element of one array.

    Args:
        name: its name.
        formula: what is computed of an element ``x``, as readers see it.
        of: the same in the language.
        numpy: the same of a NumPy array.
        takes: what kind of dtype; a key of ``KINDS``.
        module: the file it belongs to.
    """
    default = "int32" if takes in ("integers", "bits") else "float32"

    def define(X: Shape, dtype: str = default) -> Stage:
        x = input("X", X, checked(name, takes, dtype))
        return compute("Y", x.shape, lambda *axes: of(x[axes]))

    return _named(
        define,
        name,
        module,
        f"``Y = {formula}``, of each element x of X.\n\n"
        f"Input: ``X`` of any shape, {KINDS[takes][0]}. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on.",
        numpy,
    )


def binary(
    name: str,
    formula: str,
    of: Callable[[Expr, Expr], Expr],
    numpy: Callable[..., Any],
    takes: str,
    module: str,
) -> Operator:
    """An operator on each pair of elements of two arrays that broadcast; the arguments are those of :func:`unary`."""
    default = "int32" if takes in ("integers", "bits") else "float32"

    def define(A: Shape, B: Shape, dtype: str = default) -> Stage:
        checked(name, takes, dtype)
        a, b = input("A", A, dtype), input("B", B, dtype)
        shape = broadcast(name, a.shape, b.shape)
        return compute("C", shape, lambda *axes: of(element(a, axes), element(b, axes)))

    return _named(
        define,
        name,
        module,
        f"``C = {formula}``, of each pair of elements a of A and b of B.\n\n"
        f"Inputs: ``A`` and ``B`` of shapes that broadcast, {KINDS[takes][0]}. Output: stage ``C`` of the broadcast shape, axes\n"
        "``i0``, ``i1`` and so on.",
        numpy,
    )


def _named(
    define: Callable[..., Any], name: str, module: str, doc: str, numpy: Callable[..., Any]
) -> Operator:
    define.__name__ = define.__qualname__ = name
    define.__module__, define.__doc__ = module, doc
    return Operator(define, numpy)

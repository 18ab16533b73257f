"""Arithmetic written in Python that becomes TensorIR: the notation of the functions in this folder.

A :class:`Value` is one number in the machine. ``a * b + 1`` builds the next one; nothing is simplified, since floats are no
real numbers. Values are shared: :func:`write` holds whatever is used more than once, so that the code has the size
of the formula as it was written. (TVM's nodes may be shared too, but are written out once for each use.)

Products and sums may be fused into one rounding where the CPU can (LLVM is told so for all of Loopwright's code). The
functions here hold their accuracy either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, Union

from tvm import tirx

from loopwright.sched.lowering import constants

Operand = Union["Value", float, int]
Function = Callable[..., "Value"]


class Places(Protocol):
    """Where TensorIR that is no single expression goes: before the statement that is being written.

    Attributes:
        fused: whether the CPU multiplies and adds in one rounding (:func:`fused`).
    """

    fused: bool

    def scaled(self, value: Any, power: Any, dtype: str) -> Any | None:
        """``value * 2**power``, rounded once, by an instruction; None where there is none. ``power`` is a whole float."""

    def hold(self, value: Any) -> Any:
        """Give a value a place of its own; return what reads it there."""

    def either(self, cond: Any, dtype: str, quick: Callable[[], Any], slow: Callable[[], Any]) -> Any:
        """What ``quick`` writes where ``cond`` holds in all lanes, else what ``slow`` does, which is always right."""


class Value:
    """A number of type ``dtype``, made by ``make`` from the TensorIR of ``parts``."""

    __slots__ = ("dtype", "make", "parts")

    def __init__(self, dtype: str, make: Callable[..., Any], *parts: Value) -> None:
        self.dtype = dtype
        self.make = make
        self.parts = parts

    def write(self, places: Places, *parts: Any) -> Any:
        """The TensorIR of it, given that of its parts."""
        return self.make(*parts)

    def _with(self, node: Any, other: Operand, dtype: str | None = None) -> Value:
        return Value(dtype or self.dtype, node, self, self.like(other))

    def like(self, number: Operand) -> Value:
        """A constant of this value's type."""
        return number if isinstance(number, Value) else constant(number, self.dtype)

    def __add__(self, other: Operand) -> Value:
        return self._with(tirx.Add, other)

    def __sub__(self, other: Operand) -> Value:
        return self._with(tirx.Sub, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.like(other) - self

    def __mul__(self, other: Operand) -> Value:
        return self._with(tirx.Mul, other)

    def __truediv__(self, other: Operand) -> Value:
        return self._with(tirx.Div, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.like(other) / self

    def __and__(self, other: Operand) -> Value:
        return self._with(tirx.And if self.dtype == "bool" else tirx.bitwise_and, other)

    def __or__(self, other: Operand) -> Value:
        return self._with(tirx.Or if self.dtype == "bool" else tirx.bitwise_or, other)

    def __xor__(self, other: Operand) -> Value:
        return self._with(tirx.bitwise_xor, other)

    def __lshift__(self, other: Operand) -> Value:
        return self._with(tirx.shift_left, other)

    def __rshift__(self, other: Operand) -> Value:
        return self._with(tirx.shift_right, other)

    def __lt__(self, other: Operand) -> Value:
        return self._with(tirx.LT, other, "bool")

    def __le__(self, other: Operand) -> Value:
        return self._with(tirx.LE, other, "bool")

    def __gt__(self, other: Operand) -> Value:
        return self._with(tirx.GT, other, "bool")

    def __ge__(self, other: Operand) -> Value:
        return self._with(tirx.GE, other, "bool")

    def equals(self, other: Operand) -> Value:
        """Whether two values are equal; ``==`` compares Python objects."""
        return self._with(tirx.EQ, other, "bool")

    def differs(self, other: Operand) -> Value:
        """Whether two values are not equal; NaN differs from everything."""
        return Value("bool", tirx.Not, self.equals(other))

    def to(self, dtype: str) -> Value:
        """The value converted to another type."""
        return Value(dtype, lambda a: tirx.Cast(dtype, a), self)

    def as_bits(self, dtype: str) -> Value:
        """The same bits taken for another type."""
        return Value(dtype, lambda a: constants.taken_as(dtype, a), self)


def constant(number: float | int, dtype: str) -> Value:
    """A literal."""
    return Value(dtype, lambda: constants.constant(number, dtype))


def given(expr: Any, dtype: str) -> Value:
    """A value that is there already, in TensorIR."""
    return Value(dtype, lambda: expr)


def select(cond: Value, a: Operand, b: Operand) -> Value:
    """``a`` where ``cond`` holds, else ``b``; both are computed. One of them is a value, and gives the type."""
    one = a if isinstance(a, Value) else b
    assert isinstance(one, Value)
    return Value(one.dtype, tirx.Select, cond, one.like(a), one.like(b))


class Either(Value):
    """``quick(*args)`` where ``cond`` holds in all lanes of a vector, else ``slow(*args)``, for all of them: a branch.

    ``slow`` is right whatever holds: it is all there is where the lanes do not go together. The type is that of the first
    argument.
    """

    __slots__ = ("quick", "slow")

    def __init__(self, cond: Value, quick: Function, slow: Function, *args: Value) -> None:
        super().__init__(args[0].dtype, lambda: None, cond, *args)
        self.quick = quick
        self.slow = slow

    def write(self, places: Places, *parts: Any) -> Any:
        """The TensorIR of it."""
        cond, *args = parts
        held = _held(self.parts[1:], args, places)
        arms = (lambda: write(self.quick(*held), places), lambda: write(self.slow(*held), places))
        return places.either(cond, self.dtype, *arms)


class WithFused(Value):
    """``function(*args)`` where the CPU has :func:`fused`, else ``plain(*args)``. The type is that of the first argument."""

    __slots__ = ("function", "plain")

    def __init__(self, function: Function, plain: Function, *args: Value) -> None:
        super().__init__(args[0].dtype, lambda: None, *args)
        self.function = function
        self.plain = plain

    def write(self, places: Places, *parts: Any) -> Any:
        """The TensorIR of it."""
        function = self.function if places.fused else self.plain
        return write(function(*_held(self.parts, parts, places)), places)


class Scaled(Value):
    """``x * 2**n`` by an instruction where the CPU has one, else ``plain(x, bits)``: of these, ``n`` is what is wanted."""

    __slots__ = ("plain",)

    def __init__(self, x: Value, n: Value, bits: Value, plain: Function) -> None:
        super().__init__(x.dtype, lambda: None, x, n, bits)
        self.plain = plain

    def write(self, places: Places, *parts: Any) -> Any:
        """The TensorIR of it."""
        x, n, bits = parts
        made = places.scaled(x, n, self.dtype)
        return (
            write(self.plain(*_held((self.parts[0], self.parts[2]), (x, bits), places)), places)
            if made is None
            else made
        )


def _held(values: Sequence[Value], nodes: Sequence[Any], places: Places) -> list[Value]:
    """Values that have a place already, for functions that may use them often."""
    return [given(places.hold(node), value.dtype) for node, value in zip(nodes, values, strict=True)]


def sqrt(a: Value) -> Value:
    """The square root, correctly rounded by an instruction of its own."""
    return Value(a.dtype, tirx.sqrt, a)


def fused(a: Value, b: Operand, c: Operand) -> Value:
    """``a * b + c`` in one rounding, on CPUs that have an instruction for it; elsewhere it would be a call of the C library."""
    return Value(a.dtype, partial(tirx.call_llvm_pure_intrin, a.dtype, "llvm.fma"), a, a.like(b), a.like(c))


def polynomial(x: Value, coefficients: Sequence[Operand]) -> Value:
    """A polynomial by Horner's rule, coefficients from the lowest power on."""
    total = x.like(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def short_polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """As :func:`polynomial`, in two parts that the CPU computes side by side (Estrin 1960): done sooner, with a product more."""
    count = len(coefficients) // 2
    low = 1
    power = x
    while 2 * low <= count:
        low, power = 2 * low, power * power
    return polynomial(x, coefficients[:low]) + power * polynomial(x, coefficients[low:])


def write(value: Value, places: Places) -> Any:
    """The TensorIR of a value; what is used more than once in it is held, in the order it is needed."""
    order, uses = _order(value)
    nodes: dict[int, Any] = {}
    for v in order:
        parts = [nodes[id(part)] for part in v.parts]
        node = v.write(places, *parts)
        # A comparison is not worth a place in memory; LLVM finds that it is written twice.
        nodes[id(v)] = places.hold(node) if uses[id(v)] > 1 and v.dtype != "bool" else node
    return nodes[id(value)]


def _order(value: Value) -> tuple[list[Value], dict[int, int]]:
    """Everything a value is made of, parts first, and how often each is used."""
    order: list[Value] = []
    uses: dict[int, int] = {}

    def visit(v: Value) -> None:
        uses[id(v)] = uses.get(id(v), 0) + 1
        if uses[id(v)] == 1:
            for part in v.parts:
                visit(part)
            order.append(v)

    visit(value)
    return order, uses

"""Whether a statement's value is what an intrinsic computes: the same formula, on elements that lie the same way.

Formulas are compared node by node; operands of commutative operations may be swapped, and a cast that loses nothing
before a wider one says nothing. An operand's elements must lie as in the definition: one step of an axis goes as far in
memory as one step of the loop that stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loopwright.sched import dtypes
from loopwright.sched.intrinsics.flat import offset
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Result,
    Select,
    children,
    substitute,
)
from loopwright.sched.language.extents import Extent, known, known_shape
from loopwright.sched.language.text import text
from loopwright.sched.lowering.affine import Linear, linear, number, simplify
from loopwright.sched.lowering.rejoin import rejoined
from loopwright.sched.lowering.stmt import Buffer

COMMUTATIVE = ("add", "mul", "min", "max", "eq", "ne", "and", "or", "bitand", "bitor", "bitxor")


@dataclass(frozen=True)
class Operand:
    """Where an operand lies: its first element, and how far apart its elements are in each dimension."""

    first: Load
    strides: tuple[int, ...]

    @property
    def buffer(self) -> Buffer:
        """The buffer it lies in."""
        assert isinstance(self.first.tensor, Buffer)
        return self.first.tensor


class Mismatch(Exception):
    """What differs, for the user."""


class Matcher:
    """Compares one formula with one value.

    Args:
        axes: the definition's axis -> the loop variable that stands for it.
        strided: whether operands may lie apart in memory.
        fixed: which of their strides must be a certain number, by the operand; None for any.
    """

    def __init__(
        self,
        axes: Mapping[Axis, Axis],
        strided: bool,
        fixed: Mapping[str, tuple[int | None, ...]] | None = None,
    ) -> None:
        self.axes = axes
        self.strided = strided
        self.fixed = fixed or {}
        self.found: dict[str, Operand] = {}

    def match(self, wanted: Expr, value: Expr) -> None:
        """Note where the operands lie.

        Raises:
            Mismatch: the value is another one.
        """
        wanted, value = plain(wanted), plain(value)
        if isinstance(wanted, Load) and isinstance(value, Load):
            self.operand(wanted, value)
            return
        if type(wanted) is not type(value) or wanted.dtype != value.dtype or _own(wanted) != _own(value):
            raise Mismatch(
                f"here `{text(value)}` ({value.dtype}) stands where it has `{text(wanted)}` ({wanted.dtype})"
            )
        mine, theirs = children(wanted), children(value)
        known = dict(self.found)
        try:
            self.all(mine, theirs)
        except Mismatch as first:
            if not (isinstance(wanted, Binary) and wanted.op in COMMUTATIVE):
                raise
            self.found = known
            try:
                self.all(mine, theirs[::-1])
            except Mismatch:
                raise first from None

    def all(self, wanted: tuple[Expr, ...], values: tuple[Expr, ...]) -> None:
        """Match one by one."""
        for one, other in zip(wanted, values, strict=True):
            self.match(one, other)

    def operand(self, wanted: Load, value: Load) -> None:
        """Match an element of an operand."""
        if wanted.dtype != value.dtype:
            raise Mismatch(
                f"{value.tensor.name} is {value.dtype}, its {wanted.tensor.name} is {wanted.dtype}"
            )
        operand = self.place(wanted, value)
        known = self.found.setdefault(wanted.tensor.name, operand)
        if known is not operand and _where(known) != _where(operand):
            raise Mismatch(
                f"its {wanted.tensor.name} would be both `{text(known.first)}` and `{text(operand.first)}`"
            )

    def place(self, wanted: Load, value: Load) -> Operand:
        """Where the operand lies of which ``value`` is the element that ``wanted`` is in the definition."""
        assert isinstance(value.tensor, Buffer)
        mine = _steps(offset(wanted), set(self.axes), wanted)
        theirs = _steps(_flat(value), set(self.axes.values()), value)
        strides: list[int] = []
        for dim, size in enumerate(wanted.tensor.shape):
            strides.append(self.stride(wanted, dim, theirs, value) if known(size) > 1 and self.strided else 0)
        if not self.strided:
            for axis, var in self.axes.items():
                if mine.get(axis, 0) != theirs.get(var, 0):
                    raise Mismatch(_apart(wanted, value, self.axes, mine, theirs))
        start = {var: number(0) for var in self.axes.values()}
        return Operand(substituted(value, start), tuple(strides))

    def stride(self, wanted: Load, dim: int, theirs: Mapping[Axis, int], value: Load) -> int:
        """How far apart the elements of one dimension of ``value`` are; each must be indexed by one axis."""
        index = wanted.indices[dim]
        if not isinstance(index, Axis) or sum(index is other for other in wanted.indices) != 1:
            raise Mismatch(
                f"an operand with strides is indexed by axes, each once, and not as `{text(wanted)}`"
            )
        step = theirs.get(self.axes[index], 0)
        needed = self.fixed.get(wanted.tensor.name)
        if needed is not None and needed[dim] not in (None, step):
            raise Mismatch(
                f"one step of {self.axes[index].name} goes {step} elements on in {value.tensor.name}, and must go "
                f"{needed[dim]}, as in its {wanted.tensor.name}{list(wanted.tensor.shape)};\n{_pack(value)}"
            )
        return step


def plain(e: Expr) -> Expr:
    """``e`` without a cast under a cast that loses nothing: int32(int16(x)) of an int8 is int32(x)."""
    while (
        isinstance(e, Cast) and isinstance(e.value, Cast) and dtypes.holds(e.value.dtype, e.value.value.dtype)
    ):
        e = Cast(e.value.value, e.dtype)
    return e


def substituted(load: Load, values: Mapping[Axis, Expr]) -> Load:
    """A load with loop variables replaced."""
    indices = tuple(simplify(substitute(index, dict(values))) for index in load.indices)
    return Load(load.tensor, indices, load.dtype)


def _own(e: Expr) -> object:
    """What a node says itself, beside its dtype and its parts."""
    match e:
        case Const():
            return repr(e.value)
        case Result() | Cast() | Select():
            return None
    return getattr(e, "op", None) or getattr(e, "fn", None)


def _where(operand: Operand) -> object:
    form = _flat(operand.first)
    return id(operand.buffer), form.const, {key: steps for key, (_, steps) in form.terms.items()}


def _flat(load: Load) -> Linear:
    """The place of an element; the halves of a fused loop are put together where the array lies in its order."""
    assert isinstance(load.tensor, Buffer)
    return linear(rejoined(offset(load, fixed(load.tensor.strides)).expr(), {}))


def _steps(form: Linear, axes: set[Axis], load: Load) -> dict[Axis, int]:
    """How far one step of each of ``axes`` goes in memory."""
    steps: dict[Axis, int] = {}
    for term, coefficient in form.terms.values():
        if isinstance(term, Axis):
            if term in axes:
                steps[term] = coefficient
        elif axes & {e for e in _walk(term) if isinstance(e, Axis)}:
            raise Mismatch(f"the index of `{text(load)}` is not linear in the loops inside")
    return steps


def _walk(e: Expr) -> list[Expr]:
    return [e, *(inner for child in children(e) for inner in _walk(child))]


def _apart(
    wanted: Load, value: Load, axes: Mapping[Axis, Axis], mine: Mapping[Axis, int], theirs: Mapping[Axis, int]
) -> str:
    loops = ", ".join(var.name for var in axes.values())
    have = ", ".join(str(theirs.get(var, 0)) for var in axes.values())
    need = ", ".join(str(mine.get(axis, 0)) for axis in axes)
    return (
        f"one step of ({loops}) goes ({have}) elements on in {value.tensor.name}, and must go ({need}), "
        f"as in its {wanted.tensor.name}{list(wanted.tensor.shape)};\n"
        f"{_pack(value)}"
    )


def _pack(value: Load) -> str:
    return f"pack {value.tensor.name}: cache_read, split and transform_layout put elements side by side"


def fixed(strides: tuple[Extent, ...] | None) -> tuple[int, ...] | None:
    """Strides as numbers; what only a call knows was refused before."""
    return None if strides is None else known_shape(strides)

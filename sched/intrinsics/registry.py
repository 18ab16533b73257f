"""Intrinsics by name: what each computes, in Loopwright's own language, and how.

``tensorize`` looks for the definition in a stage's inner loops and lets the implementation stand there. What an
implementation does is compared with its definition before a kernel relies on it (:mod:`loopwright.sched.runtime.trust`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from math import prod
from typing import Any

from loopwright.sched.errors import DefinitionError, ScheduleError
from loopwright.sched.intrinsics.flat import offset
from loopwright.sched.language.expr import Axis, Expr, Load, Result, children, loads
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.operator import Operator
from loopwright.sched.language.stage import Input, Stage
from loopwright.sched.language.workload import Workload

# Of one operand: an implementation is compared with its definition on all of them.
MOST_ELEMENTS = 1 << 16


@dataclass(frozen=True)
class LlvmFunction:
    """An implementation as a function in LLVM's assembly.

    It is called as ``void symbol(out*, a*, b*, ...)`` with the first elements of the result (which it adds to, if the
    definition reduces) and of the inputs. With ``strides``, an ``i64`` follows for every dimension of each of them, in
    elements: then they need not be contiguous. ``fixed`` has those that must be a certain number, of the result and of each
    input in order; None where any will do. ``begins`` is the symbol of a second function in ``source``, which does the same but
    for what the result holds: its sums begin anew, so where one call has all terms of a sum, no zeros are stored before.
    """

    symbol: str
    source: str
    strides: bool = False
    fixed: tuple[tuple[int | None, ...], ...] = ()
    begins: str = ""


@dataclass(frozen=True)
class Fragments:
    """An implementation by the 32 threads of a warp together, which hold a product and its factors in fragments.

    Attributes:
        rows, columns: of the product.
        steps: how many terms are added to each of its elements.
    """

    rows: int
    columns: int
    steps: int


Implementation = Callable[..., Any] | LlvmFunction | Fragments


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """A small computation that is done at once.

    Attributes:
        name: what ``tensorize`` calls it.
        stage: what it computes; its inputs are the operands.
        implementation: a function on TensorIR vectors, or one in LLVM's assembly; or that a warp does it.
        features: what the CPU must have, or the GPU at least.
        own: whether it is one of Loopwright's, of which the name says what it does.
    """

    name: str
    stage: Stage
    implementation: Implementation
    features: tuple[str, ...] = ()
    own: bool = False

    @property
    def operands(self) -> tuple[Input, ...]:
        """The inputs, in the order the implementation takes them."""
        assert self._operands is not None
        return self._operands

    _operands: tuple[Input, ...] | None = None

    @property
    def strided(self) -> bool:
        """Whether its operands may lie apart in memory."""
        return self.of_warp or self.holds_sums

    @property
    def fixed(self) -> dict[str, tuple[int | None, ...]]:
        """Of operands that lie apart: which strides must be a certain number; by their names, the result's too."""
        fixed = self.implementation.fixed if isinstance(self.implementation, LlvmFunction) else ()
        return dict(zip((self.stage.name, *(tensor.name for tensor in self.operands)), fixed, strict=False))

    @property
    def holds_sums(self) -> bool:
        """Whether it reads and writes results where they lie, in rows of an array: no buffer of its own is needed for them."""
        return isinstance(self.implementation, LlvmFunction) and self.implementation.strides

    @property
    def begins(self) -> bool:
        """Whether it can begin the sums that it accumulates."""
        return isinstance(self.implementation, LlvmFunction) and bool(self.implementation.begins)

    @property
    def of_warp(self) -> bool:
        """Whether the threads of a warp do it together."""
        return isinstance(self.implementation, Fragments)

    @property
    def formula(self) -> Expr:
        """What an element is, or what is accumulated into it."""
        reduce = self.stage.reduce
        return self.stage.body if reduce is None else reduce.value


_REGISTERED: dict[str, Intrinsic] = {}


def intrinsic(
    name: str,
    definition: Workload | Callable[[], Any],
    implementation: Implementation,
    features: Iterable[str] = (),
) -> Intrinsic:
    """Register something that the CPU, or a function of yours, does at once, for :meth:`Schedule.tensorize`.

    Args:
        name: what ``tensorize`` calls it; a later one of the same name takes its place.
        definition: what it computes: a workload of one stage, or a function without parameters that defines one. If the
            stage reduces, the implementation adds to the result (or multiplies, ...), whatever it holds.
        implementation: a function that makes the result from TensorIR vectors, each an operand's elements in order:
            ``f(a, b)``, or ``f(result, a, b)`` if the definition reduces; or an :class:`LlvmFunction`.
        features: what the CPU must have, in LLVM's names, such as ``"avx2"``.

    A kernel that uses it is built only after the implementation has given what the definition says, on data that
    includes extreme values (where this host has the features).

    Raises:
        DefinitionError: the definition is no single stage over whole operands.

    Example::

        def axpy():
            a, x = lw.input("a", ()), lw.input("x", (8,))
            r = lw.reduce_axis("r", 1)
            return lw.compute("y", (8,), lambda i: lw.sum(a[()] * x[i], over=r))

        lw.intrinsic("axpy8", axpy, lambda y, a, x: y + tvm.tirx.Broadcast(a, 8) * x)
        work.schedule().split("C.j", ("jo", "ji"), 8).reorder("C", "i jo k ji").tensorize("C.ji", "axpy8")
    """
    return register(name, definition, implementation, features)


def register(
    name: str,
    definition: Workload | Callable[[], Any],
    implementation: Implementation,
    features: Iterable[str],
    own: bool = False,
) -> Intrinsic:
    """What :func:`intrinsic` does; ``own`` for those of Loopwright."""
    where = f"intrinsic {name!r}"
    if not isinstance(name, str) or not name.replace(".", "_").replace("-", "_").isidentifier():
        raise DefinitionError(f"{where}: a name has letters, digits, dots and _, starting with a letter")
    work = definition if isinstance(definition, Workload) else Operator(definition)()
    if len(work.stages) != 1:
        raise DefinitionError(
            f"{where}: its definition has {len(work.stages)} stages; it must be a single one"
        )
    if not (callable(implementation) or isinstance(implementation, (LlvmFunction, Fragments))):
        raise DefinitionError(
            f"{where}: the implementation is a function on TensorIR vectors or an lw.LlvmFunction, not {implementation!r}"
        )
    _check_definition(where, work)
    made = Intrinsic(name, work.stages[0], implementation, tuple(features), own, work.inputs)
    _REGISTERED[name] = made
    return made


def find(name: object, where: str) -> Intrinsic:
    """The intrinsic of that name.

    Raises:
        ScheduleError: there is none.
    """
    _load_own()
    found = _REGISTERED.get(name) if isinstance(name, str) else None
    if found is None:
        near = get_close_matches(str(name), _REGISTERED, 1, 0.5)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ScheduleError(
            f"{where}: there is no intrinsic {name!r}{meant};\n"
            "lw.intrinsics() has the names of all, lw.intrinsic registers one"
        )
    return found


def intrinsics() -> tuple[str, ...]:
    """The names of all intrinsics registered, Loopwright's own first."""
    _load_own()
    return tuple(_REGISTERED)


def _load_own() -> None:
    from loopwright.sched.intrinsics import arm, nvidia, x86, x86_tiles

    for module in (x86, x86_tiles, arm, nvidia):
        module.register()


def _check_definition(where: str, work: Workload) -> None:
    stage = work.stages[0]
    reduce = stage.reduce
    if reduce is not None and not isinstance(stage.body, Result):
        raise DefinitionError(f"{where}: its reduction is followed by more; an intrinsic only accumulates")
    formula = stage.body if reduce is None else reduce.value
    for tensor in (*work.inputs, stage):
        if tensor.dtype == "bool" or not 0 < prod(tensor.shape) <= MOST_ELEMENTS:
            raise DefinitionError(
                f"{where}: {tensor.name} is {tensor.dtype}{list(tensor.shape)}; "
                f"numbers are needed, and 1 to {MOST_ELEMENTS} of them"
            )
    for tensor in work.inputs:
        _check_operand(where, tensor, [load for load in loads(formula) if load.tensor is tensor])
    if _speaks_of_axes(formula):
        raise DefinitionError(
            f"{where}: an axis stands outside of an index; only elements can be computed with"
        )


def _check_operand(where: str, tensor: Input, found: list[Load]) -> None:
    """All of an operand is read, at indices that are linear in the axes: so where it lies, all of it is in range."""
    reach: list[tuple[int, int]] = []
    for load in found:
        flat = offset(load)
        span = index_range(flat.expr())
        if span is None or not all(isinstance(term, Axis) for term, _ in flat.terms.values()):
            raise DefinitionError(f"{where}: the index of `{load}` is not linear in the axes")
        reach.append(span)
    if not reach or (min(low for low, _ in reach), max(high for _, high in reach)) != (
        0,
        prod(tensor.shape) - 1,
    ):
        raise DefinitionError(
            f"{where}: not all of {tensor.name}{list(tensor.shape)} is read; make it smaller"
        )


def _speaks_of_axes(e: Expr) -> bool:
    if isinstance(e, Load):
        return False
    return isinstance(e, Axis) or any(_speaks_of_axes(child) for child in children(e))

"""Weights of kernels: packed once, by :meth:`Kernel.prepack`, and handed to many calls as a :class:`Packed`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.sched.errors import ArgumentError, ArgumentTypeError, LoadError
from loopwright.sched.runtime import arguments
from loopwright.sched.runtime.arguments import Array
from loopwright.sched.runtime.dlpack import aligned
from loopwright.sched.runtime.signature import INPUT, WEIGHT, Param, Signature

if TYPE_CHECKING:
    from loopwright.sched.runtime.kernel import Kernel


@dataclass(frozen=True)
class Prepacking:
    """How a kernel has its weights packed; a plain value that travels with its library.

    Attributes:
        entry: what the compiled kernel takes: the inputs but for weights that it does not read, and then the packed arrays.
        pack: what packs: weights as inputs, the packed arrays as outputs, each of one dimension.
        layout: a digest of how; kernels of equal layouts take each other's packed weights.
    """

    entry: Signature
    pack: Signature
    layout: str

    @classmethod
    def of(cls, entry: Signature, pack: Signature, code: str) -> Prepacking:
        """The layout that packing by ``code``, the text of a function, comes to."""
        taken = [(p.name, p.shape, p.dtype) for p in (*entry.inputs, *pack.inputs) if p.role == WEIGHT]
        return cls(entry, pack, sha256(repr((taken, code)).encode()).hexdigest()[:32])

    def arrays(self, inputs: Mapping[str, Array]) -> tuple[list[Array], tuple[Array, ...]]:
        """What the function that packs takes: the weights, and new arrays to fill."""
        return [inputs[p.name] for p in self.pack.inputs], tuple(
            _zeros(p.extents, p.numpy) for p in self.pack.outputs
        )

    def to_json(self) -> dict[str, Any]:
        """A plain value that :meth:`from_json` turns back into an equal one."""
        return {"entry": self.entry.to_json(), "pack": self.pack.to_json(), "layout": self.layout}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Prepacking:
        """What :meth:`to_json` wrote.

        Raises:
            LoadError: it is none.
        """
        try:
            entry, pack = Signature.from_json(value["entry"]), Signature.from_json(value["pack"])
            return cls(entry, pack, str(value["layout"]))
        except (KeyError, TypeError) as error:
            raise LoadError(f"not how a kernel has its weights packed: {error!r}") from None


@dataclass(frozen=True)
class Candidate:
    """A compiled function that finds its weights packed, and the one that packs them; neither checks its arguments.

    Attributes:
        function, pack: take arrays as ``prepacking`` says, outputs last.
        names: of the workload's inputs, in order.
    """

    function: Callable[..., Any]
    pack: Callable[..., Any]
    prepacking: Prepacking
    names: tuple[str, ...]

    def packed(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The packed arrays that the function takes."""
        weights, made = self.prepacking.arrays(dict(zip(self.names, inputs, strict=True)))
        self.pack(*weights, *made)
        return made

    def arguments(self, inputs: Sequence[Array], packed: Sequence[Array]) -> list[Array]:
        """What the function takes before its outputs."""
        known = dict(zip(self.names, inputs, strict=True))
        kept = self.prepacking.entry.inputs[: -len(packed)]
        return [*(known[p.name] for p in kept), *packed]


class Packed:
    """The weights of a kernel as it reads them: what :meth:`Kernel.prepack` returns, and calls take in their place.

    It holds copies, so the arrays it was made from may change or go. It can be pickled; a kernel loaded from a library in another
    process takes it, too.

    Attributes:
        operator: the name of the operator it was made for.
        params: the weights it stands for.
        nbytes: the memory it takes, in bytes.
    """

    __slots__ = ("layouts", "operator", "params")

    def __init__(
        self, operator: str, params: tuple[Param, ...], layouts: Mapping[str, tuple[Array, ...]]
    ) -> None:
        self.operator, self.params = operator, params
        #: Layout -> the arrays that kernels of this layout take.
        self.layouts = dict(layouts)

    @property
    def nbytes(self) -> int:
        """The memory it takes, in bytes."""
        return sum(array.nbytes for arrays in self.layouts.values() for array in arrays)

    @property
    def like(self) -> list[Array]:
        """Arrays of the shapes and dtypes of the weights, without memory of their own."""
        return [np.broadcast_to(np.empty((), p.numpy), p.extents) for p in self.params]

    def __repr__(self) -> str:
        return f"<Packed {', '.join(map(str, self.params))} of {self.operator}, {self.nbytes} bytes>"


class Weights:
    """What a kernel does about its weights.

    Args:
        signature: the kernel's, as users see it.
        main: the compiled function as a kernel without weights: of ``signature``, or of what ``prepacking`` says.
        prepacking, pack: how weights are packed, and the kernel that does; None where they are taken as they are.
    """

    def __init__(
        self,
        signature: Signature,
        main: Callable[..., Any],
        prepacking: Prepacking | None = None,
        pack: Callable[..., Any] | None = None,
    ) -> None:
        self.signature, self.main, self.prepacking, self._pack = signature, main, prepacking, pack
        self.params = signature.weights
        inputs = signature.inputs
        self._first = inputs.index(self.params[0])
        others = [p for p in inputs if p.role != WEIGHT]
        #: What a call takes with packed weights, and what packing takes.
        self.short = Signature(
            signature.name, tuple(p for p in inputs if p.role != WEIGHT or p is self.params[0])
        )
        self.taken = Signature(
            f"{signature.name}.prepack", tuple(replace(p, role=INPUT) for p in self.params)
        )
        entry = inputs if prepacking is None else prepacking.entry.inputs
        kept = {p.name for p in entry if p.role == WEIGHT}
        self._kept = [nth for nth, p in enumerate(self.params) if p.name in kept]
        # For each argument of the compiled function, where it is among the inputs that are no weights and then what is held.
        places, held = iter(range(len(others))), iter(range(len(others), len(others) + len(entry)))
        packed = 0 if prepacking is None else len(prepacking.pack.outputs)
        self._order = [
            next(held if p.role == WEIGHT or nth >= len(entry) - packed else places)
            for nth, p in enumerate(entry)
        ]
        self._in_order = self._order == sorted(self._order)
        self._count = len(self.short.inputs)
        self.layout = layout_of(signature, prepacking)

    @classmethod
    def of(cls, kernel: Kernel) -> Weights | None:
        """Those of a kernel; None if it has none."""
        if not kernel.signature.weights:
            return None
        main, prepacking = kernel.like(kernel.entry, kernel.function), kernel.prepacking
        pack = kernel.like(prepacking.pack, kernel.pack) if prepacking is not None else None
        return cls(kernel.signature, main, prepacking, pack)

    def prepack(self, given: Sequence[Any], named: Mapping[str, Any]) -> Packed:
        """The weights packed; see :meth:`Kernel.prepack`."""
        arrays = arguments.inputs_in_order(self.taken, given, named)
        return Packed(self.signature.name, self.params, {self.layout: self.held(arrays)})

    def held(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """What the compiled function takes of weights: copies of those that it reads as they are, and packed arrays.

        Raises:
            ArgumentTypeError, ArgumentError: an array is not as declared.
        """
        views = arguments.views(self.taken, arrays)
        arguments.lend(self.taken, views)
        copies = tuple(_copy(views[nth]) for nth in self._kept)
        return (*copies, *self._packed(views))

    def _packed(self, views: Sequence[Array]) -> tuple[Array, ...]:
        if self.prepacking is None:
            return ()
        weights, made = self.prepacking.arrays(dict(zip((p.name for p in self.params), views, strict=True)))
        assert self._pack is not None
        self._pack(*weights, out=made if len(made) > 1 else made[0])
        return made

    def call(self, given: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
        """A call of the kernel, with packed weights or with plain arrays."""
        return self.main(*self.arguments(given, named), out=out)

    def arguments(self, given: Sequence[Any], named: Mapping[str, Any] | None = None) -> Sequence[Any]:
        """What the compiled function takes in a call, but for outputs."""
        first = self._first
        if not named and len(given) == self._count and type(given[first]) is Packed:
            held = given[first].layouts.get(self.layout)
            if held is not None:
                return self._arranged((*given[:first], *given[first + 1 :], *held))
        if not named and self.prepacking is None and Packed not in map(type, given):
            return given
        return self._looked_at(given, named or {})

    def with_packed(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any] | None:
        """The inputs of a call with packed weights, in order; None if it has none.

        Raises:
            ArgumentTypeError: too many or too few, an unknown name, or packed weights not where the first weight stands.
        """
        packed = [value for value in (*given, *named.values()) if type(value) is Packed]
        if not packed:
            return None
        inputs = arguments.inputs_in_order(self.short, given, named)
        if len(packed) > 1 or type(inputs[self._first]) is not Packed:
            raise ArgumentTypeError(
                f"{self.signature.name}: packed weights stand once, in the place of {self.params[0].name}"
            )
        return inputs

    def spread(self, inputs: Sequence[Any]) -> list[Any]:
        """What :meth:`with_packed` gave, with arrays like the weights in place of what they were packed to."""
        like = iter(inputs[self._first].like)
        others = (value for value in inputs if type(value) is not Packed)
        return [next(like if p.role == WEIGHT else others) for p in self.signature.inputs]

    def _arranged(self, both: Sequence[Any]) -> Sequence[Any]:
        """The inputs that are no weights, and then what is held of weights, in the order of the compiled function."""
        return both if self._in_order else [both[place] for place in self._order]

    def _looked_at(self, given: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The same for a call that names its inputs, or hands over plain arrays, or is wrong."""
        inputs = self.with_packed(given, named)
        if inputs is not None:
            self._check(inputs[self._first])
            return self.arguments(inputs)
        inputs = arguments.inputs_in_order(self.signature, given, named)
        if self.prepacking is None:
            return inputs
        pairs = list(zip(self.signature.inputs, inputs, strict=True))
        others = [value for p, value in pairs if p.role != WEIGHT]
        return self._arranged((*others, *self.held([value for p, value in pairs if p.role == WEIGHT])))

    def _check(self, packed: Packed) -> None:
        """Refuse what was packed for another kernel."""
        if self.layout not in packed.layouts:
            raise ArgumentError(
                f"{self.signature.name}: argument {self.params[0].name} is {packed!r}, packed for another kernel: this one "
                "reads weights in another layout; pack them with its own prepack"
            )


def layout_of(signature: Signature, prepacking: Prepacking | None) -> str:
    """What must be equal of kernels that take each other's packed weights."""
    if prepacking is not None:
        return prepacking.layout
    return "as given: " + ", ".join(str(replace(p, name="weight")) for p in signature.weights)


def weights_of(kernel: Kernel) -> Weights:
    """What a kernel does about its weights.

    Raises:
        ArgumentTypeError: it has none.
    """
    if kernel.weights is None:
        raise ArgumentTypeError(
            f"{kernel.signature.name} has no weights to pack; an input becomes one by weights= of the operator, or by "
            "lw.input(..., weight=True)"
        )
    return kernel.weights


def packed_once(kernel: Kernel, inputs: Sequence[Any]) -> list[Any]:
    """The inputs of a call with the weights among them packed: what is timed where weights stay the same."""
    pairs = list(zip(kernel.signature.inputs, inputs, strict=True))
    weights = kernel.signature.weights
    packed = kernel.prepack(*(array for p, array in pairs if p.role == WEIGHT)) if weights else None
    return [packed if p.role == WEIGHT else array for p, array in pairs if p not in weights[1:]]


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array for packed weights: what padding holds is the same each time."""
    return aligned(shape, dtype, np.zeros)


def _copy(view: Array) -> Array:
    made = _zeros(view.shape, view.dtype)
    made[...] = view
    return made

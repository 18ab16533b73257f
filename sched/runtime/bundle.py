"""Many kernels in one: by shape (`Dispatch`), and by name and shape (`Bundle`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, log2
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ArgumentError, DefinitionError
from loopwright.sched.runtime import arguments
from loopwright.sched.runtime.library import export
from loopwright.sched.runtime.manifest import BUNDLE, DISPATCH
from loopwright.sched.runtime.weights import Packed, weights_of

if TYPE_CHECKING:
    from loopwright.sched.runtime.kernel import Kernel

# Shapes whose kernel is remembered; a service whose shapes never repeat starts over now and then.
_MOST_REMEMBERED = 4096
# Kernels that an error lists.
_LISTED = 4


class Dispatch:
    """Several kernels of one operator as one callable: each call runs the kernel that fits its arrays.

    That is one for just these shapes; else, of those with symbolic sizes that take them, the one that was tuned at the
    nearest sizes; else one that was not tuned. Calls are those of a :class:`Kernel`.

    Args:
        kernels: of one name, with the same inputs and outputs but for shapes and dtypes; earlier ones come first where several
            fit equally.

    Raises:
        DefinitionError: no kernels, or kernels of different operators.
        ArgumentError: (calls) no kernel takes arrays like these.

    Example::

        work = ops.matmul(M=lw.size("M"), N=512, K=512)
        matmul = lw.Dispatch([lw.build(work.at(M=64)), lw.build(work)])
        matmul(a, b)                    # by the first if a has 64 rows
        matmul.export("matmul.so")      # lw.load gives it back
    """

    def __init__(self, kernels: Iterable[Kernel]) -> None:
        self.kernels = tuple(kernels)
        if not self.kernels:
            raise DefinitionError("a dispatch is made of at least one kernel")
        first = self.kernels[0].signature
        for kernel in self.kernels:
            ours = kernel.signature
            if ours.name != first.name or _outline(ours) != _outline(first):
                raise DefinitionError(f"{ours} cannot stand beside {first}: they are different operators")
        self.signature = first
        self._inputs, self._weights = len(first.inputs), self.kernels[0].weights
        self._chosen: dict[Any, Kernel] = {}

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """Run the kernel that fits; see :class:`Kernel`."""
        if self._weights is not None:
            packed = self._weights.with_packed(arrays, named)
            if packed:
                return self.choose(*self._weights.spread(packed))(*packed, out=out)
        if named or len(arrays) != self._inputs:
            arrays = tuple(arguments.inputs_in_order(self.signature, arrays, named))
        return self._choice(arrays)(*arrays, out=out)

    def prepack(self, *weights: Any, **named: Any) -> Packed:
        """Lay out the weights for all kernels that take weights of these shapes, once for each layout among them; see
        :meth:`Kernel.prepack`.

        Raises:
            ArgumentTypeError: the kernels have no weights, or something is no array.
            ArgumentError: no kernel takes weights like these.
        """
        first = weights_of(self.kernels[0])
        arrays = arguments.inputs_in_order(first.taken, weights, named)
        views = arguments.views(first.taken, arrays)
        found: Packed | None = None
        for own in map(weights_of, self.kernels):
            if all(
                v.shape == p.extents and v.dtype == p.numpy for v, p in zip(views, own.params, strict=True)
            ):
                found = found or Packed(self.signature.name, own.params, {})
                if own.layout not in found.layouts:
                    found.layouts[own.layout] = own.held(views)
        return first.prepack(views, {}) if found is None else found  # which says what is wrong with them

    def choose(self, *arrays: Any) -> Kernel:
        """The kernel that a call with these inputs runs.

        Raises:
            ArgumentTypeError: something is no array.
            ArgumentError: no kernel takes arrays like these.
        """
        return self._choice(arrays)

    def _choice(self, arrays: Sequence[Any]) -> Kernel:
        try:
            key = tuple([(array.shape, array.dtype) for array in arrays])
            found = self._chosen.get(key)
        except (AttributeError, TypeError):  # no array that says what it is like: shared, it will
            return self._find(arrays)
        if found is None:
            if len(self._chosen) >= _MOST_REMEMBERED:
                self._chosen.clear()
            found = self._chosen[key] = self._find(arrays)
        return found

    def _find(self, arrays: Sequence[Any]) -> Kernel:
        views = arguments.views(self.signature, arrays)
        fitting = [(how, kernel) for kernel in self.kernels if (how := _distance(kernel, views)) is not None]
        if not fitting:
            raise ArgumentError(self._no_kernel(views))
        return min(fitting, key=lambda pair: pair[0])[1]

    def _no_kernel(self, views: Sequence[arguments.Array]) -> str:
        inputs = self.signature.inputs
        given = ", ".join(f"{p.name}: {v.dtype}{list(v.shape)}" for p, v in zip(inputs, views, strict=True))
        lines = [f"{self.signature.name} has no kernel for {given}; it has"]
        lines += [f"    {kernel.signature}" for kernel in self.kernels[:_LISTED]]
        if len(self.kernels) > _LISTED:
            lines.append(f"    and {len(self.kernels) - _LISTED} more")
        return "\n".join(lines)

    def export(self, path: str | PathLike[str]) -> Path:
        """Write all kernels as one shared library that ``loopwright.load`` turns back into this; return its path.

        Raises:
            ExportError: as :meth:`Kernel.export`; or a kernel was itself loaded from a library.
        """
        return export(self.kernels, path, DISPATCH)

    def __repr__(self) -> str:
        return f"<Dispatch {self.signature.name}: {len(self.kernels)} kernels>"


class Bundle(Mapping[str, Dispatch]):
    """Kernels by name, and each name's by shape: what a whole model needs, in one library.

    Args:
        kernels: of any operators; those of one name become a :class:`Dispatch`.

    Raises:
        DefinitionError: no kernels, or of one name such as are different operators.

    Example::

        layers = [ops.matmul(M=128, N=768, K=768), ops.matmul(M=128, N=3072, K=768), ops.softmax(M=128, N=128)]
        bundle = lw.Bundle(lw.build(work, log="tuned.jsonl") for work in layers)
        bundle.export("model.so")

        model = lw.load("model.so")
        model["matmul"](a, b)
    """

    def __init__(self, kernels: Iterable[Kernel]) -> None:
        by_name: dict[str, list[Kernel]] = {}
        for kernel in kernels:
            by_name.setdefault(kernel.signature.name, []).append(kernel)
        if not by_name:
            raise DefinitionError("a bundle is made of at least one kernel")
        self._operators = {name: Dispatch(group) for name, group in by_name.items()}

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels."""
        return tuple(kernel for operator in self._operators.values() for kernel in operator.kernels)

    def __getitem__(self, name: str) -> Dispatch:
        try:
            return self._operators[name]
        except KeyError:
            raise KeyError(f"no operator {name!r} in this bundle; it has {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def __len__(self) -> int:
        return len(self._operators)

    def export(self, path: str | PathLike[str]) -> Path:
        """Write all kernels as one shared library that ``loopwright.load`` turns back into this; return its path.

        Raises:
            ExportError: as :meth:`Kernel.export`; or a kernel was itself loaded from a library.
        """
        return export(self.kernels, path, BUNDLE)

    def __repr__(self) -> str:
        return f"<Bundle of {len(self.kernels)} kernels: {', '.join(self)}>"


def _outline(signature: Any) -> list[tuple[str, str, int]]:
    """What must be the same of kernels that stand for each other."""
    return [(p.name, p.role, len(p.shape)) for p in signature.params]


def _distance(kernel: Kernel, views: Sequence[arguments.Array]) -> float | None:
    """How far a kernel's sizes are from those of the arrays: -1 if it is for just these, None if it does not take them."""
    signature = kernel.signature
    if any(view.dtype != p.numpy for view, p in zip(views, signature.inputs, strict=True)):
        return None
    try:
        arguments.sized(signature, views)
    except ArgumentError:
        return None
    if not signature.sizes:
        return -1.0
    given = {size[1]: views[position].shape[dim] for size, (position, dim) in signature.sizes.items()}
    return min((_octaves(given, at) for at in kernel.at), default=inf)


def _octaves(given: Mapping[str, int], at: Mapping[str, int]) -> float:
    return sum(abs(log2((given[name] + 1) / (number + 1))) for name, number in at.items() if name in given)

"""A workload: an operator bound to its arguments, as a graph of stages. It is data: it has a JSON form and a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import canonical
from loopwright.sched.language.binding import checked_sizes
from loopwright.sched.language.expr import loads
from loopwright.sched.language.stage import Input, Part, Stage, Tensor, origin
from loopwright.sched.language.stage import stage_exprs as stage_exprs
from loopwright.sched.language.updates import check_latest

if TYPE_CHECKING:
    import numpy as np

    from loopwright.sched.scheduling.schedule import Schedule
    from loopwright.sched.views.drawing import Drawing


class Workload:
    """A DAG of stages with named inputs and outputs.

    Attributes:
        name: the operator's name.
        args: what the operator was called with (sizes, options); for people, not part of the key.
        inputs: in the order of a kernel's arguments.
        stages: every stage, producers before consumers.
        outputs: the stages, or parts of stages of tuples, that a kernel returns.
        sizes: the symbolic sizes, by the order of the inputs' dimensions; empty if all shapes are numbers.
        numpy: the operator's own NumPy function, if it gave one.
    """

    def __init__(
        self,
        name: str,
        args: dict[str, Any],
        inputs: Iterable[Input],
        outputs: Iterable[Stage | Part],
        numpy: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.args = dict(args)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.numpy = numpy
        self.stages = topological(origin(output)[0] for output in self.outputs)
        self._check_names()
        check_latest(self.stages, (origin(output)[0] for output in self.outputs), self.name)
        self.sizes = checked_sizes(self)

    def _check_names(self) -> None:
        if not self.outputs:
            raise DefinitionError(f"{self.name}: there is no output; return a stage or a tuple of stages")
        if len({(id(stage), part) for stage, part in map(origin, self.outputs)}) < len(self.outputs):
            raise DefinitionError(
                f"{self.name}: one stage is returned twice; each output is a stage of its own"
            )
        seen: dict[str, Tensor] = {}
        for tensor in (*self.inputs, *self.stages):
            if tensor.name in seen:
                raise DefinitionError(
                    f"{self.name}: two tensors are named {tensor.name!r}; give each its own name"
                )
            seen[tensor.name] = tensor
        declared = {id(tensor) for tensor in self.inputs}
        for tensor in used_inputs(self.stages):
            if id(tensor) not in declared:
                raise DefinitionError(
                    f"{self.name}: {tensor.name} is read, but it is not among the operator's own inputs"
                )

    @cached_property
    def key(self) -> str:
        """The SHA-256 of the formula in canonical form: shapes, dtypes and structure, no names. 64 hex digits."""
        return canonical.key(self)

    @cached_property
    def names(self) -> dict[str, str]:
        """Canonical position -> the user's name, of inputs, stages and axes; see :mod:`loopwright.sched.language.canonical`."""
        return canonical.names(self)

    def tensor(self, name: str) -> Tensor:
        """The input or stage of that name; raises KeyError."""
        for tensor in (*self.inputs, *self.stages):
            if tensor.name == name:
                return tensor
        raise KeyError(name)

    def schedule(self) -> Schedule:
        """The empty schedule: every stage at root, its loops as written. Directives are added to it."""
        from loopwright.sched.scheduling.schedule import Schedule

        return Schedule(self)

    def reference(self, *arrays: np.ndarray) -> Any:
        """Evaluate the definition with NumPy: the unscheduled meaning, by code that shares nothing with the lowering.

        Args:
            arrays: one for each input, in order.

        Returns:
            The output array, or a tuple of them if the workload has several outputs.
        """
        from loopwright.sched.reference import evaluate

        return evaluate(self, arrays)

    def draw(self) -> Drawing:
        """The graph of stages as a drawing: notebooks show it, ``.save("stages.svg")`` writes it."""
        from loopwright.sched.views.drawing import draw_graph

        return draw_graph(self)

    def _repr_svg_(self) -> str:
        return self.draw().svg

    def at(self, sizes: Mapping[str, int] | None = None, /, **named: int) -> Workload:
        """The same definition with numbers in place of its sizes: ``work.at(n=128)``.

        Raises:
            ArgumentError: a size without a number, a number that breaks a promise, or one for which a shape is negative.
        """
        from loopwright.sched.language.binding import at_sizes

        return at_sizes(self, {**(sizes or {}), **named})

    def with_weights(self, *names: str) -> Workload:
        """The same workload with inputs declared weights, which are the same in many calls; see docs/weights.md.

        An operator does this for ``weights=``; for an imported workload it is the way to say so.

        Raises:
            DefinitionError: there is no such input, or only a call says how long its dimensions are.

        Example:
            >>> from loopwright import ops
            >>> ops.matmul(M=2, N=3, K=4).with_weights("B").inputs
            (<input A float32[2, 4]>, <weight B float32[4, 3]>)
        """
        from loopwright.sched.language.weights import with_weights

        return with_weights(self, names)

    def to_json(self) -> dict[str, Any]:
        """The whole definition as JSON-able data; :meth:`from_json` restores it in any process."""
        return canonical.workload_to_json(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Workload:
        """Restore what :meth:`to_json` gave."""
        return canonical.workload_from_json(data)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={_shown(value)}' for name, value in self.args.items())})"

    def __repr__(self) -> str:
        return (
            f"<workload {self}: {', '.join(map(repr, self.inputs))} -> {', '.join(map(repr, self.outputs))}>"
        )


def producers(stage: Stage) -> list[Tensor]:
    """The distinct tensors a stage reads, in the order of its formula; what it updates comes last."""
    base = None if stage.updating is None else stage.updating.base
    found: list[Tensor] = []
    for expr in stage_exprs(stage):
        for load in loads(expr):
            if load.tensor is not base and not any(load.tensor is other for other in found):
                found.append(load.tensor)
    return found if base is None else [*found, base]


def topological(outputs: Iterable[Stage]) -> tuple[Stage, ...]:
    """Every stage the outputs depend on, producers first, in an order that only the formula decides."""
    done: list[Stage] = []

    def visit(stage: Stage) -> None:
        if any(stage is other for other in done):
            return
        for tensor in producers(stage):
            if isinstance(tensor, Stage):
                visit(tensor)
        done.append(stage)

    for output in outputs:
        visit(output)
    return tuple(done)


def used_inputs(stages: Iterable[Stage]) -> list[Input]:
    """The inputs that stages read, in the order of first use."""
    found: list[Input] = []
    for stage in stages:
        for tensor in producers(stage):
            if isinstance(tensor, Input) and not any(tensor is other for other in found):
                found.append(tensor)
    return found


def _shown(value: Any) -> str:
    """An argument as the user wrote it; a size by its name, also inside a shape."""
    if isinstance(value, tuple):
        inside = ", ".join(map(_shown, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value) if isinstance(value, str) else str(value)

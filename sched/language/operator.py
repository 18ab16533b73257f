"""Operators: Python functions from sizes and options to a computation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, overload

import numpy as np

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import declared_inputs
from loopwright.sched.language.expr import Expr, is_size
from loopwright.sched.language.stage import Input, Part, Stage
from loopwright.sched.language.workload import Workload


def _signature(fn: Callable[..., Any]) -> inspect.Signature:
    """A function's parameters, with annotations as types even where they are written as text."""
    try:
        signature = inspect.signature(fn, eval_str=True)
    except Exception:  # an annotation names what only type checkers see
        signature = inspect.signature(fn)
    return signature.replace(return_annotation=inspect.Signature.empty)


def _names(operator: str, weights: Any) -> tuple[str, ...]:
    """The inputs that ``weights=`` names, each once."""
    names = weights.replace(",", " ").split() if isinstance(weights, str) else weights
    if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) for name in names):
        raise DefinitionError(
            f"{operator}: weights= takes names of inputs, such as 'W' or ('W', 'bias'), not {weights!r}"
        )
    return tuple(dict.fromkeys(names))


class Operator:
    """A decorated function. Calling it with sizes and options traces the function and gives a :class:`Workload`."""

    def __init__(self, fn: Callable[..., Any], numpy: Callable[..., Any] | None = None) -> None:
        update_wrapper(self, fn)
        self.fn = fn
        self.name = fn.__name__
        self.numpy = numpy
        self.signature = _signature(fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Workload:
        """Bind the arguments.

        Every operator takes ``weights=`` beside its own: the names of inputs that are the same in many calls, ``"B"``,
        ``"W bias"`` or ``("W", "bias")``; see docs/weights.md.

        Raises:
            DefinitionError: unknown, missing or ill-typed arguments, or an ill-formed definition.
        """
        own = "weights" in self.signature.parameters
        weights = () if own else _names(self.name, kwargs.pop("weights", ()))
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise DefinitionError(
                f"{self.name}: {error}; it is called as {self.name}{self.signature}"
            ) from None
        bound.apply_defaults()
        self._check_types(bound.arguments)
        inputs: list[Input] = []
        token = declared_inputs.set(inputs)
        try:
            result = self.fn(*bound.args, **bound.kwargs)
        finally:
            declared_inputs.reset(token)
        outputs = result if isinstance(result, tuple) else (result,)
        for output in outputs:
            if not isinstance(output, (Stage, Part)):
                hint = (
                    "; write (*parts, other) to return all parts of a stage"
                    if isinstance(output, tuple)
                    else ""
                )
                raise DefinitionError(
                    f"{self.name}: an operator returns a stage or a tuple of stages, not {type(output).__name__}{hint}"
                )
        numpy = self._numpy_with(bound.arguments)
        made = Workload(self.name, dict(bound.arguments), inputs, outputs, numpy)
        return made.with_weights(*weights)

    def _numpy_with(self, arguments: dict[str, Any]) -> Callable[..., Any] | None:
        """The NumPy function, its keyword-only parameters bound to the operator's arguments of those names."""
        if self.numpy is None:
            return None
        try:
            parameters = inspect.signature(self.numpy).parameters.values()
        except (TypeError, ValueError):  # a ufunc, or another function written in C: it takes arrays only
            return self.numpy
        options = {
            p.name: arguments[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in arguments
        }
        return partial(self.numpy, **options) if options else self.numpy

    def _check_types(self, arguments: dict[str, Any]) -> None:
        """An argument annotated ``int``, ``float``, ``str`` or ``bool`` must be one; a bool is no int."""
        plain: dict[Any, tuple[type, ...]] = {
            int: (int,), "int": (int,), float: (int, float), "float": (int, float),
            str: (str,), "str": (str,), bool: (bool,), "bool": (bool,),
        }  # fmt: skip
        for name, value in arguments.items():
            annotation = self.signature.parameters[name].annotation
            wanted = plain.get(annotation) if isinstance(annotation, (type, str)) else None
            if wanted is None or (int in wanted and isinstance(value, Expr) and is_size(value)):
                continue
            integral = int in wanted and hasattr(value, "__index__")
            integral |= float in wanted and isinstance(value, np.floating)
            if not (isinstance(value, wanted) or integral) or (
                isinstance(value, bool) and bool not in wanted
            ):
                text = annotation if isinstance(annotation, str) else annotation.__name__
                raise DefinitionError(
                    f"{self.name}: argument {name}={value!r} is no {text}; it is called as {self.name}{self.signature}"
                )
            if isinstance(value, np.floating):
                arguments[name] = float(value)
            elif integral and not isinstance(value, (int, float)):
                arguments[name] = int(value)

    def __repr__(self) -> str:
        return f"<operator {self.name}{self.signature}>"


@overload
def operator(fn: Callable[..., Any], /) -> Operator: ...
@overload
def operator(*, numpy: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], Operator]: ...
def operator(
    fn: Callable[..., Any] | None = None, /, *, numpy: Callable[..., Any] | None = None
) -> Operator | Callable[[Callable[..., Any]], Operator]:
    """Make an operator of a function from sizes and options to a stage (or a tuple of stages).

    Args:
        numpy: a function of the input arrays that gives the expected result; benchmarks time it beside the kernel,
            and tests compare with it. Its keyword-only parameters receive the operator's arguments of the same names.

    >>> from loopwright.sched.language.builders import compute, input
    >>> @operator
    ... def double(N: int):
    ...     x = input("x", (N,))
    ...     return compute("y", (N,), lambda i: x[i] * 2)
    >>> double(N=8)
    <workload double(N=8): <input x float32[8]> -> <stage y float32[8]>>
    """
    if fn is not None and not callable(fn):
        raise DefinitionError(f"operator: {fn!r} is no function; write @lw.operator above one")
    if fn is not None:
        return Operator(fn)
    return lambda function: Operator(function, numpy)

"""The values of an operator's arguments, as they are written on a command line."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Sequence
from typing import Any

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.operator import Operator

_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def parse_arguments(operator: Operator, words: Sequence[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` words as the operator's annotations say; every operator takes ``weights``.

    Raises:
        DefinitionError: an argument is unknown, missing, given twice or ill-typed.
    """
    parameters = operator.signature.parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    usage = f"it is called as {call_text(operator)}"
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise DefinitionError(f"{word!r} is no argument: write NAME=VALUE; {usage}")
        if name in values:
            raise DefinitionError(f"{operator.name}: {name} is given twice")
        if name not in parameters and not takes_any and name != "weights":
            near = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise DefinitionError(f"{operator.name} has no argument {name!r}{hint}; {usage}")
        kind = _annotation(parameters[name]) if name in parameters else ""
        try:
            values[name] = parse_value(text, kind)
        except ValueError:
            raise DefinitionError(
                f"{operator.name}: {word} is wrong: {name} is {_KINDS[kind]}, and {text!r} is none; {usage}"
            ) from None
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    missing = [
        n for n, p in parameters.items() if p.kind in plain and p.default is p.empty and n not in values
    ]
    if missing:
        lacking = "an argument is" if len(missing) == 1 else "arguments are"
        raise DefinitionError(f"{operator.name}: {lacking} missing: {', '.join(missing)}; {usage}")
    return values


def call_text(operator: Operator) -> str:
    """How an operator is called; postponed annotations without their quotes."""
    shown = []
    for parameter in operator.signature.parameters.values():
        found = parameter.annotation
        shown.append(parameter.replace(annotation=_Bare(found)) if isinstance(found, str) else parameter)
    return f"{operator.name}{operator.signature.replace(parameters=shown, return_annotation=inspect.Signature.empty)}"


class _Bare(str):
    """A text that shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def parse_value(text: str, kind: str) -> Any:
    """Read one value; without a known annotation, anything that Python would read, or else the text itself.

    >>> parse_value("8", "int"), parse_value("1e-3", "float"), parse_value("no", "bool"), parse_value("8", "str")
    (8, 0.001, False, '8')
    >>> parse_value("(3, 3)", ""), parse_value("relu", "")
    ((3, 3), 'relu')
    """
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "str":
        return text
    if kind == "bool":
        if text.lower() not in _TRUE | _FALSE:
            raise ValueError(text)
        return text.lower() in _TRUE
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _annotation(parameter: inspect.Parameter) -> str:
    """The annotation's name, whether it is a type or, with postponed annotations, a text."""
    found = parameter.annotation
    if found is parameter.empty and type(parameter.default) in (int, float, bool, str):
        found = type(parameter.default)
    name = found if isinstance(found, str) else getattr(found, "__name__", "")
    return name if name in (*_KINDS, "str") else ""

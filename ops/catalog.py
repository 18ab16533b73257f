"""The operators as a reader finds them: by family, each with its call, its formula and the rest of its docstring.

The command line (``loopwright ops``) and the page docs/operators.md both show what is gathered here.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from loopwright.sched.language.operator import Operator


@dataclass(frozen=True)
class Entry:
    """One operator of the library.

    Attributes:
        operator: the operator.
        call: how it is called: its name, its arguments and their defaults.
        formula: what it computes, in one line.
        text: its whole docstring; references to other operators are their names.
    """

    operator: Operator
    call: str
    formula: str
    text: str

    @property
    def name(self) -> str:
        """The operator's name in :mod:`loopwright.ops`."""
        return self.operator.name


@dataclass(frozen=True)
class Family:
    """The operators of one file.

    Attributes:
        title: what they have in common: the first line of the file.
        entries: the operators, in the order of the file.
    """

    title: str
    entries: tuple[Entry, ...]


def families() -> tuple[Family, ...]:
    """All operators of the library, by family; families stand in the order of their files' names.

    >>> [entry.name for family in families() if "Matrix products" in family.title for entry in family.entries]
    ['matmul', 'matvec', 'batch_matmul', 'dense']
    """
    from loopwright import ops

    by_file: dict[str, list[Operator]] = {}
    for name in ops.__all__:
        found = getattr(ops, name)
        if isinstance(found, Operator):
            by_file.setdefault(found.__module__, []).append(found)
    return tuple(
        Family(_title(module), tuple(map(entry, sorted(found, key=_line))))
        for module, found in sorted(by_file.items())
    )


def entry(operator: Operator) -> Entry:
    """What a reader is shown of an operator.

    >>> from loopwright import ops
    >>> print(entry(ops.matvec).call)
    matvec(M, K, dtype='float32', ta=False)
    >>> print(entry(ops.matvec).formula)
    C[i] = sum over k of A[i, k] * X[k]
    """
    text = re.sub(r":\w+:`~?([\w.]*\.)?(\w+)`", r"``\2``", inspect.getdoc(operator) or "")
    first = " ".join(text.partition("\n\n")[0].split())
    return Entry(
        operator,
        f"{operator.name}({arguments_text(operator.signature.parameters.values())})",
        first.replace("``", "").rstrip("."),
        text,
    )


def arguments_text(parameters: Iterable[inspect.Parameter]) -> str:
    """Parameters as a reader writes them: names and defaults, without types.

    >>> arguments_text(inspect.signature(lambda x, *, axis=1: x).parameters.values())
    'x, axis=1'
    """
    shown = []
    for parameter in parameters:
        star = ""
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            star = "**" if parameter.kind is parameter.VAR_KEYWORD else "*"
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        shown.append(f"{star}{parameter.name}{default}")
    return ", ".join(shown)


def _title(module: str) -> str:
    """The first line of a file's docstring without its full stop, up to a colon."""
    first = (sys.modules[module].__doc__ or module).strip().partition("\n")[0]
    return re.split(r"[:.](?:\s|$)", first)[0]


def _line(operator: Operator) -> int:
    return operator.fn.__code__.co_firstlineno

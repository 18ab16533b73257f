"""Which workloads a command is about: one operator with its arguments, or a named set."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from loopwright.cli.load import HOW, load_workload
from loopwright.sched.errors import DefinitionError

if TYPE_CHECKING:
    from loopwright.bench.compare import Item


def pick_items(
    operator: str | None, arguments: Sequence[str], workloads: str | None, only: Sequence[str]
) -> list[Item]:
    """The workloads that the arguments of a command name.

    Raises:
        click.UsageError: neither an operator nor a set is named, or both are.
        DefinitionError: there is no such operator or set, or nothing in the set matches.
    """
    from loopwright.bench.compare import Item

    if workloads is None:
        if operator is None:
            raise click.UsageError(f"name an OPERATOR, or a set with --workloads; {HOW}")
        if only:
            raise click.UsageError("--only chooses from a set: it goes with --workloads")
        return [Item(load_workload(operator, arguments), (operator, *arguments))]
    if operator is not None:
        raise click.UsageError(f"give an OPERATOR ({operator}) or --workloads {workloads}, not both")
    found = _set(workloads)
    chosen = [item for item in found if not only or any(_matches(item, pattern) for pattern in only)]
    if not chosen:
        names = ", ".join(item.name for item in found)
        raise DefinitionError(f"nothing in {workloads} matches --only {' '.join(only)}; it has: {names}")
    return chosen


def _set(name: str) -> list[Item]:
    """The workloads of a set, as items to measure."""
    from loopwright import ops
    from loopwright.bench.compare import Item

    return [
        Item(
            entry.workload,
            (f"ops.{entry.operator}", *_words(entry.args)),
            entry.name,
            entry.where,
            entry.count,
        )
        for entry in ops.workload_set(name)
    ]


def _words(args: dict[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in args.items()]


def _matches(item: Item, pattern: str) -> bool:
    """Whether a pattern matches the workload's name in the set or its text, as a whole or, without wildcards, in part."""
    if not any(sign in pattern for sign in "*?["):
        pattern = f"*{pattern}*"
    return any(fnmatch.fnmatchcase(text.lower(), pattern.lower()) for text in (str(item.work), item.name))

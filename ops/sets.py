"""Named sets of workloads: what a real network computes, as data beside the operators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from typing import Any

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.arguments import argument_from_json
from loopwright.sched.language.operator import Operator
from loopwright.sched.language.workload import Workload


@dataclass(frozen=True)
class Entry:
    """One workload of a set.

    Attributes:
        name: its name in the set.
        operator: the name of an operator of :mod:`loopwright.ops`.
        args: what the operator is called with.
        count: how often the network computes it in one forward pass: its weight.
        where: where in the network it stands.
    """

    name: str
    operator: str
    args: dict[str, Any] = field(hash=False)
    count: int
    where: str

    @property
    def weight(self) -> int:
        """The weight of this workload's time in the whole: ``count``."""
        return self.count

    @cached_property
    def workload(self) -> Workload:
        """The operator, bound to its arguments."""
        from loopwright import ops

        operator = getattr(ops, self.operator)
        assert isinstance(operator, Operator)
        return operator(**self.args)


@dataclass(frozen=True)
class WorkloadSet:
    """The distinct workloads of a network, each with its weight.

    >>> for entry in workload_set("bert-base"):
    ...     if entry.name == "b1-ffn-up":
    ...         print(entry.count, entry.operator, entry.args)
    12 matmul {'M': 128, 'N': 3072, 'K': 768}

    Attributes:
        name: the set's name.
        title: what it holds, in one line.
        source: where its sizes come from.
        entries: the workloads.
    """

    name: str
    title: str
    source: str
    entries: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        names = ", ".join(entry.name for entry in self.entries)
        raise DefinitionError(f"workload set {self.name} has no {name!r}; it has {names}")


def workload_sets() -> tuple[str, ...]:
    """The names of the sets, sorted.

    >>> workload_sets()[:3]
    ('bert-base', 'bert-large', 'efficientnet-b0')
    """
    files = resources.files("loopwright.ops").joinpath("workloads").iterdir()
    return tuple(sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json")))


def workload_set(name: str) -> WorkloadSet:
    """The set of that name.

    Raises:
        DefinitionError: there is none; the message lists those there are.
    """
    if name not in workload_sets():
        raise DefinitionError(f"unknown workload set {name!r}; there are {', '.join(workload_sets())}")
    file = resources.files("loopwright.ops").joinpath("workloads").joinpath(f"{name}.json")
    data = json.loads(file.read_text(encoding="utf-8"))
    entries = (Entry(**entry) for entry in data["entries"])
    # A shape is a list in JSON.
    restored = tuple(
        replace(entry, args={n: argument_from_json(value) for n, value in entry.args.items()})
        for entry in entries
    )
    return WorkloadSet(name, data["title"], data["source"], restored)

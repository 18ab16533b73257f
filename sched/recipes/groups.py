"""Which stages are best computed together, row by row: a softmax, a normalisation, attention.

A stage of one element for a row (a sum, a maximum) keeps those that read it waiting until it is complete. Computed whole,
one stage after the other, they read everything from memory again; computed for one row, from the first cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Load, loads
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.affine import linear
from loopwright.sched.lowering.prepare import Definition, definitions
from loopwright.sched.recipes.lanes import along
from loopwright.sched.recipes.roles import Operand, Roles, roles_in
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.nest import Nests

# More stages than this are no longer one kernel that compiles quickly.
MOST_MEMBERS = 16
# What is stored of the rows must be so many times what is streamed past each few of them from the third cache.
MUCH_MORE = 8
# The axes of a stage that run over rows: which axis of the group's last stage each follows.
Rows = Mapping[Axis, Axis]


@dataclass(frozen=True)
class Group:
    """Stages that are computed together for a row.

    Attributes:
        host: the last of them, in whose loops the others are computed.
        members: the others, producers first.
        rows: the axes of the host over rows, outermost first.
        axes: for each stage, the names of its axes that follow these.
        roles: of the axes of each stage.
    """

    host: str
    members: tuple[str, ...]
    rows: tuple[str, ...]
    axes: Mapping[str, tuple[str, ...]]
    roles: Mapping[str, Roles]


def groups(nests: Nests, target: Target) -> list[Group]:
    """The groups of a workload, with as many stages as can be; no stage is in two."""
    facts = _Facts.of(nests, target)
    found: list[Group] = []
    taken: set[str] = set()
    for host in reversed(list(facts.found)):
        group = _Grown(facts, host, taken).group()
        if group is not None:
            found.append(group)
            taken |= {host, *group.members}
    return found


@dataclass(frozen=True)
class _Facts:
    """What is known of all stages that are not inlined: definitions, roles, and the loads of each, by reader."""

    nests: Nests
    target: Target
    found: Mapping[str, Definition]
    roles: Mapping[str, Roles]
    loads: Mapping[str, Mapping[str, list[Load]]]

    @staticmethod
    def of(nests: Nests, target: Target) -> _Facts:
        found = definitions(nests)
        read: dict[str, dict[str, list[Load]]] = {name: {} for name in found}
        for reader, definition in found.items():
            for expr in definition.exprs:
                for load in loads(expr):
                    if load.tensor.name in read:
                        read[load.tensor.name].setdefault(reader, []).append(load)
        return _Facts(nests, target, found, {name: roles_in(d) for name, d in found.items()}, read)


class _Grown:
    """A group around its host, to which producers are added one by one."""

    def __init__(self, facts: _Facts, host: str, taken: set[str]) -> None:
        self.facts, self.host, self.taken = facts, host, taken
        self.nests, self.found, self.roles = facts.nests, facts.found, facts.roles
        own = [axis for axis in self.found[host].axes if known(axis.extent) > 1]
        self.maps: dict[str, Rows] = {host: {axis: axis for axis in own}}
        self.rows = set(own)
        self.members: list[str] = []
        self.waits = False

    def group(self) -> Group | None:
        """The group, if there is a row in it that something waits for."""
        if self._refuses(self.host):
            return None
        names = list(self.found)
        for name in reversed(names[: names.index(self.host)]):
            if len(self.members) < MOST_MEMBERS:
                self._try(name)
        if not self.waits or sum(map(self._goes_along, (self.host, *self.members))) < 2:
            return None
        rows = tuple(axis for axis in self.found[self.host].axes if axis in self.rows)
        return Group(
            self.host,
            tuple(reversed(self.members)),
            tuple(axis.name for axis in rows),
            {name: self._names(name, rows) for name in (self.host, *self.members)},
            {name: self.roles[name] for name in (self.host, *self.members)},
        )

    def _goes_along(self, name: str) -> bool:
        """Whether a stage has more to do for a row than one element of one term."""
        axes = [axis for axis in self.found[name].stage.all_axes if known(axis.extent) > 1]
        return any(self.maps[name].get(axis) not in self.rows for axis in axes)

    def _names(self, name: str, rows: tuple[Axis, ...]) -> tuple[str, ...]:
        follows = {row: axis for axis, row in self.maps[name].items()}
        return tuple(follows[row].name for row in rows)

    def _refuses(self, name: str) -> bool:
        """Whether a stage is not one to be computed row by row."""
        nest = self.nests.stages[name]
        if name in self.taken or nest.stage.updating is not None or self.nests.updates(name):
            return True
        if nest.place.kind != "root" or self.found[name].handed_over:
            return True
        roles = self.roles[name]
        if roles.gemm_like:
            return _streams_too_much(roles, self.facts.target)
        return bool(roles.reduce) and along(roles) is None

    def _try(self, name: str) -> None:
        """Add a stage if nothing else reads it, and of each row only what is computed there."""
        if name in self.nests.outputs.values() or self._refuses(name):
            return
        readers = self.facts.loads[name]
        if not readers or not readers.keys() <= {self.host, *self.members}:
            return
        follows = self._followed(name)
        rows = self.rows & set(follows.values())
        if not rows or (self.waits and rows != self.rows) or self._are_columns(rows):
            return
        roles = self.roles[name]
        self.rows, self.maps[name] = rows, follows
        self.members.append(name)
        self.waits = self.waits or (bool(roles.reduce) and not roles.gemm_like)

    def _are_columns(self, rows: set[Axis]) -> bool:
        """Whether what lies along memory in the host are the rows, and each of them goes across."""
        axes = [axis for axis in self.found[self.host].axes if known(axis.extent) > 1]
        return axes[-1] in rows and not rows >= set(axes)

    def _followed(self, name: str) -> Rows:
        """The axes of a stage of which every reader reads, in a row, just the element of that row."""
        common: dict[Axis, Axis] | None = None
        for reader, read in self.facts.loads[name].items():
            for load in read:
                rows = _plain(load, self.found[name].axes, self.maps[reader])
                common = rows if common is None else {a: r for a, r in common.items() if rows.get(a) is r}
        return common or {}


def _plain(load: Load, axes: tuple[Axis, ...], rows: Rows) -> dict[Axis, Axis]:
    """The axes of what is loaded that are indexed by one of the reader's axes over rows and nothing else."""
    found = {}
    for axis, index in zip(axes, load.indices, strict=True):
        form = linear(index)
        terms = list(form.terms.values())
        if len(terms) == 1 and form.const == 0 and terms[0][1] == 1 and terms[0][0] in rows:
            found[axis] = rows[terms[0][0]]  # type: ignore[index]
    return found


def _streams_too_much(roles: Roles, target: Target) -> bool:
    """Whether the other operand of a matrix product would come through the cache anew for every few rows, and that for little.

    Where it does not stay in the second cache it may come from the third, if what would be stored and read again of the
    rows themselves is much more: scores of long sequences.
    """
    streamed = sum(_bytes_at_once(roles, operand) for operand in roles.streams)
    if streamed <= target.l2 // 2:
        return False
    moved = [_bytes_at_once(roles, operand) for operand in roles.operands if operand not in roles.streams]
    outer = set(roles.outer)
    rows = prod(known(axis.extent) for axis in roles.stage.axes if axis not in outer)
    most = max([*moved, rows * dtypes.itemsize(roles.stage.dtype)])
    return streamed > target.l3 // 2 or most < MUCH_MORE * streamed


def _bytes_at_once(roles: Roles, operand: Operand) -> int:
    """Bytes of an operand that one run over the stage's rows reads."""
    outer = set(roles.outer)
    sizes = zip(operand.dims, operand.shape, strict=True)
    elements = prod(1 if dim and set(dim) <= outer else size for dim, size in sizes)
    return elements * dtypes.itemsize(roles.stage.dtype)

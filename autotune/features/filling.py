"""Feature rows for fillings of one schedule with knobs, grouped by the structure that their values give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.autotune.features.nestshape import Size, least
from loopwright.autotune.features.program import GROWING, NAMES, Numbers, Structure, features
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Derived, Knob, knobs_in

if TYPE_CHECKING:
    from loopwright.autotune.space import Sketch
    from loopwright.sched.scheduling.directives import Directive
    from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "mod": np.mod,
}


class Filling:
    """Turns choices of knob values into features without filling the schedule for each.

    A knob that stands as the factor of a split changes only numbers; any other knob changes the structure of the nests,
    and each of its values is looked at apart.
    """

    def __init__(self, schedule: Schedule, target: Target) -> None:
        self.schedule = schedule
        self.target = target
        self.names = tuple(schedule.knobs)
        self._points = points(schedule.work)
        self.factors: list[tuple[str, str, Any]] = []  # stage, outer loop, factor
        structural: set[str] = set()
        for directive in schedule.directives:
            free = set()
            for stage, outer, factor in _factors(directive):
                self.factors.append((stage, outer, factor))
                free.add(id(factor))
            structural |= {k.name for k in _other_knobs(directive, free)}
            if directive.kind == "rfactor":  # the new stage has the loops of the old one
                old, new = _stage(directive.get("loop")), _partial(directive)
                self.factors += [
                    (new, outer, factor) for stage, outer, factor in self.factors if stage == old
                ]
        self.factored = any(directive.kind == "rfactor" for directive in schedule.directives)
        self.structural = [n for n, name in enumerate(self.names) if name in structural]
        # For each kind a structure, and the values of the candidate that it was taken from.
        self._structures: dict[tuple[int, ...], tuple[Structure, dict[str, Array]] | None] = {}

    def rows(self, sketch: Sketch, choices: Array) -> Array:
        """Features of each row of choices, those that grow with the workload per point of it; NaN where the directives refuse the
        values."""
        rows = np.full((len(choices), len(NAMES)), np.nan, np.float32)
        kinds, which = np.unique(choices[:, self.structural], axis=0, return_inverse=True)
        which = which.reshape(-1)
        for number, kind in enumerate(kinds):
            positions = np.flatnonzero(which == number)
            members = choices[positions]
            found = self._structure(sketch, tuple(int(x) for x in kind), members)
            if found is not None:
                structure, base = found
                values = sketch.values(members)
                extents, steps = self._axes(values, base) if self.factored else ({}, {})
                numbers = Numbers(self._arrays(values), extents, steps)
                rows[positions] = features(structure, numbers, self.target, len(positions))
        rows[:, GROWING] -= np.log2(self._points)
        return rows

    def _structure(
        self, sketch: Sketch, kind: tuple[int, ...], members: Array
    ) -> tuple[Structure, dict[str, Array]] | None:
        """One structure, from the first member that the directives accept."""
        if kind not in self._structures:
            self._structures[kind] = None
            for member in members[:8]:
                try:
                    filled = self.schedule.fill(sketch.chosen([int(x) for x in member]))
                    self._structures[kind] = Structure.of(filled.nests), sketch.values(member[None])
                    break
                except ScheduleError:
                    continue
        return self._structures[kind]

    def _arrays(self, values: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
        found: dict[str, dict[str, Array]] = {}
        for stage, outer, factor in self.factors:
            if isinstance(factor, (Knob, Derived)):
                found.setdefault(stage, {})[outer] = np.maximum(_evaluate(factor, values), 1)
        return found

    def _axes(
        self, values: Mapping[str, Array], base: Mapping[str, Array]
    ) -> tuple[dict[str, dict[str, Size]], dict[str, dict[str, Size]]]:
        """Of axes that were loops, before a reduction was taken apart along one of them: their extents; and how many times as
        far a step along them goes as in the structure, whose values are ``base``.
        """
        lengths: dict[str, dict[str, Size]] = {
            stage.name: {axis.name: known(axis.extent) for axis in stage.all_axes}
            for stage in self.schedule.work.stages
        }
        extents: dict[str, dict[str, Size]] = {name: {} for name in lengths}
        steps: dict[str, dict[str, Size]] = {name: {} for name in lengths}
        for directive in self.schedule.directives:
            if directive.kind == "fuse":
                stage, _, first = str(directive.get("outer")).rpartition(".")
                sizes, second = lengths.get(stage, {}), str(directive.get("inner")).rpartition(".")[2]
                if first in sizes and second in sizes:
                    sizes[directive.get("name")] = sizes[first] * sizes[second]
            elif directive.kind == "split":
                stage, _, loop = str(directive.get("loop")).rpartition(".")
                whole = lengths.get(stage, {}).get(loop)
                if whole is not None:
                    outer, inner = directive.get("names")
                    factor, old = (
                        np.maximum(_evaluate(directive.get("factor"), v), 1) for v in (values, base)
                    )
                    both = {outer: -(-whole // factor), inner: least(factor, whole)}
                    lengths[stage] |= both
                    extents[stage] |= both
                    steps[stage][outer] = factor / old
            elif directive.kind == "rfactor" and (stage := _stage(directive.get("loop"))) in lengths:
                for kept in (lengths, extents, steps):
                    kept[_partial(directive)] = dict(kept[stage])
        return extents, steps


def points(work: Workload) -> float:
    """How many times the bodies of a workload's stages are evaluated, over all of their axes.

    >>> from loopwright import ops
    >>> points(ops.matmul(M=2, N=3, K=5))
    30.0
    """
    return (
        float(sum(math.prod(known(axis.extent) for axis in stage.all_axes) for stage in work.stages)) or 1.0
    )


def _evaluate(value: Any, values: Mapping[str, Array]) -> Array:
    """A number, a knob, or arithmetic on knobs, for every candidate."""
    if isinstance(value, Knob):
        return values[value.name]
    if not isinstance(value, Derived):
        return np.asarray(value)
    a, b = _evaluate(value.a, values), _evaluate(value.b, values)
    if value.op in ("floordiv", "mod"):
        b = np.maximum(b, 1)  # a division by zero is refused when such a candidate is filled
    found: Array = ARITHMETIC[value.op](a, b)
    return found


def _factors(directive: Directive) -> Iterator[tuple[str, str, Any]]:
    """The splits a directive makes: stage, outer loop, factor."""
    if directive.kind == "split":
        yield _stage(directive.get("loop")), directive.get("names")[0], directive.get("factor")
    elif directive.kind == "tile":
        for _, outer, _, factor in directive.get("tiles"):
            yield directive.get("stage"), outer, factor
    elif directive.kind == "vectorize" and directive.get("width") is not None:
        stage, _, loop = str(directive.get("loop")).rpartition(".")
        yield stage, loop, directive.get("width")
        yield stage, f"{loop}.o", directive.get("width")  # its name where the plain one would be ambiguous


def _stage(loop: Any) -> str:
    return str(loop).rpartition(".")[0]


def _partial(directive: Directive) -> str:
    """The stage that an rfactor makes."""
    return directive.get("name") or f"{_stage(directive.get('loop'))}_rf"


def _other_knobs(directive: Directive, factors: set[int]) -> Iterator[Knob]:
    """Knobs that stand elsewhere than as a factor."""

    def visit(value: Any) -> Iterator[Knob]:
        if id(value) in factors:
            return
        if isinstance(value, tuple):
            for item in value:
                yield from visit(item)
        else:
            yield from knobs_in(value)

    for _, value in directive.args:
        yield from visit(value)

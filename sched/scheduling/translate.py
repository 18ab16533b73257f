"""Translating directives between two workloads that are equal but for their names.

A record in a tuning log speaks in the names of the workload it was made for. The same formula may come back with other
names, even the old ones swapped, so names are translated by what they stand for: the same directives are followed on
both sides, and every name is looked up where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language import canonical
from loopwright.sched.language.expr import Reducer, Size
from loopwright.sched.scheduling.address import COPIES, GRAIN, LANES, find_loop, shown
from loopwright.sched.scheduling.condition import renamed_in
from loopwright.sched.scheduling.directives import Directive
from loopwright.sched.scheduling.directives.caching import copied_axes
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.nest import Split

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload
    from loopwright.sched.scheduling.nest import Nests
    from loopwright.sched.scheduling.schedule import Schedule


def translate(directives: Sequence[Directive], theirs: Mapping[str, str], work: Workload) -> list[Directive]:
    """The directives, written in the names ``theirs``, in the names of ``work``.

    Args:
        theirs: canonical position -> name, as another workload's ``names`` gave it.

    Errors:
        ScheduleError: ``theirs`` does not fit the workload, or the directives are illegal there.
    """
    mine = work.names
    missing = [position for position in mine if not isinstance(theirs.get(position), str)]
    if missing:
        raise ScheduleError(f"schedule JSON: the names do not fit {work}: {', '.join(missing)} are missing")
    return _Translator(theirs, work, directives).translated()


def renamed(work: Workload, names: Mapping[str, str]) -> Workload:
    """The same workload in other names."""
    from loopwright.sched.language.workload import Workload

    place = {name: position for position, name in work.names.items() if "." not in position}
    where = {id(tensor): place[tensor.name] for tensor in (*work.inputs, *work.stages)}
    for n, stage in enumerate(work.stages):
        where |= {id(axis): f"s{n}.a{m}" for m, axis in enumerate(stage.axes)}
        where |= {id(axis): f"s{n}.r{m}" for m, axis in enumerate(stage.reduce_axes)}

    def name(thing: Any) -> str:
        return thing.name if isinstance(thing, (Reducer, Size)) else names[where[id(thing)]]

    data = {
        "name": work.name,
        "args": {},
        "inputs": [canonical.input_to_json(t, name) for t in work.inputs],
        "stages": [canonical.stage_to_json(stage, name) for stage in work.stages],
        "outputs": [canonical.output_to_json(output, name) for output in work.outputs],
    }
    return Workload.from_json(data)


class _Translator:
    """Follows the directives on both workloads. ``loops`` maps, for each of their stages, their loop names to ours."""

    def __init__(self, theirs: Mapping[str, str], work: Workload, directives: Sequence[Directive]) -> None:
        from loopwright.sched.scheduling.schedule import Schedule

        self.directives = directives
        self.their: Schedule = Schedule(renamed(work, theirs))
        self.mine: Schedule = Schedule(work)
        self.tensors: dict[str, str] = {}
        self.loops: dict[str, dict[str, str]] = {}
        self.knobs: dict[str, Knob] = {}
        for position, name in work.names.items():
            stage, _, axis = position.partition(".")
            if axis:
                self.loops[theirs[stage]][theirs[position]] = name
            else:
                self.tensors[theirs[position]] = name
                self.loops[theirs[position]] = {}

    def translated(self) -> list[Directive]:
        """All directives, one after the other."""
        for directive in self.directives:
            known = set(self.their.nests.stages)
            mine_known = set(self.mine.nests.stages)
            args = {name: self.argument(directive, name, value) for name, value in directive.args}
            if directive.kind == "specialize":
                args["then"] = self.inside(directive.get("then"))
            self.their = self.their.add(directive)
            made = [stage for stage in self.their.nests.stages if stage not in known]
            if made and not isinstance(directive.get("name"), Knob):
                args["name"] = self.new_name(made[0])
            self.mine = self.mine.add(Directive.of(directive.kind, args))
            ours = [stage for stage in self.mine.nests.stages if stage not in mine_known]
            for pair in zip(made, ours, strict=True):
                self.pair(*pair)
        return list(self.mine.directives)

    def inside(self, directives: Sequence[Directive]) -> tuple[Directive, ...]:
        """The directives of a special case, which follow those so far there only."""
        inner = copy(self)
        inner.directives, inner.tensors = directives, dict(self.tensors)
        inner.loops = {stage: dict(loops) for stage, loops in self.loops.items()}
        return tuple(inner.translated()[len(self.mine.directives) :])

    def pair(self, theirs: str, ours: str) -> None:
        """A new stage: its axes and loops correspond one by one."""
        self.tensors[theirs] = ours
        self.loops[theirs] = dict(
            zip(_loops(self.their.nests, theirs), _loops(self.mine.nests, ours), strict=True)
        )

    def argument(self, directive: Directive, name: str, value: Any) -> Any:
        """One argument, by what it stands for in its directive."""
        if value is None or (name == "name" and directive.kind != "fuse"):
            return value
        stage = self.known(directive)
        match name:
            case "loop" | "at" | "outer" | "inner":
                return self.each(value, self.address)
            case "stage" | "tensor":
                return self.each(value, self.tensor)
            case "consumers":
                return tuple(self.each(item, self.tensor) for item in value)
            case "order":
                return self.each(value, lambda text: " ".join(self.place(stage, x) for x in text.split()))
            case "condition":
                return self.each(value, lambda text: renamed_in(text, self.tensors))
            case "axis":
                return self.each(value, lambda text: self.loop(stage, text))
            case "names":
                return tuple(self.each(item, lambda text: self.loop(stage, text)) for item in value)
            case "name":
                return self.each(value, lambda text: self.loop(stage, text))
            case "tiles":
                return tuple(
                    (*(self.each(x, lambda text: self.loop(stage, text)) for x in t[:3]), *t[3:])
                    for t in value
                )
        return value

    def known(self, directive: Directive) -> str:
        """Their name of the stage whose loops a directive speaks of."""
        value = directive.get("loop") or directive.get("outer") or directive.get("stage")
        if isinstance(value, Knob):
            value = value.values[0]
        if not isinstance(value, str):
            return ""
        if value in self.their.nests.stages:
            return value
        return (
            find_loop(self.their.nests, value, f"{directive.kind} {value}")[0].name if "." in value else value
        )

    def each(self, value: Any, change: Any) -> Any:
        """Change a text, or every text a knob may choose."""
        if isinstance(value, tuple):
            return tuple(self.each(item, change) for item in value)
        if isinstance(value, str):
            return change(value)
        if not isinstance(value, Knob):
            return value
        changed = Knob(value.name, tuple(change(v) if isinstance(v, str) else v for v in value.values))
        if self.knobs.setdefault(value.name, changed) != changed:
            raise ScheduleError(
                f"knob {value.name}: it names different things in different directives, and cannot be translated to other names"
            )
        return changed

    def tensor(self, name: str) -> str:
        """Our name of a tensor; one we do not know is left for the checks to refuse."""
        return self.tensors.get(name, name)

    def address(self, address: str) -> str:
        """Our address of one of their loops."""
        nest, loop = find_loop(self.their.nests, address, f"loop {address}")
        return f"{self.tensor(nest.name)}.{self.loop(nest.name, shown(loop.name))}"

    def place(self, stage: str, word: str) -> str:
        """A word of an order: a loop, or of an input's layout an axis or half of one, which is called as where it is read."""
        if stage in self.their.nests.stages:
            return self.loop(stage, word)
        theirs = copied_axes(self.their.nests, stage)
        ours = copied_axes(self.mine.nests, self.tensor(stage))
        axis = re.split("//|%", word)[0]
        return ours[theirs.index(axis)] + word[len(axis) :] if axis in theirs else word

    def loop(self, stage: str, name: str) -> str:
        """Our name of one of their loops. One that the user made up is kept, unless it is an axis of ours."""
        known = self.loops.get(stage, {})
        if name in known:
            return known[name]
        for suffix in (LANES, COPIES, GRAIN):
            if name.endswith(suffix):
                return self.loop(stage, name.removesuffix(suffix)) + suffix
        ours = name
        while ours in known.values():
            ours += "_"
        known[name] = ours
        return ours

    def new_name(self, name: str) -> str:
        """A new stage's name, written out: the default is made of another's, which may be called otherwise here."""
        while self.mine.nests.tensor(name) is not None:
            name += "_"
        return name


def _loops(nests: Nests, stage: str) -> list[str]:
    """All axes and loops that a stage has or had, in an order that does not depend on their names."""
    nest = nests.stages[stage]
    names = [axis.name for axis in nest.stage.all_axes] + [loop.name for loop in nest.loops]
    for r in nest.relations:
        names += [r.outer, r.inner, r.parent if isinstance(r, Split) else r.fused]
    return names

"""Schedules: immutable values that say how a workload is computed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.directives import Directive
from loopwright.sched.scheduling.knobs import Choice, Knob
from loopwright.sched.scheduling.methods import DirectiveMethods
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.placement import vectors_innermost
from loopwright.sched.scheduling.space import EXACT, distinct, leaves, legal, witness
from loopwright.sched.scheduling.threads import is_bound

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload
    from loopwright.sched.views.drawing import Drawing
    from loopwright.sched.views.explain import Explanation


class Schedule(DirectiveMethods):
    """A workload and the directives that shape its loops, in the order written.

    Every method that adds a directive checks it at once and returns a new schedule. Loops are addressed as
    ``"stage.loop"``. Wherever a directive takes a value, a :func:`~loopwright.sched.scheduling.knobs.knob` may stand:
    the schedule is then a space of schedules, and :meth:`fill` chooses one.

    >>> from loopwright import ops
    >>> work = ops.matmul(M=500, N=300, K=200)
    >>> schedule = work.schedule().split("C.i", ("io", "ii"), 8).vectorize("C.j", 16).parallel("C.io")
    >>> len(schedule.directives)
    3

    Attributes:
        work: the workload.
        directives: what was asked for, in order.
        nests: what that comes to (with knobs: for one legal choice of them).
        chosen: for a filled schedule, knob name -> the value it was filled with.
        knobs: the knobs in it, by name, in order of first use; empty for a filled schedule.
    """

    __slots__ = ("_base", "_chosen", "_knobs", "_nests", "_witness", "directives", "work")

    work: Workload
    directives: tuple[Directive, ...]
    _nests: Nests
    _base: tuple[int, Nests]  # how many directives stand before the first with a knob, and the nests there
    _witness: dict[str, Choice]
    _knobs: dict[str, Knob]
    _chosen: dict[str, Choice]

    def __init__(
        self, work: Workload, directives: Sequence[Directive] = (), chosen: Mapping[str, Choice] | None = None
    ) -> None:
        nests = Nests.of(work)
        self._set(work, (), nests, (0, nests), {}, {}, dict(chosen or {}))
        for directive in directives:
            if not directive.off:
                self._set(*self._extended(directive))

    def _set(
        self,
        work: Workload,
        directives: tuple[Directive, ...],
        nests: Nests,
        base: tuple[int, Nests],
        witnessed: dict[str, Choice],
        knobs: dict[str, Knob],
        chosen: dict[str, Choice],
    ) -> None:
        put = object.__setattr__
        put(self, "work", work)
        put(self, "directives", directives)
        put(self, "_nests", nests)
        put(self, "_base", base)
        put(self, "_witness", witnessed)
        put(self, "_knobs", knobs)
        put(self, "_chosen", chosen)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a schedule does not change; its methods return new schedules ({name})")

    def __getattr__(self, name: str) -> Any:
        """Only asked for what there is not: a misspelt directive, most likely."""
        if name.startswith("_"):
            raise AttributeError(name)
        methods = [n for n in dir(Schedule) if not n.startswith("_") and callable(getattr(Schedule, n))]
        near = [n for n in methods if name in n] or difflib.get_close_matches(name, methods, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(methods))}"
        raise AttributeError(f"a schedule has no {name!r}{hint}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a schedule does not change; its methods return new schedules ({name})")

    def __copy__(self) -> Schedule:
        return self

    def __deepcopy__(self, memo: object) -> Schedule:
        return self

    # --- growing ---------------------------------------------------------------------------------------------------

    def _extended(self, directive: Directive) -> tuple[Any, ...]:
        """The parts of the schedule with one more directive, after checking it."""
        directives = (*self.directives, directive)
        mine = directive.knobs()
        if not mine and not self._knobs:
            nests = directive.applied(self._nests)
            return self.work, directives, nests, (len(directives), nests), {}, {}, self._chosen
        knobs = distinct(directives) if mine else self._knobs
        count, base = self._base
        try:
            choices, nests = witness(self._nests, (directive,), self._witness)
        except ScheduleError:
            choices, nests = witness(base, directives[count:], {})
        return self.work, directives, nests, self._base, choices, knobs, self._chosen

    def add(self, directive: Directive) -> Schedule:
        """The schedule with one more directive, given as data.

        Errors:
            ScheduleError: it is illegal there.
        """
        if not isinstance(directive, Directive):
            raise ScheduleError(f"add: {directive!r} is no directive; a schedule's .directives are such")
        if directive.off:
            return self
        new = object.__new__(Schedule)
        new._set(*self._extended(directive))
        return new

    # --- knobs -----------------------------------------------------------------------------------------------------

    @property
    def nests(self) -> Nests:
        """The loops, relations and places that the directives come to; with knobs, for one legal choice of them.

        Here vectorized loops are innermost, wherever the schedule has put them: that is how they run.
        """
        return vectors_innermost(self._nests)

    @property
    def knobs(self) -> dict[str, Knob]:
        """The knobs by name, in order of first use."""
        return dict(self._knobs)

    @property
    def chosen(self) -> dict[str, Choice]:
        """For a filled schedule: knob name -> value."""
        return dict(self._chosen)

    @property
    def witness(self) -> dict[str, Choice]:
        """One legal choice for every knob; ``nests`` is what it gives."""
        return dict(self._witness)

    @property
    def space_size(self) -> int:
        """The number of combinations of the knobs, legal or not; 1 without knobs."""
        return prod(len(knob.values) for knob in self._knobs.values())

    @property
    def valid_size(self) -> int:
        """The number of legal combinations; in a space beyond 20,000 an estimate from a fixed sample of 2,000."""
        count, base = self._base
        return legal(base, self.directives[count:], self._knobs, self.space_size)

    def check(self) -> list[tuple[dict[str, Choice], str]]:
        """The illegal combinations, each with the reason: ``[({"j_tile": 3}, "vectorize C.ji: ...")]``.

        A combination lists the knobs up to the directive that fails. At most 20,000 combinations are looked at.
        """
        count, base = self._base
        tried = islice(leaves(base, self.directives[count:], {}), EXACT)
        return [(choices, str(found)) for choices, found in tried if isinstance(found, ScheduleError)]

    def fill(self, choices: Mapping[str, Choice] | None = None, /, **named: Choice) -> Schedule:
        """The schedule with every knob replaced by its choice: ``fill({"i_tile": 8})`` or ``fill(i_tile=8)``.

        Errors:
            ScheduleError: a knob without a choice, a name that is no knob, a value that is not among the knob's, or
                a combination that is illegal.
        """
        if not isinstance(choices, (Mapping, type(None))):
            raise ScheduleError(
                f"fill: {choices!r} is no dict from a knob's name to a value; write fill(tile=8)"
            )
        values = {**(choices or {}), **named}
        for name, value in values.items():
            knob = self._knobs.get(name)
            if knob is None:
                known = ", ".join(self._knobs) or "none"
                raise ScheduleError(f"fill: there is no knob {name!r}; the knobs are {known}")
            if value not in knob.values:
                raise ScheduleError(
                    f"fill: {name}={value!r} is not among the knob's values {list(knob.values)}"
                )
        missing = [name for name in self._knobs if name not in values]
        if missing:
            raise ScheduleError(f"fill: no value is given for {', '.join(missing)}")
        count, nests = self._base
        directives = list(self.directives[:count])
        # The knob's own value, so that 1 does not stand for True.
        ordered = {name: knob.values[knob.values.index(values[name])] for name, knob in self._knobs.items()}
        for directive in self.directives[count:]:
            full = directive.fill(ordered)
            if not full.off:
                nests = full.applied(nests)
                directives.append(full)
        new = object.__new__(Schedule)
        new._set(
            self.work, tuple(directives), nests, (len(directives), nests), {}, {}, ordered or self._chosen
        )
        return new

    # --- forms -----------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The directives, knobs and choices as JSON text; :meth:`from_json` restores an equal schedule."""
        from loopwright.sched.scheduling.forms import to_json

        return to_json(self)

    @staticmethod
    def from_json(
        work: Workload, data: str | Mapping[str, Any], names: Mapping[str, str] | None = None
    ) -> Schedule:
        """Restore a schedule for ``work``.

        Args:
            data: what :meth:`to_json` gave, as text or already parsed.
            names: the names it speaks in, by canonical position (another workload's ``work.names``); they are
                translated to this workload's.

        Errors:
            ScheduleError: it is no such JSON, or a directive is illegal for this workload.
        """
        from loopwright.sched.scheduling.forms import from_json

        return from_json(work, data, names)

    def to_python(self) -> str:
        """The schedule as Python code to paste and edit; it speaks of ``work``, and of ``lw`` if there are knobs."""
        from loopwright.sched.scheduling.forms import to_python

        return to_python(self)

    # --- seeing ----------------------------------------------------------------------------------------------------

    def explain(self, target: object = None) -> Explanation:
        """What the schedule does on ``target``: bytes touched, loads, reuse and intensity per loop, buffers, registers.

        The target is this CPU if none is given, an OpenCL device where loops are bound.
        ``print(schedule.explain())`` shows tables; the numbers are attributes of what is returned.

        Errors:
            ScheduleError: the schedule still has knobs.
            TargetError: the target is unknown.
        """
        from loopwright.sched.runtime.target import Target
        from loopwright.sched.views.explain import explain

        usual = "opencl" if is_bound(self.nests) else "cpu"
        return explain(self, Target.parse(usual if target is None else target))

    def draw(self) -> Drawing:
        """The loop nest as a drawing: notebooks show it, ``.save("nest.svg")`` writes it."""
        from loopwright.sched.views.drawing import draw_nest

        return draw_nest(self)

    def diff(self, other: Schedule) -> str:
        """What ``other`` changes: a unified diff of the directives and of the loop nests; empty if nothing."""
        from loopwright.sched.views.difference import difference

        if not isinstance(other, Schedule):
            raise ScheduleError(f"diff: {other!r} is no schedule")

        return difference(self, other)

    def _repr_html_(self) -> str:
        from loopwright.sched.views.page import nest_html

        return nest_html(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        if self.directives != other.directives:
            return False
        return self.work is other.work or (
            self.work.key == other.work.key and self.work.names == other.work.names
        )

    def __hash__(self) -> int:
        return hash((self.work.key, self.directives))

    def __str__(self) -> str:
        from loopwright.sched.scheduling.printer import nest_text

        return nest_text(self)

    def __repr__(self) -> str:
        knobs = f", knobs {', '.join(self._knobs)}" if self._knobs else ""
        return f"<schedule of {self.work}: {len(self.directives)} directives{knobs}>"

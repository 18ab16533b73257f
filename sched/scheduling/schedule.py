"""Schedules: immutable values that say how a workload is computed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.directives import Directive
from loopwright.sched.scheduling.knobs import Choice, Derived, Knob
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.placement import vectors_innermost
from loopwright.sched.scheduling.space import EXACT, distinct, leaves, legal, witness

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload

Number = int | Knob | Derived
Text = str | Knob
Order = str | Knob | Sequence[Any]


class Schedule:
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
        methods = [n for n, value in vars(Schedule).items() if callable(value) and not n.startswith("_")]
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
        if directive.off:
            return self
        new = object.__new__(Schedule)
        new._set(*self._extended(directive))
        return new

    def _add(self, kind: str, **args: Any) -> Schedule:
        return self.add(Directive.of(kind, args))

    def split(self, loop: Text, names: Sequence[Text], factor: Number, tail: Text = "auto") -> Schedule:
        """Run ``loop`` as an outer loop over tiles and an inner loop over ``factor`` iterations.

        Args:
            loop: ``"C.i"``.
            names: of the outer and the inner loop: ``("io", "ii")``.
            factor: length of the inner loop, at least 1; larger than the loop means one tile.
            tail: what the last tile does where the factor does not divide. ``"guard"``: a condition in the loop;
                ``"peel"``: a loop of its own; ``"pad"``: the loop is rounded up and its data padded; ``"auto"``: no
                condition in the steady state.
        """
        return self._add("split", loop=loop, names=names, factor=factor, tail=tail)

    def tile(
        self,
        stage: Text,
        axes: Mapping[str, Sequence[Any]] | None = None,
        /,
        tail: Text = "auto",
        **tiles: Sequence[Any],
    ) -> Schedule:
        """Split several loops; the loops over tiles come outside, the loops in a tile inside.

        ``tile("by", y=("yo", "yi", 32), x=("xo", "xi", 64))``. For axes named like an option, a dict:
        ``tile("by", {"tail": ("to", "ti", 4)})``.
        """
        named = {**(axes or {}), **tiles}
        items = []
        for axis, parts in named.items():
            if not isinstance(parts, (tuple, list)):
                raise ScheduleError(
                    f"tile {stage}: {axis}= takes (outer, inner, factor), such as ('io', 'ii', 8), not {parts!r}"
                )
            items.append((axis, *parts))
        return self._add("tile", stage=stage, tiles=items, tail=tail)

    def fuse(self, outer: Text, inner: Text, name: Text) -> Schedule:
        """Run a loop and the loop right inside it as one loop ``name``."""
        return self._add("fuse", outer=outer, inner=inner, name=name)

    def reorder(self, stage: Text, order: Order) -> Schedule:
        """Put loops in another order, outermost first: ``reorder("C", "io jo k ii ji")``.

        A partial list changes places among the loops it names; the others stay where they are.
        """
        return self._add("reorder", stage=stage, order=order)

    def vectorize(self, loop: Text, width: Number | None = None, when: bool | Knob = True) -> Schedule:
        """Run ``loop`` in vector lanes; with ``width``, split it first, into ``C.j`` and ``C.j.v``."""
        return self._add("vectorize", loop=loop, width=width, when=when)

    def parallel(self, loop: Text, when: bool | Knob = True) -> Schedule:
        """Share ``loop`` out over the target's threads."""
        return self._add("parallel", loop=loop, when=when)

    def unroll(self, loop: Text, when: bool | Knob = True) -> Schedule:
        """Write the body of ``loop`` out for each iteration."""
        return self._add("unroll", loop=loop, when=when)

    def compute_at(self, stage: Text, at: Text) -> Schedule:
        """Compute ``stage`` inside loop ``at`` of a stage that reads it, over the region needed there."""
        return self._add("compute_at", stage=stage, at=at)

    def reverse_compute_at(self, stage: Text, at: Text) -> Schedule:
        """Compute the elementwise ``stage`` inside loop ``at`` of the stage it reads, as soon as elements are complete."""
        return self._add("reverse_compute_at", stage=stage, at=at)

    def compute_inline(self, stage: Text) -> Schedule:
        """Write the formula of ``stage`` where it is read; it is not stored."""
        return self._add("compute_inline", stage=stage)

    def compute_root(self, stage: Text) -> Schedule:
        """Compute ``stage`` whole, before what reads it (as without a directive)."""
        return self._add("compute_root", stage=stage)

    def cache_read(
        self,
        tensor: Text,
        scope: Text = "global",
        at: Text | None = None,
        name: Text | None = None,
        consumers: Sequence[str] | None = None,
    ) -> Schedule:
        """Copy an input or a stage into a buffer that its consumers read instead.

        Args:
            tensor: what to copy.
            scope: the buffer's memory: ``"global"``, ``"local"``, ``"shared"``.
            at: a loop at which the needed region is copied; without it, all of the tensor is copied first.
            name: the copy's name; ``A_shared`` by default.
            consumers: the stages that read the copy; all that read the tensor by default.
        """
        return self._add("cache_read", tensor=tensor, scope=scope, at=at, name=name, consumers=consumers)

    def cache_write(
        self, stage: Text, scope: Text = "local", at: Text | None = None, name: Text | None = None
    ) -> Schedule:
        """Compute ``stage`` into a buffer of its own; a copy stage ``name`` moves complete blocks to where they belong.

        Args:
            stage: keeps its name and loops.
            scope: the buffer's memory.
            at: the loop at whose end the copy stands; by default the innermost outside every reduction loop.
            name: the copy's name; ``C_local`` by default.
        """
        return self._add("cache_write", stage=stage, scope=scope, at=at, name=name)

    def transform_layout(self, stage: Text, order: Order) -> Schedule:
        """Store ``stage`` in the order of its loops: ``transform_layout("B_packed", "jo k ji")``."""
        return self._add("transform_layout", stage=stage, order=order)

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

"""Directives: what a schedule is made of. Each is one pure function from nests to nests, one family to a file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.checks_extern import check_read_whole, check_stays_whole
from loopwright.sched.scheduling.checks_prepacked import check_prepacked
from loopwright.sched.scheduling.checks_tails import check_shifts
from loopwright.sched.scheduling.directives.ahead import double_buffer, pipeline, prefetch
from loopwright.sched.scheduling.directives.binding import bind
from loopwright.sched.scheduling.directives.caching import cache_read, cache_write, clone
from loopwright.sched.scheduling.directives.kinds import parallel, unroll, vectorize
from loopwright.sched.scheduling.directives.layouts import transform_layout
from loopwright.sched.scheduling.directives.loops import fuse, reorder, split, tile
from loopwright.sched.scheduling.directives.offsetting import offset
from loopwright.sched.scheduling.directives.passes import two_pass
from loopwright.sched.scheduling.directives.place import (
    compute_at,
    compute_inline,
    compute_root,
    reverse_compute_at,
)
from loopwright.sched.scheduling.directives.prepacking import prepack
from loopwright.sched.scheduling.directives.reductions import decompose_reduction, rfactor
from loopwright.sched.scheduling.directives.specializing import specialize
from loopwright.sched.scheduling.directives.storage import pad, set_scope, storage_align
from loopwright.sched.scheduling.directives.storing import store_at, store_root
from loopwright.sched.scheduling.directives.streaming import stream
from loopwright.sched.scheduling.directives.tensor import check_intrinsics, tensorize
from loopwright.sched.scheduling.knobs import Choice, Derived, Holder, Knob, filled, knobs_in
from loopwright.sched.scheduling.nest import Nests

DIRECTIVES: dict[str, Callable[..., Nests]] = {
    function.__name__: function
    for function in (
        split, tile, fuse, reorder,
        vectorize, parallel, unroll, bind,
        compute_at, reverse_compute_at, compute_inline, compute_root,
        cache_read, cache_write, clone,
        transform_layout, prepack, set_scope, storage_align, pad, store_at, store_root,
        rfactor, decompose_reduction, two_pass, offset,
        double_buffer, pipeline, prefetch, stream,
        tensorize,
        specialize,
    )
}  # fmt: skip

# Directive -> its arguments in order, with their defaults.
ARGUMENTS: dict[str, dict[str, Any]] = {
    kind: {p.name: p.default for p in list(inspect.signature(function).parameters.values())[1:]}
    for kind, function in DIRECTIVES.items()
}
_SWITCHED = ("vectorize", "parallel", "unroll", "bind", "stream")


@dataclass(frozen=True)
class Directive(Holder):
    """One directive as data: its kind and its arguments in order, knobs included."""

    kind: str
    args: tuple[tuple[str, Any], ...]
    open: bool = field(default=False, compare=False, repr=False)  # whether it has knobs

    @staticmethod
    def of(kind: str, args: Mapping[str, Any]) -> Directive:
        """A directive in normal form: sequences are tuples, integers are plain, absent options are left out.

        Errors:
            ScheduleError: unknown directive, unknown or missing argument, a value that no argument can be.
        """
        known = ARGUMENTS.get(kind) if isinstance(kind, str) else None
        if known is None:
            raise ScheduleError(f"there is no directive {kind!r}; there are {', '.join(DIRECTIVES)}")
        where = f"{kind} {next(iter(args.values()), '')}"
        switch = ("when",) if kind in _SWITCHED else ()
        for name in args:
            if name not in known and name not in switch:
                raise ScheduleError(
                    f"{kind}: there is no argument {name!r}; it takes {', '.join((*known, *switch))}"
                )
        normal = []
        for name, default in known.items():
            given = args.get(name)
            value = _normal(
                where, name, default if given is None and default is not inspect.Parameter.empty else given
            )
            if value is not None:
                normal.append((name, value))
            elif default is inspect.Parameter.empty:
                raise ScheduleError(f"{where}: the argument {name!r} is missing")
        when = args.get("when", True)
        if when is not True:
            if not isinstance(when, (bool, Knob)):
                raise ScheduleError(f"{where}: when= is True, False or a knob, not {when!r}")
            normal.append(("when", when))
        whole = tuple(normal)
        return Directive(kind, whole, any(True for _ in knobs_in(whole)))

    def get(self, name: str) -> Any:
        """An argument, or None where it is absent."""
        return next((value for key, value in self.args if key == name), None)

    def knobs(self) -> list[Knob]:
        """The knobs in its arguments."""
        return list(knobs_in(self.args)) if self.open else []

    def fill(self, choices: Mapping[str, Choice]) -> Directive:
        """The directive with its knobs replaced by their choices."""
        if not self.open:
            return self
        values = ((name, _joined(name, filled(value, choices))) for name, value in self.args)
        return Directive(self.kind, tuple((n, v) for n, v in values if not (n == "when" and v is True)))

    def applied(self, nests: Nests) -> Nests:
        """What the nests become. The directive has no knobs.

        Errors:
            ScheduleError: it is illegal there.
        """
        args = dict(self.args)
        if not args.pop("when", True):
            return nests
        where = f"{self.kind} {next(iter(args.values()))}"
        check_stays_whole(where, nests, self.kind, args)
        made = DIRECTIVES[self.kind](nests, **args)
        check_read_whole(where, made)
        check_prepacked(where, made)
        check_intrinsics(where, made)
        check_shifts(where, made)
        return made

    @property
    def off(self) -> bool:
        """Whether it is switched off (``when=False``): it then does nothing."""
        return self.get("when") is False


def _normal(where: str, name: str, value: Any) -> Any:
    if isinstance(value, (Knob, Derived, Directive, str, bool)) or value is None:
        return _joined(name, value)
    if isinstance(value, (list, tuple)):
        return _joined(name, tuple(_normal(where, f"{name}[...]", item) for item in value))
    if hasattr(value, "__index__"):
        return int(value)
    raise ScheduleError(f"{where}: {name}={value!r} is no integer, text or knob")


def _joined(name: str, value: Any) -> Any:
    """An order has one form, ``"io jo k"``, however it was written."""
    if name != "order":
        return value
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    if not isinstance(value, str):
        return value
    return " ".join(re.sub(r"\s*(//|%)\s*", r"\1", value).replace(",", " ").split())

"""Schedules for symbolic sizes: those of typical numbers, which hold for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from loopwright.sched.errors import ArgumentError, ScheduleError
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.condition import with_sizes
from loopwright.sched.scheduling.directives import Directive
from loopwright.sched.scheduling.schedule import Schedule

# What a size is taken to be where nothing says more: large enough that tiles pay, and that arrays do not fit a cache.
TYPICAL = 1024


def typical(work: Workload) -> dict[str, int]:
    """A number for each size of a workload: 1024, or what is nearest to it of what is promised."""
    numbers = {}
    for size in work.sizes:
        number = min(max(TYPICAL, size.at_least), size.at_most)
        numbers[size.name] = number // size.multiple_of * size.multiple_of or size.at_least
    return numbers


def at_numbers(schedule: Schedule, sizes: Mapping[str, int]) -> Schedule:
    """A schedule of a workload with symbolic sizes for that workload with numbers: of special cases, the one they make."""
    directives = list(_decided(schedule.directives, sizes))
    return Schedule(schedule.work.at(sizes), directives, schedule.chosen)


def _decided(directives: Sequence[Directive], sizes: Mapping[str, int]) -> Iterator[Directive]:
    """Directives with numbers in the conditions of special cases; that of the first one that holds are the last."""
    for directive in directives:
        if directive.kind != "specialize":
            yield directive
            continue
        condition, then = with_sizes(directive.get("condition"), sizes), directive.get("then")
        if condition is True:
            yield from then
            return
        if condition is not False:
            yield Directive.of("specialize", {"condition": condition, "then": then})


def as_for(
    work: Workload,
    sizes: Mapping[str, int],
    make: Callable[[Workload], Schedule],
    otherwise: Callable[[Workload], Schedule] | None = None,
) -> Schedule:
    """The schedule that ``make`` writes for ``work`` at ``sizes``, for all sizes. What needs the numbers is left out.

    If that is an intrinsic, loops made for it are worth nothing: then the schedule is that of ``otherwise``.
    """
    try:
        known = work.at(sizes)
    except ArgumentError:  # these numbers do not go together; nothing is known that would be typical
        return work.schedule()
    schedule = work.schedule()
    for directive in make(known).directives:
        try:
            schedule = schedule.add(directive)
        except ScheduleError:
            if directive.kind == "tensorize" and otherwise is not None:
                return as_for(work, sizes, otherwise)
    return schedule

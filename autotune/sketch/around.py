"""From a schedule of the user's to sketches around it: its numbers become knobs whose values are near what was written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loopwright.autotune.space import Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.directives import Directive
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

# The arguments that are numbers of iterations, by directive.
NUMBERS = {"split": "factor", "vectorize": "width"}


def sketches_around(start: Schedule) -> tuple[Sketch, ...]:
    """The schedule as it is, and its directives with knobs for the factors of splits and the lengths of vectors.

    Equal factors of axes of one name are one knob: a packed copy goes on fitting the loops that read it. Where no other
    number than the one written is legal, that stays.

    Example:
        >>> from loopwright import ops
        >>> start = ops.matmul(M=64, N=64, K=64).schedule().split("C.i", ("io", "ii"), 8)
        >>> [(sketch.name, sketch.schedule.knobs) for sketch in sketches_around(start)]
        [('start', {}), ('around start', {'i.8': knob('i.8', [2, 4, 6, 8, 12, 16, 32])})]
    """
    written = Sketch("start", start, seeds=({},))
    schedule = start.work.schedule()
    for directive in start.directives:
        try:
            schedule = schedule.add(_opened(directive))
        except ScheduleError:
            schedule = schedule.add(directive)
    if not schedule.knobs:
        return (written,)
    seed = {name: int(name.rsplit(".", 1)[1]) for name in schedule.knobs}
    return written, Sketch("around start", schedule, seeds=(seed,))


def _opened(directive: Directive) -> Directive:
    """The directive with knobs for its numbers, if it has any."""
    number = NUMBERS.get(directive.kind)

    def opened(name: str, value: Any) -> Any:
        if name == "tiles":
            return tuple((axis, *names, _knob(axis, factor)) for axis, *names, factor in value)
        return _knob(str(directive.get("loop")), value) if name == number else value

    args = tuple((name, opened(name, value)) for name, value in directive.args)
    return replace(directive, args=args, open=args != directive.args)


def _knob(loop: str, value: int) -> Knob | int:
    """Numbers from a quarter of the one written to four times it; of 1 there is nothing to vary."""
    if value == 1:
        return value
    near = {value // 4, value // 2, 3 * value // 4, value, 3 * value // 2, 2 * value, 4 * value}
    return Knob(f"{loop.rsplit('.', 1)[-1]}.{value}", tuple(sorted(near - {0})))

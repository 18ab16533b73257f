"""Special cases and choices: versions of a kernel for calls in which a condition holds, and knobs in place of numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule
from tests.fuzz.moves import FACTORS, Call
from tests.fuzz.storage_moves import MOVES, Moves

MOST_CASES = 2
INSIDE = (
    "split",
    "tile",
    "reorder",
    "vectorize",
    "parallel",
    "unroll",
    "fuse",
    "compute_at",
    "cache_read",
    "cache_write",
)
ELEMENT = re.compile(r"(\w+)\[([\d, ]*)\]")
# Where a number of the call stands that a knob may take the place of, and other numbers for it.
NUMBERS = {
    "split": (2, FACTORS),
    "vectorize": (1, (2, 4, 8, 16)),
    "pad": (2, (2, 4, 8)),
    "storage_align": (2, (4, 8, 16)),
}
KNOB = 0.04  # the share of numbers that are knobs
MOST_KNOBS = 2


def specialize(schedule: Schedule, rng: Random, number: int) -> Call | None:
    """A special case with up to three directives of its own."""
    condition = _condition(schedule, rng)
    if condition is None or len(schedule.nests.cases) >= MOST_CASES or schedule.knobs:
        return None
    special = schedule
    for step in range(rng.randint(0, 3)):
        call = Moves(special, rng, 100 * (number + 1) + step).draw(rng.choice(INSIDE))
        try:
            special = special if call is None else call.on(special)
        except lw.ScheduleError:
            continue
    return Call("specialize", (condition, lambda _: special), {})


def _condition(schedule: Schedule, rng: Random) -> str | None:
    """True of all calls, of some, or of none."""
    parts = [
        f"{size.name} {rng.choice(('>= 8', '% 4 == 0', '== 1', '> 100'))}" for size in schedule.work.sizes
    ]
    for tensor in schedule.work.inputs:
        if all(isinstance(size, int) and size for size in tensor.shape):
            at = ", ".join(str(rng.randrange(size)) for size in tensor.shape)  # type: ignore[arg-type]
            parts.append(
                f"{tensor.name}[{at}] {rng.choice(('==', '!=', '<', '>=', '>'))} {rng.randint(0, 2)}"
            )
    if not parts:
        return None
    chosen = rng.sample(parts, rng.randint(1, min(2, len(parts))))
    return rng.choice((" & ", " | ")).join(f"({part})" for part in chosen)


def inputs_of_cases(work: Workload, schedule: Schedule, arrays: list[Any]) -> list[list[Any]]:
    """The arrays as they are, and for a schedule with special cases with other numbers in what the conditions ask for."""
    found = [arrays]
    for number in (0, 1, 2) if schedule.nests.cases else ():
        changed = [array.copy() for array in arrays]
        for case in schedule.nests.cases:
            for name, at in ELEMENT.findall(case.condition):
                place = next(n for n, tensor in enumerate(work.inputs) if tensor.name == name)
                index = tuple(int(text) for text in at.split(",") if text.strip())
                changed[place][index] = np.asarray(number, dtypes.numpy_dtype(work.inputs[place].dtype))
        found.append(changed)
    return found


def with_knob(schedule: Schedule, call: Call, rng: Random, number: int) -> Call:
    """The call as it is, or now and then with a knob in place of its number."""
    if call.kind not in NUMBERS or len(schedule.knobs) >= MOST_KNOBS or rng.random() >= KNOB:
        return call
    place, others = NUMBERS[call.kind]
    value = call.args[place]
    if value is None:  # all of a loop
        return call
    values = [value, *rng.sample([other for other in others if other != value], 2)]
    args = list(call.args)
    args[place] = lw.knob(f"n{number}", values)
    return replace(call, args=tuple(args))


def filled(schedule: Schedule, rng: Random) -> Schedule:
    """A schedule without knobs: filled at random, or with the choice that is sure to be legal."""
    if not schedule.knobs:
        return schedule
    if Schedule.from_json(schedule.work, schedule.to_json()) != schedule:
        raise AssertionError("its JSON form restores another space")
    try:
        return schedule.fill({name: rng.choice(knob.values) for name, knob in schedule.knobs.items()})
    except lw.ScheduleError:
        return schedule.fill(schedule.witness)


def draw(schedule: Schedule, rng: Random, number: int, kind: str) -> Call | None:
    """A call of any directive, drawn where it ought to be legal."""
    if kind == "specialize":
        return specialize(schedule, rng, number)
    call = Moves(schedule, rng, number).draw(kind)
    return None if call is None else with_knob(schedule, call, rng, number)


KINDS = (*MOVES, "specialize")

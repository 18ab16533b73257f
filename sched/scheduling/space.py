"""The combinations of a schedule's knobs: which are legal, how many there are, and one that is."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.directives import Directive
from loopwright.sched.scheduling.knobs import Choice, Knob
from loopwright.sched.scheduling.nest import Nests

Choices = dict[str, Choice]
# Up to so many combinations are all tried; of more, a sample is.
EXACT = 20_000
SAMPLES = 2_000
WITNESS_TRIES = 2_000


def distinct(directives: Sequence[Directive]) -> dict[str, Knob]:
    """The knobs of directives by name, in order of first use.

    Errors:
        ScheduleError: two knobs of one name have different values.
    """
    found: dict[str, Knob] = {}
    for directive in directives:
        for knob in directive.knobs():
            other = found.setdefault(knob.name, knob)
            if other.values != knob.values:
                raise ScheduleError(
                    f"{directive.kind} {directive.args[0][1]}: two knobs are named {knob.name!r}, with values "
                    f"{list(other.values)} and {list(knob.values)}; give each its own name"
                )
    return found


def leaves(
    nests: Nests, directives: Sequence[Directive], bound: Choices, index: int = 0
) -> Iterator[tuple[Choices, Nests | ScheduleError]]:
    """All combinations of the knobs that are not in ``bound``, each with the nests it gives or the first error.

    Combinations that fail before they differ come as one, with the knobs met by then.
    """
    while index < len(directives):
        directive = directives[index]
        unbound = next((k for k in directive.knobs() if k.name not in bound), None)
        if unbound is not None:
            for value in unbound.values:
                yield from leaves(nests, directives, {**bound, unbound.name: value}, index)
            return
        try:
            nests = directive.fill(bound).applied(nests)
        except ScheduleError as error:
            yield bound, error
            return
        index += 1
    yield bound, nests


def witness(nests: Nests, directives: Sequence[Directive], bound: Choices) -> tuple[Choices, Nests]:
    """The first legal combination of the knobs that are not in ``bound``.

    Errors:
        ScheduleError: of (at most 2,000) combinations none is legal; the last one's reason.
    """
    last: tuple[Choices, ScheduleError] | None = None
    for tries, (choices, found) in enumerate(leaves(nests, directives, bound)):
        if not isinstance(found, ScheduleError):
            return choices, found
        last = choices, found
        if tries == WITNESS_TRIES:
            break
    assert last is not None
    raise ScheduleError(str(last[1]) + said(last[0])) from None


def said(choices: Mapping[str, Choice]) -> str:
    """Which choices an error stands for."""
    if not choices:
        return ""
    return f"\n(with {', '.join(f'{name}={value!r}' for name, value in choices.items())}; no other choice is legal either)"


def legal(nests: Nests, directives: Sequence[Directive], knobs: Mapping[str, Knob], space: int) -> int:
    """How many combinations are legal; of a space beyond 20,000, an estimate from a fixed sample of 2,000."""
    if space <= EXACT:
        return sum(not isinstance(found, ScheduleError) for _, found in leaves(nests, directives, {}))
    chooser = random.Random(0)
    good = 0
    for _ in range(SAMPLES):
        choices = {name: chooser.choice(knob.values) for name, knob in knobs.items()}
        good += not isinstance(next(leaves(nests, directives, choices))[1], ScheduleError)
    return round(space * good / SAMPLES)

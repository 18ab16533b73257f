"""The directive that makes a version of a kernel for a special case: specialize."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.condition import parsed
from loopwright.sched.scheduling.nest import Case, Nests


def specialize(nests: Nests, condition: str, then: tuple[Any, ...]) -> Nests:
    """Make a version of the kernel for calls in which a condition on elements of inputs, or on sizes, holds.

    In it the directives ``then`` follow those written so far, and what the condition says is known: a ``select`` on it is
    decided, an integer element that it says is equal to a number is that number. Directives that are written after it
    are for the other calls only. Of several versions the first whose condition holds runs.

    Before::

        for i in n:
            C[i] = A[i] + B[i]

    After ``specialize("n >= 16", lambda s: s.vectorize("C.i", 16))``::

        if n >= 16:
            for i in n / 16:
                C[i*16 : i*16+16] = A[i*16 : i*16+16] + B[i*16 : i*16+16]
        else:
            for i in n:
                C[i] = A[i] + B[i]
    """
    where = f"specialize {condition!r}"
    parsed(condition, nests, where)
    special = replace(nests, cases=())
    try:
        for directive in then:
            special = directive.applied(special)
    except ScheduleError as error:
        raise ScheduleError(f"{where}: {error}") from None
    return replace(nests, cases=(*nests.cases, Case(condition, special)))

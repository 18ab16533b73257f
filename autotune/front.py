"""Time against memory: which of some records are worth having, and which of these to take. Standard library only."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias, TypeVar

from loopwright.autotune.record import Record
from loopwright.sched.errors import LogError, LoopwrightError

Named: TypeAlias = Literal["time", "memory", "both"]
OBJECTIVES: tuple[Named, ...] = ("time", "memory", "both")
"""The objectives that have a name."""
SLACK = 2.0
"""The least memory is looked for among what takes at most so many times as long as the fastest."""

Item = TypeVar("Item")
Cost: TypeAlias = tuple[float, float]
"""Seconds and bytes."""


def cost_of(record: Record) -> Cost:
    """The seconds and bytes of a timed record; of one that does not say its bytes, they are infinite."""
    assert record.seconds is not None
    return record.seconds, math.inf if record.peak_bytes is None else record.peak_bytes


def timed(records: Iterable[Record]) -> list[Record]:
    """The records that may be the best: verified, and timed on all cores."""
    return [record for record in records if record.verified and record.seconds is not None]


def front(items: Iterable[Item], cost: Callable[[Item], Cost]) -> list[Item]:
    """The items that no other one beats: none is as good in both costs and better in one. The fastest first; of equals the first.

    Example:
        >>> front([(2.0, 8.0), (1.0, 9.0), (3.0, 8.0), (4.0, 0.0)], lambda item: item)
        [(1.0, 9.0), (2.0, 8.0), (4.0, 0.0)]
    """
    found: list[Item] = []
    for item in sorted(items, key=cost):
        if not found or cost(item)[1] < cost(found[-1])[1]:
            found.append(item)
    return found


def smallest(items: Sequence[Item], cost: Callable[[Item], Cost]) -> Item:
    """The item with the least memory of those at most :data:`SLACK` times slower than the fastest; of equals the fastest.

    Example:
        >>> smallest([(1.0, 9.0), (2.0, 8.0), (4.0, 0.0)], lambda item: item)
        (2.0, 8.0)
    """
    bar = SLACK * min(cost(item)[0] for item in items)
    return min((item for item in items if cost(item)[0] <= bar), key=lambda item: cost(item)[::-1])


def layers(costs: Sequence[Cost]) -> list[int]:
    """For each cost the number of its layer: 1 on the front, 2 on the front of what is left without that, and so on.

    (Non-dominated sorting, by which NSGA-II ranks: Deb et al., IEEE Transactions on Evolutionary Computation 6(2), 2002. With
    two costs, sorted by the first, the last of each layer decides: the second costs of these increase with the layer.)

    Example:
        >>> layers([(1.0, 9.0), (2.0, 9.0), (2.0, 8.0), (3.0, 9.0)])
        [1, 2, 1, 3]
    """
    number: dict[Cost, int] = {}
    ends: list[float] = []
    for cost in sorted(set(costs)):
        layer = bisect_right(ends, cost[1])
        ends[layer : layer + 1] = [cost[1]]
        number[cost] = layer + 1
    return [number[cost] for cost in costs]


def chosen(records: Sequence[Record], objective: Named) -> list[Record]:
    """Of timed records those that an objective asks for: one, or for ``"both"`` the front. Of none, none.

    Records of older logs, which do not say their bytes, are left out where bytes matter, unless there are no others.
    """
    if not records or objective == "time":
        return [min(records, key=cost_of)] if records else []
    sized = [record for record in records if record.peak_bytes is not None] or records
    return front(sized, cost_of) if objective == "both" else [smallest(sized, cost_of)]


def named(objective: object, among: Sequence[Named], wrong: type[LoopwrightError] = LogError) -> Named:
    """The objective of this name, one of ``among``.

    Raises:
        wrong: it is none.
    """
    if isinstance(objective, str) and objective in among:
        return objective  # type: ignore[return-value]
    raise wrong(f"objective={objective!r}: one of {', '.join(map(repr, among))} is expected")

"""Which workloads of a log resemble one that it does not have: only for messages, never to pick a schedule."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.autotune.record import Record

_OTHER_VALUE, _OTHER_ARGUMENT = 4.0, 8.0


def nearest(name: str, args: Mapping[str, Any], records: Sequence[Record], count: int = 3) -> list[Record]:
    """Return up to ``count`` records, the most alike first: those of the same operator, or of one so named.

    A record of an operator whose name is quite different is not returned.
    """
    names = {record.name for record in records}
    like = [name] if name in names else difflib.get_close_matches(name, names, n=2, cutoff=0.6)
    alike = [record for record in records if record.name in like]
    return sorted(alike, key=lambda record: (like.index(record.name), distance(args, record.args)))[:count]


def distance(args: Mapping[str, Any], others: Mapping[str, Any]) -> float:
    """Return how far apart two sets of arguments are: for sizes, how often one must be doubled to get the other.

    Example:
        >>> distance({"M": 512, "N": 64}, {"M": 128, "N": 64})
        2.0
    """
    total = _OTHER_ARGUMENT * len(args.keys() ^ others.keys())
    return total + sum(_step(args[key], others[key]) for key in args.keys() & others.keys())


def _step(one: Any, other: Any) -> float:
    if one == other:
        return 0.0
    if _is_size(one) and _is_size(other):
        return abs(math.log2(one / other))
    return _OTHER_VALUE


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0

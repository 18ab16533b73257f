"""Arguments of operators as they stand in JSON. A log is read without any package, so this needs none either."""

from __future__ import annotations

from typing import Any


def argument_from_json(data: Any) -> Any:
    """An argument from JSON, which has lists for tuples.

    >>> argument_from_json([1, [2, 3]])
    (1, (2, 3))
    """
    return tuple(map(argument_from_json, data)) if isinstance(data, list) else data

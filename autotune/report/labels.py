"""Workloads in tables: what all of them share is said once, not in every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.autotune.record import workload_label


def short_labels(workloads: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[list[str], list[str]]:
    """Return a label for each workload, and what the labels leave out: arguments that all of an operator's share.

    Args:
        workloads: operator names with arguments.

    >>> short_labels([("matmul", {"M": 4, "ta": False}), ("matmul", {"M": 8, "ta": False}), ("add", {"N": 3})])
    (['matmul(M=4)', 'matmul(M=8)', 'add(N=3)'], ['matmul: ta=False'])
    """
    shared: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(name for name, _ in workloads):
        every = [args for other, args in workloads if other == name]
        distinct = [args for number, args in enumerate(every) if args not in every[:number]]
        if len(distinct) > 1:
            shared[name] = {
                key: value for key, value in every[0].items() if all(_has(args, key, value) for args in every)
            }
    labels = [
        workload_label(name, {k: v for k, v in args.items() if k not in shared.get(name, {})})
        for name, args in workloads
    ]
    left_out = [
        f"{name}: {', '.join(f'{key}={value!r}' for key, value in args.items())}"
        for name, args in shared.items()
        if args
    ]
    return labels, left_out


def _has(args: Mapping[str, Any], key: str, value: Any) -> bool:
    return key in args and type(args[key]) is type(value) and bool(args[key] == value)

"""May a record that was measured on one target be used on another, and what is to be said about it?

Targets are compared in their JSON form (``{"kind": "cpu", "mcpu": "znver3", "cores": 2, ...}``), so that a log can
be looked into without the machine, or the compiler, that it was written for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from loopwright.sched.errors import LogError


class HasTargetJson(Protocol):
    """Anything that can say its target in JSON form, like :class:`loopwright.sched.runtime.target.Target`."""

    def to_json(self) -> Any:
        """Return the JSON object of the target."""


TargetLike: TypeAlias = Mapping[str, Any] | HasTargetJson


@dataclass(frozen=True)
class TargetMatch:
    """How a record's target compares with the one asked for.

    ``obstacle`` says why the record cannot be used (None: it can), ``differences`` what else differs, ``rank`` how
    far off the target is: 0 the same, 1 the same processor, 2 another one that can run it.
    """

    obstacle: str | None
    differences: tuple[str, ...]
    rank: int

    @property
    def compatible(self) -> bool:
        """Whether the record can be used."""
        return self.obstacle is None

    @property
    def same(self) -> bool:
        """Whether the targets are equal in all that bears on speed."""
        return self.compatible and not self.differences


def target_json(target: TargetLike) -> dict[str, Any]:
    """Return the JSON object of a target given as an object, a mapping or JSON text.

    Errors:
        LogError: it has no "kind".
    """
    value: Any = target if isinstance(target, Mapping) else target.to_json()
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise LogError(
            f'{value!r} is no target: an object with a "kind" is expected, such as {{"kind": "cpu"}}'
        )
    return dict(value)


def target_text(target: Mapping[str, Any]) -> str:
    """Return a target in a few words.

    Example:
        >>> target_text({"kind": "cpu", "mcpu": "znver3", "cores": 2})
        'cpu znver3, 2 cores'
    """
    words = [str(target.get("kind")), *(str(target[key]) for key in ("mcpu", "arch") if target.get(key))]
    text = " ".join(words)
    return f"{text}, {_cores(target['cores'])}" if target.get("cores") else text


def compare_targets(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> TargetMatch:
    """Compare a record's target with the wanted one.

    The kind must be the same, and the wanted target must have every CPU feature that the record's lists. Where a
    list is missing, only the same processor name is known to be good enough.

    Example:
        >>> compare_targets({"kind": "cpu", "cores": 8}, {"kind": "cpu", "cores": 2}).differences
        ('8 cores (here 2)',)
    """
    if recorded.get("kind") != wanted.get("kind"):
        return TargetMatch(f"for {recorded.get('kind')}, not {wanted.get('kind')}", (), 3)
    processor, here = recorded.get("mcpu"), wanted.get("mcpu")
    obstacle = _missing_features(recorded, wanted) or _beyond_limits(recorded, wanted)
    if obstacle is not None:
        return TargetMatch(obstacle, (), 3)
    differences = []
    other = bool(processor and here and processor != here)  # a name that is not said may be any
    if other:
        differences.append(f"{processor} (here {here})")
    else:
        differences += _unused_features(recorded, wanted)
    if recorded.get("cores") != wanted.get("cores"):
        differences.append(f"{_cores(recorded.get('cores'))} (here {wanted.get('cores') or 'not said'})")
    for key in sorted(recorded.keys() & wanted.keys() - {"kind", "mcpu", "cores", "features"}):
        if recorded[key] != wanted[key]:
            differences.append(f"{key} {recorded[key]} (here {wanted[key]})")
    rank = 0 if not differences else 2 if other else 1
    return TargetMatch(None, tuple(differences), rank)


def _beyond_limits(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Say what a record's device may have been asked for that the wanted one has not, or None.

    What suits a CPU that runs kernels as a device does, blocks of one thread, is of no use to a GPU, nor the other way round.
    """
    if bool(recorded.get("cpu_vectors")) != bool(wanted.get("cpu_vectors")):
        return "for a CPU behind OpenCL, and not for a GPU" if recorded.get("cpu_vectors") else "for a GPU"
    for key, of in (("threads", "threads a block"), ("shared", "bytes of shared memory")):
        needed, have = recorded.get(key), wanted.get(key)
        if isinstance(needed, int) and isinstance(have, int) and needed > have:
            return f"for a device with {needed} {of}, and this has {have}"
    return None


def _missing_features(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Say which features of the record's target the wanted one lacks, or None."""
    needed, have = recorded.get("features"), wanted.get("features")
    if needed is None or have is None:
        processor, here = recorded.get("mcpu"), wanted.get("mcpu")
        if processor == here or (not needed and not processor):
            return None
        return f"for {processor}, and it is not known whether {here or 'this one'} has all its features"
    missing = sorted(set(needed) - set(have))
    if not missing:
        return None
    return f"needs {_list(missing)}, which this target lacks"


def _unused_features(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """The same processor may have been used with some of its features switched off."""
    needed, have = recorded.get("features"), wanted.get("features")
    if needed is None or have is None:
        return []
    unused = sorted(set(have) - set(needed))
    return [f"no {_list(unused)} (here used)"] if unused else []


def _list(features: list[str]) -> str:
    return ", ".join(features[:4]) + (" ..." if len(features) > 4 else "")


def _cores(count: Any) -> str:
    return "core count not said" if not count else "1 core" if count == 1 else f"{count} cores"

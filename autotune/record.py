"""A record: one line of a tuning log, saying what was tried, on what, and how it went.

The fields and their order are documented in ``docs/log.md``. A record stands for itself: it holds the whole
schedule, so a log outlives any change to the templates and sketches that its records came from.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from numbers import Integral, Real
from typing import Any

from loopwright.sched.errors import LogError
from loopwright.sched.language.arguments import argument_from_json

SCHEMA = 1
"""The schema version that this module writes, and the newest that it reads."""

CAUSES = (
    "compile-error",
    "compile-timeout",
    "run-crash",
    "run-timeout",
    "wrong-result",
    "out-of-memory",
    "worker-lost",
    "invalid",
    "rejected",
)
"""Why a trial failed, as :mod:`loopwright.autotune` writes it; a reader takes other words as well."""

_BOM = "\ufeff"  # some editors put it at the beginning of a file
_KEY = re.compile(r"[0-9a-f]{64}")
_CAUSE = re.compile(r"[a-z][a-z0-9-]*")
_REQUIRED = ("v", "workload", "target", "status")


class NewerSchema(LogError):
    """The line was written by a newer Loopwright: it is kept, but cannot be used here."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One measured candidate; ``to_line()`` and ``Record.parse`` are exact inverses, unknown fields included.

    ``schedule`` may be given as the JSON text that ``Schedule.to_json()`` returns. Values are checked when the
    record is made.

    Errors:
        LogError: a field has the wrong type or value, or two fields contradict each other.

    Example:
        >>> record = Record(workload="0" * 64, target={"kind": "cpu"}, status="error", cause="compile-timeout")
        >>> Record.parse(record.to_line()) == record
        True
    """

    v: int = SCHEMA
    workload: str
    target: dict[str, Any]
    status: str
    cause: str | None = None
    message: str | None = None
    seconds: float | None = None
    screen: float | None = None
    verified: bool = False
    space: str = "auto"
    chosen: dict[str, Any] = field(default_factory=dict)
    schedule: Any = None
    names: dict[str, str] = field(default_factory=dict)
    name: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    time: str = ""
    seed: int | None = None
    trial: int | None = None
    code: str | None = None
    batch: int | None = None
    predicted: float | None = None
    features: dict[str, Any] | None = None
    cold: bool = False
    spread: float | None = None
    peak_bytes: int | None = None
    objective: str = "time"
    extra: dict[str, Any] = field(default_factory=dict)
    """Fields that this version does not know; they are written back at the end of the line."""

    def __post_init__(self) -> None:
        for check in (_check_identity, _check_numbers, _check_texts, _check_objects, _check_outcome):
            check(self)

    @property
    def ok(self) -> bool:
        """Whether the candidate ran and was timed."""
        return self.status == "ok"

    @property
    def schedule_json(self) -> str:
        """The schedule as JSON text, for ``Schedule.from_json``."""
        return json.dumps(self.schedule, separators=(",", ":"), ensure_ascii=False)

    @property
    def label(self) -> str:
        """The workload as a reader would write it: ``matmul(M=512, N=512, K=512)``."""
        return workload_label(self.name, self.args)

    def to_line(self) -> bytes:
        """Return the record as one line of UTF-8 JSON, newline included, its fields in the documented order.

        Errors:
            LogError: a value has no JSON form (NaN, infinity, an object).
        """
        values = {name: getattr(self, name) for name in _FIELDS}
        values.update(self.extra)
        try:
            text = json.dumps(
                values, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain_scalar
            )
        except (TypeError, ValueError, RecursionError) as error:
            raise LogError(f"a record of {self.label} cannot be written as JSON: {error}") from None
        # A lone surrogate (from undecodable bytes in a compiler's message) becomes its JSON escape, \udc80.
        return text.encode("utf-8", "backslashreplace") + b"\n"

    @classmethod
    def parse(cls, line: bytes | str, path: object = None, number: int | None = None) -> Record:
        """Read one line of a log; ``path`` and ``number`` say in errors where it stands.

        Errors:
            LogError: the line is not JSON, not a record, or a field is wrong.
            NewerSchema: the line was written by a newer Loopwright.
        """
        try:
            return cls(**_fields_of(line))
        except LogError as error:
            place = ":".join(str(part) for part in (path, number) if part is not None)
            raise type(error)(f"{place}: {error}" if place else str(error)) from None


_FIELDS = tuple(item.name for item in fields(Record) if item.name != "extra")


def timestamp() -> str:
    """Return the present moment as a record holds it: ISO 8601, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def workload_label(name: str, args: Mapping[str, Any]) -> str:
    """Return ``name(arg=value, ...)``.

    Example:
        >>> workload_label("matmul", {"M": 4, "dtype": "float16"})
        "matmul(M=4, dtype='float16')"
    """
    return f"{name or 'workload'}({', '.join(f'{key}={value!r}' for key, value in args.items())})"


def _fields_of(line: bytes | str) -> dict[str, Any]:
    """Split the JSON object of a line into the constructor's arguments."""
    try:
        value = _DECODER.decode(line.decode().lstrip(_BOM) if isinstance(line, bytes) else line)
    except UnicodeDecodeError:
        raise LogError("not UTF-8 text") from None
    except RecursionError:
        raise LogError("not a record: JSON nested too deep") from None
    except json.JSONDecodeError as error:
        raise LogError(f"not JSON ({error.msg}, at column {error.colno})") from None
    except ValueError as error:
        raise LogError(f"not JSON ({error})") from None
    if not isinstance(value, dict):
        raise LogError(f"not a record: a JSON {_json_type(value)}, where an object is expected")
    missing = [name for name in _REQUIRED if name not in value]
    if missing:
        raise LogError(f"not a record: no field {', '.join(repr(name) for name in missing)}")
    version = value["v"]
    if isinstance(version, int) and not isinstance(version, bool) and version > SCHEMA:
        raise NewerSchema(
            f"schema version {version} is newer than this Loopwright reads ({SCHEMA}); upgrade it"
        )
    known = {name: value.pop(name) for name in _FIELDS if name in value}
    return {**known, "extra": value}


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)  # made once: it costs as much as reading a line


def _json_type(value: object) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _plain_scalar(value: object) -> object:
    """Turn a NumPy scalar into Python's own, without importing NumPy."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _wrong(record: Record, name: str, expected: str) -> LogError:
    text = repr(getattr(record, name))
    return LogError(
        f"field {name!r} is {text if len(text) <= 60 else text[:57] + '...'}; expected {expected}"
    )


def _check_identity(record: Record) -> None:
    if isinstance(record.v, bool) or not isinstance(record.v, int) or not 1 <= record.v <= SCHEMA:
        raise _wrong(record, "v", f"schema version {SCHEMA}")
    if not isinstance(record.workload, str) or not _KEY.fullmatch(record.workload):
        raise _wrong(record, "workload", "a key of 64 lower-case hexadecimal digits")
    target = record.target
    if not isinstance(target, dict) or not isinstance(target.get("kind"), str) or not target["kind"]:
        raise _wrong(record, "target", 'an object with a "kind"')
    cores, features = target.get("cores"), target.get("features")
    if cores is not None and (isinstance(cores, bool) or not isinstance(cores, int) or cores < 1):
        raise _wrong(record, "target", 'a positive whole number in "cores"')
    if features is not None and not _is_texts(features):
        raise _wrong(record, "target", 'a list of names in "features"')


def _check_numbers(record: Record) -> None:
    for name in ("seconds", "screen"):
        value = getattr(record, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _wrong(record, name, "a number of seconds, or null")
        number = float(value)
        if not (math.isfinite(number) and number > 0):
            raise _wrong(record, name, "a positive, finite number of seconds, or null")
        object.__setattr__(record, name, number)
    for name in ("seed", "trial", "batch", "peak_bytes"):
        value = getattr(record, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise _wrong(record, name, "a whole number, or null")
        if name == "peak_bytes" and value < 0:
            raise _wrong(record, name, "a number of bytes, or null")
        object.__setattr__(record, name, int(value))
    for name in ("predicted", "spread"):
        value = getattr(record, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _wrong(record, name, "a number, or null")
        if not math.isfinite(float(value)):
            raise _wrong(record, name, "a finite number, or null")
        object.__setattr__(record, name, float(value))
    for name in ("verified", "cold"):
        if not isinstance(getattr(record, name), bool):
            raise _wrong(record, name, "true or false")


def _check_texts(record: Record) -> None:
    for name in ("space", "name", "device", "time", "objective"):
        if not isinstance(getattr(record, name), str):
            raise _wrong(record, name, "text")
    for name in ("message", "code"):
        if getattr(record, name) is not None and not isinstance(getattr(record, name), str):
            raise _wrong(record, name, "text, or null")


def _check_objects(record: Record) -> None:
    for name in ("chosen", "args", "names", "versions", "extra"):
        value = getattr(record, name)
        if not isinstance(value, dict) or not all(map(_is_text, value)):
            raise _wrong(record, name, "an object")
        if name in ("names", "versions") and not all(map(_is_text, value.values())):
            raise _wrong(record, name, "an object whose values are texts")
    object.__setattr__(record, "args", {n: argument_from_json(value) for n, value in record.args.items()})
    if isinstance(record.schedule, str):
        try:
            object.__setattr__(record, "schedule", json.loads(record.schedule))
        except ValueError:
            raise _wrong(record, "schedule", "the JSON of a schedule") from None
    if record.schedule is not None and not isinstance(record.schedule, (list, dict)):
        raise _wrong(record, "schedule", "the JSON of a schedule")
    if record.features is not None and not isinstance(record.features, dict):
        raise _wrong(record, "features", "an object, or null")
    clash = sorted(set(record.extra) & set(_FIELDS))
    if clash:
        raise _wrong(record, "extra", f"fields of other names than {', '.join(clash)}")


def _check_outcome(record: Record) -> None:
    if record.status == "ok":
        if record.cause is not None:
            raise _wrong(record, "cause", 'null, since "status" is "ok"')
        if record.seconds is None and record.screen is None:
            raise _wrong(record, "seconds", 'a time here or in "screen", since "status" is "ok"')
        if record.schedule is None:
            raise _wrong(record, "schedule", 'a schedule, since "status" is "ok"')
    elif record.status == "error":
        if not isinstance(record.cause, str) or not _CAUSE.fullmatch(record.cause):
            raise _wrong(record, "cause", f"one of {', '.join(CAUSES)}")
        if record.verified:
            raise _wrong(record, "verified", 'false, since "status" is "error"')
    else:
        raise _wrong(record, "status", '"ok" or "error"')


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))

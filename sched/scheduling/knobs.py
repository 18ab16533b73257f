"""Knobs: named choices that stand in a schedule where a number, a name, an order or an on/off choice would."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from loopwright.sched.errors import ScheduleError

Choice: TypeAlias = int | str | bool

_OPERATIONS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}


class Arithmetic:
    """What knobs and derived knobs share: ``2 * i_tile``, ``i_tile // 8`` give derived knobs."""

    __slots__ = ()

    def __add__(self, other: Any) -> Derived:
        return _derive("add", self, other)

    def __radd__(self, other: Any) -> Derived:
        return _derive("add", other, self)

    def __sub__(self, other: Any) -> Derived:
        return _derive("sub", self, other)

    def __rsub__(self, other: Any) -> Derived:
        return _derive("sub", other, self)

    def __mul__(self, other: Any) -> Derived:
        return _derive("mul", self, other)

    def __rmul__(self, other: Any) -> Derived:
        return _derive("mul", other, self)

    def __floordiv__(self, other: Any) -> Derived:
        return _derive("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Derived:
        return _derive("floordiv", other, self)

    def __mod__(self, other: Any) -> Derived:
        return _derive("mod", self, other)

    def __rmod__(self, other: Any) -> Derived:
        return _derive("mod", other, self)

    def __bool__(self) -> bool:
        raise ScheduleError(
            f"knob {self}: it has no value yet, so `if` cannot ask for it; fill the schedule first"
        )

    def __index__(self) -> int:
        raise ScheduleError(
            f"knob {self}: it has no value yet and is no plain integer; fill the schedule first"
        )


@dataclass(frozen=True)
class Knob(Arithmetic):
    """A choice that has a name; made by :func:`knob`."""

    name: str
    values: tuple[Choice, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or any(c.isspace() for c in self.name):
            raise ScheduleError(
                f"knob {self.name!r}: a knob's name is a text without spaces, such as 'i_tile'"
            )
        given: object = self.values
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ScheduleError(
                f"knob {self.name}: the values are a list, such as [4, 8, 16], not {self.values!r}"
            )
        values = tuple(_choice(self.name, value) for value in given)
        object.__setattr__(self, "values", values)
        if not values:
            raise ScheduleError(f"knob {self.name}: it needs at least one value")
        if len(set(values)) != len(values):
            raise ScheduleError(f"knob {self.name}: a value stands twice in {list(values)}")

    def __str__(self) -> str:
        return f"?{self.name}{{{','.join(map(str, self.values))}}}"

    def __repr__(self) -> str:
        return f"knob({self.name!r}, {list(self.values)!r})"


@dataclass(frozen=True)
class Derived(Arithmetic):
    """Arithmetic on a knob, evaluated when the schedule is filled."""

    op: str
    a: Knob | Derived | int
    b: Knob | Derived | int

    def __str__(self) -> str:
        a, b = (f"({x})" if isinstance(x, Derived) else str(x) for x in (self.a, self.b))
        return f"{a} {_OPERATIONS[self.op]} {b}"

    def __repr__(self) -> str:
        a, b = (f"({x!r})" if isinstance(x, Derived) else repr(x) for x in (self.a, self.b))
        return f"{a} {_OPERATIONS[self.op]} {b}"


def knob(name: str, values: Iterable[Choice]) -> Knob:
    """A named choice. It may stand wherever a directive takes a number, a name, an order or an on/off choice.

    >>> i_tile = knob("i_tile", [4, 8])
    >>> i_tile
    knob('i_tile', [4, 8])
    >>> 2 * i_tile
    2 * knob('i_tile', [4, 8])

    Errors:
        ScheduleError: no values, a value twice, or a value that is no integer, text or bool.
    """
    return Knob(name, values)  # type: ignore[arg-type]


def _choice(name: str, value: Any) -> Choice:
    if isinstance(value, (str, bool)):
        return value
    if hasattr(value, "__index__") and not isinstance(value, Arithmetic):
        return int(value)
    raise ScheduleError(f"knob {name}: the value {value!r} is no integer, text or bool")


def _derive(op: str, a: Any, b: Any) -> Derived:
    for side in (a, b):
        if isinstance(side, Derived) or (isinstance(side, int) and not isinstance(side, bool)):
            continue
        if not isinstance(side, Knob):
            raise ScheduleError(f"arithmetic on a knob takes integers and knobs, not {side!r}")
        wrong = [v for v in side.values if isinstance(v, (str, bool))]
        if wrong:
            raise ScheduleError(
                f"knob {side.name}: arithmetic needs integer values, and {wrong[0]!r} is none"
            )
    return Derived(op, a, b)


class Holder:
    """What has knobs inside, such as a directive that stands in another one."""

    __slots__ = ()

    def knobs(self) -> list[Knob]:
        """The knobs, in order, with repetitions."""
        raise NotImplementedError

    def fill(self, choices: Mapping[str, Choice]) -> Any:
        """The same with its knobs replaced by their choices."""
        raise NotImplementedError


def knobs_in(value: Any) -> Iterator[Knob]:
    """The knobs in an argument of a directive, in order, with repetitions."""
    if isinstance(value, Knob):
        yield value
    elif isinstance(value, Derived):
        yield from knobs_in(value.a)
        yield from knobs_in(value.b)
    elif isinstance(value, tuple):
        for item in value:
            yield from knobs_in(item)
    elif isinstance(value, Holder):
        yield from value.knobs()


def filled(value: Any, choices: Mapping[str, Choice]) -> Any:
    """An argument with every knob replaced by its choice and derived knobs evaluated."""
    if isinstance(value, Knob):
        return choices[value.name]
    if isinstance(value, Derived):
        a, b = filled(value.a, choices), filled(value.b, choices)
        if value.op in ("floordiv", "mod") and b == 0:
            raise ScheduleError(f"{value}: divides by zero with {dict(choices)}")
        return _COMPUTE[value.op](a, b)
    if isinstance(value, tuple):
        return tuple(filled(item, choices) for item in value)
    if isinstance(value, Holder):
        return value.fill(choices)
    return value


_COMPUTE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


def value_to_json(value: Any) -> Any:
    """An argument as JSON-able data: ``{"knob": name}`` for a knob, ``{"op": ..., "of": [a, b]}`` for a derived one."""
    if isinstance(value, Knob):
        return {"knob": value.name}
    if isinstance(value, Derived):
        return {"op": value.op, "of": [value_to_json(value.a), value_to_json(value.b)]}
    if isinstance(value, tuple):
        return [value_to_json(item) for item in value]
    return value


def value_from_json(data: Any, knobs: Mapping[str, Knob]) -> Any:
    """Restore what :func:`value_to_json` gave.

    Errors:
        ScheduleError: a knob that is not declared, an unknown operation, or data of another form.
    """
    if isinstance(data, dict):
        if set(data) == {"knob"}:
            found = knobs.get(data["knob"]) if isinstance(data["knob"], str) else None
            if found is None:
                raise ScheduleError(
                    f"schedule JSON: the knob {data['knob']!r} is not among the declared ones"
                )
            return found
        of = data.get("of")
        if set(data) == {"op", "of"} and data["op"] in _OPERATIONS and isinstance(of, list) and len(of) == 2:
            return _derive(data["op"], value_from_json(of[0], knobs), value_from_json(of[1], knobs))
        raise ScheduleError(f"schedule JSON: {data!r} is no argument of a directive")
    if isinstance(data, list):
        return tuple(value_from_json(item, knobs) for item in data)
    if data is None or isinstance(data, (int, str, bool)):
        return data
    raise ScheduleError(f"schedule JSON: {data!r} is no argument of a directive")

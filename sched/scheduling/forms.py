"""The forms of a schedule: JSON for logs and other processes, Python for people."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.directives import ARGUMENTS, Directive
from loopwright.sched.scheduling.knobs import Derived, Knob, value_from_json, value_to_json

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload
    from loopwright.sched.scheduling.schedule import Schedule

VERSION = 1


def to_json(schedule: Schedule) -> str:
    """``{"v":1,"directives":[[kind,{argument:value}]...],"knobs":{name:values},"chosen":{name:value}}``."""
    data = {
        "v": VERSION,
        "directives": [_data(directive) for directive in schedule.directives],
        "knobs": {knob.name: list(knob.values) for knob in schedule.knobs.values()},
        "chosen": schedule.chosen,
    }
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _data(directive: Directive) -> list[Any]:
    """``[kind, {argument: value}]``; directives inside likewise."""
    args = {
        name: [_data(inner) for inner in value] if name == "then" else value_to_json(value)
        for name, value in directive.args
    }
    return [directive.kind, args]


def from_json(
    work: Workload, data: str | Mapping[str, Any], names: Mapping[str, str] | None = None
) -> Schedule:
    """Restore what :func:`to_json` gave; with ``names``, translated from them to the names of ``work``."""
    from loopwright.sched.scheduling.schedule import Schedule
    from loopwright.sched.scheduling.translate import translate

    parsed = _parsed(data)
    knobs = {}
    for name, values in _part(parsed, "knobs", dict).items():
        if not isinstance(values, list):
            raise ScheduleError(f"schedule JSON: the values of knob {name!r} are {values!r}, not a list")
        knobs[name] = Knob(name, tuple(values))
    directives = [_directive(item, knobs) for item in _part(parsed, "directives", list)]
    chosen = _part(parsed, "chosen", dict)
    if names is not None and dict(names) != work.names:
        directives = translate(directives, names, work)
    return Schedule(work, directives, chosen)


def _parsed(data: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(data, (str, bytes)):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ScheduleError(f"schedule JSON: this is no JSON ({error})") from None
    if not isinstance(data, Mapping):
        raise ScheduleError(
            f'schedule JSON: an object with "directives" is expected, not {type(data).__name__}'
        )
    if data.get("v") != VERSION:
        raise ScheduleError(
            f"schedule JSON: version {data.get('v')!r} is unknown; this Loopwright reads version {VERSION}"
        )
    return data


def _part(data: Mapping[str, Any], name: str, kind: type) -> Any:
    value = data.get(name, kind() if name != "directives" else None)
    if not isinstance(value, kind):
        raise ScheduleError(
            f"schedule JSON: {name!r} is {value!r}, not a {'list' if kind is list else 'object'}"
        )
    return value


def _directive(item: Any, knobs: Mapping[str, Knob]) -> Directive:
    if not (isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[1], Mapping)):
        raise ScheduleError(f"schedule JSON: {item!r} is no directive; one is [kind, {{argument: value}}]")
    args = {}
    for name, value in item[1].items():
        if name == "then" and isinstance(value, list):
            args[name] = tuple(_directive(inner, knobs) for inner in value)
        else:
            args[str(name)] = value_from_json(value, knobs)
    return Directive.of(item[0], args)


# --- Python --------------------------------------------------------------------------------------------------------

# How many arguments of a directive are written without their names.
_POSITIONAL = {"cache_read": 2, "cache_write": 2, "split": 3}


def to_python(schedule: Schedule) -> str:
    """Code that makes an equal schedule of ``work``."""
    variables = _variables(schedule)
    lines = [
        f"{variables[k.name]} = lw.knob({json.dumps(k.name)}, [{', '.join(_value(v, {}) for v in k.values)}])"
        for k in schedule.knobs.values()
    ]
    if schedule.chosen:
        lines.append("# chosen: " + ", ".join(f"{name}={value!r}" for name, value in schedule.chosen.items()))
    if not schedule.directives:
        return "\n".join([*lines, "schedule = work.schedule()", ""])
    lines += ["schedule = (", "    work.schedule()"]
    lines += [f"    .{d.kind}({_arguments(d, variables)})" for d in schedule.directives]
    return "\n".join([*lines, ")", ""])


def _variables(schedule: Schedule) -> dict[str, str]:
    """A Python variable for each knob."""
    taken = {"work", "schedule", "lw"}
    found: dict[str, str] = {}
    for name in schedule.knobs:
        variable = re.sub(r"\W", "_", name)
        if not variable.isidentifier() or keyword.iskeyword(variable):
            variable = f"knob_{variable}"
        while variable in taken:
            variable += "_"
        taken.add(variable)
        found[name] = variable
    return found


def _arguments(directive: Directive, variables: Mapping[str, str]) -> str:
    if directive.kind == "tile":
        return _tile_arguments(directive, variables)
    if directive.kind == "specialize":
        calls = (f".{inner.kind}({_arguments(inner, variables)})" for inner in directive.get("then"))
        return f"{_value(directive.get('condition'), variables)}, lambda s: s{''.join(calls)}"
    count = _POSITIONAL.get(directive.kind, 2)
    parts = []
    for position, (name, default) in enumerate(ARGUMENTS[directive.kind].items()):
        value = directive.get(name)
        if value is None or (position >= count and type(value) is type(default) and value == default):
            continue
        text = _value(value, variables)
        parts.append(text if position < count else f"{name}={text}")
    when = directive.get("when")
    return ", ".join([*parts, f"when={_value(when, variables)}"] if when is not None else parts)


def _tile_arguments(directive: Directive, variables: Mapping[str, str]) -> str:
    tiles = {
        _value(axis, variables): _value(tuple(rest), variables) for axis, *rest in directive.get("tiles")
    }
    parts = [_value(directive.get("stage"), variables)]
    plain = all(re.fullmatch(r'"[A-Za-z_]\w*"', axis) for axis in tiles)
    if plain and not any(keyword.iskeyword(axis[1:-1]) or axis[1:-1] == "tail" for axis in tiles):
        parts += [f"{axis[1:-1]}={rest}" for axis, rest in tiles.items()]
    else:
        parts.append("{" + ", ".join(f"{axis}: {rest}" for axis, rest in tiles.items()) + "}")
    tail = directive.get("tail")
    return ", ".join(parts if tail in (None, "auto") else [*parts, f"tail={_value(tail, variables)}"])


def _value(value: Any, variables: Mapping[str, str]) -> str:
    if isinstance(value, Knob):
        return variables[value.name]
    if isinstance(value, Derived):
        a, b = (
            f"({_value(x, variables)})" if isinstance(x, Derived) else _value(x, variables)
            for x in (value.a, value.b)
        )
        sign = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}[value.op]
        return f"{a} {sign} {b}"
    if isinstance(value, tuple):
        return (
            "("
            + ", ".join(_value(item, variables) for item in value)
            + ("," if len(value) == 1 else "")
            + ")"
        )
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)

"""The JSON form of a workload, and the key under which tuning logs file it.

The key is the SHA-256 of the definition with names replaced by positions: inputs ``i0, i1 ...`` in the order the
formula first reads them, stages ``s0, s1 ...`` producers first, axes ``s0.a0, s0.r0 ...``. Renaming, or declaring the inputs
in another order, never changes it; changing the formula, a shape or a dtype always does.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.arguments import argument_from_json
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Extent,
    Joint,
    Load,
    Operand,
    Reduce,
    Reducer,
    Result,
    Select,
    Size,
    Unary,
)
from loopwright.sched.language.extern import Extern, Routine, libraries, remember
from loopwright.sched.language.externstage import whole
from loopwright.sched.language.stage import Input, Part, Stage, Tensor, origin

if TYPE_CHECKING:
    from loopwright.sched.language.updates import Update
    from loopwright.sched.language.workload import Workload

Namer = Callable[[Any], str]


def expr_to_json(expr: Expr, name: Namer) -> list[Any]:
    """An expression as nested lists, its axes and tensors named by ``name``."""
    match expr:
        case Const():
            return ["const", _number(expr), expr.dtype]
        case Axis():
            return ["axis", name(expr)]
        case Size():
            return ["size", name(expr), expr.at_least, expr.at_most, expr.multiple_of]
        case Load():
            indices = [expr_to_json(i, name) for i in expr.indices]
            # The part of a stage of tuples is said only where it is not the first: the keys of others stay as they are.
            return [*(("part", expr.part) if expr.part else ("load",)), name(expr.tensor), *indices]
        case Binary():
            return [expr.op, expr_to_json(expr.a, name), expr_to_json(expr.b, name)]
        case Unary():
            return [expr.op, expr_to_json(expr.a, name)]
        case Call(fn=Extern() as fn):
            args = (expr_to_json(a, name) for a in expr.args)
            return ["extern", fn.symbol, list(fn.takes), fn.returns, *args]
        case Call(fn=Routine() as routine):
            return ["routine", routine.symbol, expr.dtype, *(_array_to_json(a, name) for a in expr.args)]
        case Call():
            return ["call", expr.fn, *(expr_to_json(a, name) for a in expr.args)]
        case Cast():
            return ["cast", expr.dtype, expr_to_json(expr.value, name)]
        case Select():
            return ["select", *(expr_to_json(e, name) for e in (expr.cond, expr.a, expr.b))]
        case Result():
            return ["result", expr.dtype, *([expr.part] if expr.part else [])]
        case Operand():
            return ["operand", expr.side, expr.part, expr.dtype]
    raise AssertionError(f"{type(expr).__name__} has no JSON form")


def _array_to_json(load: Expr, name: Namer) -> list[Any]:
    """A tensor that a C function reads whole, and which part of it."""
    assert isinstance(load, Load)
    return [name(load.tensor), load.part]


def extent_to_json(extent: Extent, name: Namer) -> int | list[Any]:
    """A size of a dimension: a number, or an expression of sizes."""
    return expr_to_json(extent, name) if isinstance(extent, Expr) else extent


def extent_from_json(data: int | list[Any]) -> Extent:
    """Restore what :func:`extent_to_json` gave."""
    from loopwright.sched.language.extents import as_extent

    return as_extent(expr_from_json(data, {}, {}), "workload JSON") if isinstance(data, list) else data


def _number(const: Const) -> Any:
    """JSON has no infinities or NaN, and -0.0 must not become 0: such floats go by their bits."""
    if isinstance(const.value, float):
        text = repr(const.value)
        if text in ("inf", "-inf", "nan", "-0.0"):
            return {"bits": struct.pack(">d", const.value).hex()}
    return const.value


def expr_from_json(data: list[Any], axes: dict[str, Axis], tensors: dict[str, Tensor]) -> Expr:
    """Restore an expression; node by node as it was, without promotion or folding."""
    tag = data[0]

    def sub(item: list[Any]) -> Expr:
        return expr_from_json(item, axes, tensors)

    match tag:
        case "const":
            value = (
                struct.unpack(">d", bytes.fromhex(data[1]["bits"]))[0]
                if isinstance(data[1], dict)
                else data[1]
            )
            return Const(value, data[2])
        case "axis":
            return axes[data[1]]
        case "size":
            return Size(*data[1:])
        case "load":
            tensor = tensors[data[1]]
            return Load(tensor, tuple(sub(i) for i in data[2:]), tensor.dtype)
        case "part":
            stage: Any = tensors[data[2]]
            return Load(stage, tuple(sub(i) for i in data[3:]), stage.dtypes[data[1]], data[1])
        case "call":
            args = tuple(sub(a) for a in data[2:])
            return Call(data[1], args, args[0].dtype)
        case "extern":
            return Call(Extern(*data[1:4]), tuple(sub(a) for a in data[4:]), data[3])
        case "routine":
            arrays = tuple(whole(tensors[of], part) for of, part in data[3:])
            return Call(Routine(data[1]), arrays, data[2])
        case "cast":
            return Cast(sub(data[2]), data[1])
        case "select":
            cond, a, b = (sub(e) for e in data[1:])
            return Select(cond, a, b, a.dtype)
        case "result":
            return Result(*data[1:])
        case "operand":
            return Operand(*data[1:])
        case "neg" | "not" | "bitnot":
            a = sub(data[1])
            return Unary(tag, a, a.dtype)
    a, b = sub(data[1]), sub(data[2])
    logical = tag in ("eq", "ne", "lt", "le", "gt", "ge", "and", "or")
    return Binary(tag, a, b, "bool" if logical else a.dtype)


def stage_to_json(stage: Stage, name: Namer) -> dict[str, Any]:
    """A stage as JSON-able data."""
    reduce = stage.reduce
    return {
        "name": name(stage),
        "axes": [[name(axis), extent_to_json(axis.extent, name)] for axis in stage.axes],
        "reduce": None if reduce is None else _reduce_to_json(reduce, name),
        **_tuple_to_json("body", "bodies", stage.bodies, stage.dtypes, name),
        **({} if stage.updating is None else {"update": _update_to_json(stage.updating, name)}),
    }


def _update_to_json(update: Update, name: Namer) -> dict[str, Any]:
    return {
        "base": name(update.base),
        "at": [expr_to_json(index, name) for index in update.at],
        "where": None if update.where is None else expr_to_json(update.where, name),
        "domain": [[name(axis), extent_to_json(axis.extent, name)] for axis in update.domain],
    }


def _tuple_to_json(
    one: str, many: str, exprs: tuple[Expr, ...], dtypes: tuple[str, ...], name: Namer
) -> dict[str, Any]:
    """Expressions and their dtypes: as plain fields if there is one, else as lists in fields of another name."""
    if len(exprs) == 1:
        return {"dtype": dtypes[0], one: expr_to_json(exprs[0], name)}
    return {"dtypes": list(dtypes), many: [expr_to_json(expr, name) for expr in exprs]}


def _tuple_from_json(
    data: dict[str, Any], one: str, many: str, sub: Callable[[list[Any]], Expr]
) -> tuple[tuple[Expr, ...], tuple[str, ...]]:
    if one in data:
        return (sub(data[one]),), (data["dtype"],)
    return tuple(sub(item) for item in data[many]), tuple(data["dtypes"])


def _reduce_to_json(reduce: Reduce, name: Namer) -> dict[str, Any]:
    return {
        "op": reduce.op,
        "axes": [[name(axis), extent_to_json(axis.extent, name)] for axis in reduce.axes],
        **_tuple_to_json("value", "values", reduce.values, reduce.dtypes, name),
        **({} if reduce.reducer is None else {"reducer": _reducer_to_json(reduce.reducer, name)}),
    }


def _reducer_to_json(reducer: Reducer | Joint | None, name: Namer) -> Any:
    match reducer:
        case Joint():
            members = reducer.members
            return [[op, count, _reducer_to_json(own, name)] for op, count, own in members]
        case Reducer():
            return {
                "name": name(reducer),
                "results": [expr_to_json(result, name) for result in reducer.results],
                "identities": [expr_to_json(identity, name) for identity in reducer.identities],
                "commutative": reducer.commutative,
            }
    return None


def _reducer_from_json(data: Any) -> Any:
    if isinstance(data, list):
        return Joint(tuple((op, count, _reducer_from_json(own)) for op, count, own in data))
    if data is None:
        return None
    results, identities = (
        tuple(expr_from_json(e, {}, {}) for e in data[part]) for part in ("results", "identities")
    )
    return Reducer(data["name"], results, identities, data["commutative"])


def stage_from_json(data: dict[str, Any], tensors: dict[str, Tensor]) -> Stage:
    """Restore a stage whose producers are in ``tensors``."""
    axes = {n: Axis(n, extent_from_json(e)) for n, e in data["axes"]}
    spatial = tuple(axes.values())
    reduce = None

    def sub(item: list[Any]) -> Expr:
        return expr_from_json(item, axes, tensors)

    if data["reduce"]:
        r = data["reduce"]
        over = {n: Axis(n, extent_from_json(e), True) for n, e in r["axes"]}
        axes |= over
        values, kinds = _tuple_from_json(r, "value", "values", sub)
        reducer = _reducer_from_json(r.get("reducer"))
        reduce = Reduce(r["op"], values, tuple(over.values()), kinds, None, reducer)
    update = _update_from_json(data["update"], axes, tensors) if "update" in data else None
    bodies, dtypes = _tuple_from_json(data, "body", "bodies", sub)
    return Stage(data["name"], spatial, bodies, reduce, dtypes, update)


def _update_from_json(data: dict[str, Any], axes: dict[str, Axis], tensors: dict[str, Tensor]) -> Update:
    """Restore an update; its domain joins ``axes``."""
    from loopwright.sched.language.updates import Update

    domain = {n: Axis(n, extent_from_json(e), True) for n, e in data["domain"]}
    axes |= domain
    base: Any = tensors[data["base"]]
    at = tuple(expr_from_json(index, axes, tensors) for index in data["at"])
    where = None if data["where"] is None else expr_from_json(data["where"], axes, tensors)
    return Update(base, at, where, tuple(domain.values()))


def _own_name(thing: Any) -> str:
    return str(thing.name)


def output_to_json(output: Stage | Part, name: Namer) -> Any:
    """An output: the name of its stage; of a stage of tuples, with the number of the part."""
    stage, part = origin(output)
    return [name(stage), part] if len(stage.bodies) > 1 else name(stage)


def _output_from_json(data: Any, tensors: dict[str, Any]) -> Stage | Part:
    if isinstance(data, list):
        return Part(tensors[data[0]], data[1])
    stage: Stage = tensors[data]
    return stage


def workload_to_json(work: Workload) -> dict[str, Any]:
    """The whole definition, in the user's names."""
    linked = libraries(work)
    return {
        "name": work.name,
        "args": {name: _argument(value) for name, value in work.args.items()},
        "inputs": [input_to_json(t, _own_name) for t in work.inputs],
        "stages": [stage_to_json(stage, _own_name) for stage in work.stages],
        "outputs": [output_to_json(output, _own_name) for output in work.outputs],
        **({"libraries": linked} if linked else {}),
    }


def _argument(value: Any) -> Any:
    """An argument as JSON-able data: plain values and tuples of them as they are, anything else as text."""
    if isinstance(value, (tuple, list)):
        return [_argument(item) for item in value]
    if isinstance(value, (int, float, str, bool)) or value is None:
        return value
    return str(value) if isinstance(value, Expr) else repr(value)


def input_to_json(tensor: Input, name: Namer) -> list[Any]:
    """An input as JSON-able data. A weight says so: times of kernels that find it packed are of another workload."""
    weight = ["weight"] if tensor.weight else []
    return [name(tensor), [extent_to_json(size, name) for size in tensor.shape], tensor.dtype, *weight]


def _input_from_json(name: str, shape: list[Any], dtype: str, kind: str = "") -> Input:
    if kind not in ("", "weight"):
        raise ValueError(f"the input {name} is of an unknown kind {kind!r}")
    return Input(name, tuple(map(extent_from_json, shape)), dtype, kind == "weight")


def workload_from_json(data: dict[str, Any]) -> Workload:
    """Restore what :func:`workload_to_json` gave.

    Raises:
        DefinitionError: it is no such data.
    """
    try:
        return _workload(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        if isinstance(error, DefinitionError):
            raise
        raise DefinitionError(f"this is no workload in JSON: {type(error).__name__}: {error}") from None


def _workload(data: dict[str, Any]) -> Workload:
    from loopwright.sched.language.workload import Workload

    inputs = [_input_from_json(*row) for row in data["inputs"]]
    tensors: dict[str, Any] = {t.name: t for t in inputs}
    for stage in data["stages"]:
        tensors[stage["name"]] = stage_from_json(stage, tensors)
    outputs = [_output_from_json(output, tensors) for output in data["outputs"]]
    remember(data.get("libraries", {}))
    args = {name: argument_from_json(value) for name, value in data["args"].items()}
    return Workload(data["name"], args, inputs, outputs)


def _positions(work: Workload) -> tuple[dict[int, str], list[Input]]:
    """``id`` of every tensor and axis -> its canonical position; and the inputs in canonical order."""
    from loopwright.sched.language.workload import used_inputs

    used = used_inputs(work.stages)
    unused = [t for t in work.inputs if not any(t is u for u in used)]
    inputs = used + unused
    where = {id(t): f"i{n}" for n, t in enumerate(inputs)}
    for n, stage in enumerate(work.stages):
        where[id(stage)] = f"s{n}"
        where |= {id(reducer): "reducer" for reducer in stage.reducers}
        where |= {id(axis): f"s{n}.a{m}" for m, axis in enumerate(stage.axes)}
        where |= {id(axis): f"s{n}.r{m}" for m, axis in enumerate(stage.reduce_axes)}
    return where, inputs


def key(work: Workload) -> str:
    """The SHA-256, in hex, of the definition without names. A change of this form needs a new ``"form"`` number."""
    where, inputs = _positions(work)
    sizes: dict[str, str] = {}

    def name(thing: Any) -> str:
        if isinstance(thing, Size):  # by the order of their first use
            return sizes.setdefault(thing.name, f"z{len(sizes)}")
        return where[id(thing)]

    data = {
        "form": 1,
        "inputs": [input_to_json(t, name)[1:] for t in inputs],
        "stages": [stage_to_json(stage, name) for stage in work.stages],
        "outputs": [output_to_json(output, name) for output in work.outputs],
    }
    return hashlib.sha256(json.dumps(data, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def names(work: Workload) -> dict[str, str]:
    """Canonical position -> user's name: ``{"i0": "A", "s0": "C", "s0.a0": "i", "s0.r0": "k"}``.

    Two workloads of one key have the same positions; a schedule written in the names of the one is translated to the
    other through them.
    """
    where, inputs = _positions(work)
    things: list[Any] = list(inputs)
    for stage in work.stages:
        things += [stage, *stage.all_axes]
    return {where[id(thing)]: thing.name for thing in things}

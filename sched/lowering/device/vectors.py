"""Vector loops as the languages of GPUs have them: of 2, 4, 8 or 16 lanes, and for moving, adding and multiplying."""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Load, rewrite, substitute, walk
from loopwright.sched.lowering.affine import linear, plus, times
from loopwright.sched.lowering.places import flat
from loopwright.sched.lowering.stmt import Bind, Buffer, For, Stmt, Store, Variable, seq

LANES = (16, 8, 4, 2)
# What is computed with in vectors. Integers of 64 bits are computed in halves, with comparisons.
_COMPUTED = tuple(kind for kind in dtypes.ALL if kind not in (*dtypes.NARROW, "bool", "int64", "uint64"))
# Vectors that are written out one after the other, at most; more are a loop.
MOST_WRITTEN = 8


def in_vectors(s: For) -> Stmt:
    """A vector loop in vectors that there are, or lane by lane; itself, if it is such a vector already.

    A longer one becomes several. What all lanes read is loaded once before them: in the text of a kernel, a vector of sixteen
    equal elements names each of them.
    """
    lanes = next((n for n in LANES if isinstance(s.extent, int) and s.extent % n == 0), None)
    if lanes is None or not isinstance(s.body, Store) or not _has_vectors(s.body, s.var):
        return replace(s, kind="serial")
    if lanes == s.extent:
        return _loaded_before(s, s.body)
    assert isinstance(s.extent, int)
    lane, count = Axis(s.var.name, lanes), s.extent // lanes
    part = Axis(f"{s.var.name}_part", count)
    at = {s.var: plus(times(part, lanes), lane)}
    store = replace(
        s.body,
        indices=tuple(substitute(index, at) for index in s.body.indices),
        value=substitute(s.body.value, at),
    )
    vector = _loaded_before(replace(s, var=lane, extent=lanes), store)
    return For(part, count, "unroll" if count <= MOST_WRITTEN else "serial", vector, s.label)


def _loaded_before(s: For, store: Store) -> Stmt:
    """The loop with this body, and before it a variable for each element that all lanes read."""
    held: list[Bind] = []

    def common(e: Expr) -> Expr | None:
        if not isinstance(e, Load) or any(part is s.var for part in walk(e)):
            return None
        held.append(Bind(Variable(f"{e.tensor.name}_all", e.dtype), e))
        return held[-1].var

    value = rewrite(store.value, common)
    if not held and store is s.body:
        return s
    return seq(*held, replace(s, body=replace(store, value=value)))


def _has_vectors(store: Store, lane: Axis) -> bool:
    """Whether vectors of floats or whole numbers are moved, converted, added and multiplied, all at places an even step apart.

    Others are taken apart: in OpenCL a comparison of vectors gives -1 for true, of the width of what is compared. So are bytes
    that do not lie side by side: TVM's text for them packs four into an integer, and stores that in each lane.
    """
    kind = store.buffer.dtype
    if kind == "bool" or dtypes.stored(kind) != kind or not _plain(store.value):
        return False
    places = [(store.buffer, store.indices)]
    places += [(e.tensor, e.indices) for e in walk(store.value) if isinstance(e, Load)]  # type: ignore[misc]
    steps = [(buffer, step_of(buffer, indices, lane)) for buffer, indices in places]
    return all(
        step in (0, 1) or (step is not None and dtypes.itemsize(buffer.dtype) > 1) for buffer, step in steps
    )


def step_of(buffer: Buffer, indices: tuple[Expr, ...], lane: Axis) -> int | None:
    """How far apart the places of two lanes are; None if that changes."""
    found = 0
    for term, step in linear(flat(buffer, indices)).terms.values():
        if term is lane:
            found += step
        elif any(part is lane for part in walk(term)):
            return None
    return found


def _plain(e: Expr) -> bool:
    match e:
        case Const() | Load() | Variable():
            return e.dtype in dtypes.ALL and e.dtype not in dtypes.NARROW and e.dtype != "bool"
        case Binary(op="add" | "sub" | "mul") if e.dtype in _COMPUTED:
            return _plain(e.a) and _plain(e.b)
        case Binary(op="floordiv", b=Const() as by) if e.dtype in dtypes.UNSIGNED and e.dtype in _COMPUTED:
            return by.value > 0 and _plain(e.a)
        case Cast() if e.dtype in _COMPUTED and e.value.dtype in _COMPUTED:
            whole = dtypes.is_integer(e.dtype) == dtypes.is_integer(e.value.dtype)
            return (whole or dtypes.is_float(e.dtype)) and _plain(e.value)
    return False

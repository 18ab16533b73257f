"""The order in which an update's points run: what a nest has made of it, and what may be made of it.

The points of an update's own axes are independent of each other, by the rules of the language. Those of its domain run in
the order written, unless it can be proved that another order, or none, gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from loopwright.sched import dtypes
from loopwright.sched.language import extents
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Extent, Load, Size, loads, same
from loopwright.sched.language.interval import Range, index_range, most
from loopwright.sched.language.nodes import LARGEST_SIZE
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.language.stage import Stage, stage_exprs
from loopwright.sched.lowering.affine import Linear, linear, minus
from loopwright.sched.scheduling.nest import Split, StageNest

# A comparison of an axis with a number: what is added to the number for the last value that passes.
_LIMITS = {"gt": 1, "ge": 0, "lt": -1, "le": 0}
# Operations that combine an old element with values in any order. Of floats too: as in a reduction, digits may differ.
COMMUTING = ("add", "mul", "min", "max", "bitand", "bitor", "bitxor", "and", "or")


def leaves(nest: StageNest, name: str) -> list[str]:
    """The loops that an axis or a loop has been split or fused into, outermost first."""
    for relation in nest.relations:
        if isinstance(relation, Split):
            if relation.parent == name:
                return leaves(nest, relation.outer) + leaves(nest, relation.inner)
        elif name in (relation.outer, relation.inner):
            return leaves(nest, relation.fused)
    return [name]


def written_order(nest: StageNest) -> list[str]:
    """The loops of a domain in the order that runs its points as written."""
    found = [leaf for axis in nest.stage.reduce_axes for leaf in leaves(nest, axis.name)]
    return list(dict.fromkeys(found))


def settled(nest: StageNest, loops: Iterable[str]) -> frozenset[Axis]:
    """The axes of the domain that have one value each while the loops inside ``loops`` run."""
    outside = set(loops)
    return frozenset(axis for axis in nest.stage.reduce_axes if outside.issuperset(leaves(nest, axis.name)))


def commutes(stage: Stage) -> bool:
    """Whether an update only combines old elements with values, by an operation that any order suits."""
    return accumulates(stage) is not None


@lru_cache(maxsize=4096)
def accumulates(stage: Stage) -> tuple[str, Expr] | None:
    """The operation by which an update combines old elements with values, in any order, and the values; None if it does not."""
    update, body = stage.updating, stage.body
    assert update is not None
    if len(stage.bodies) > 1 or not isinstance(body, Binary) or body.op not in (*COMMUTING, "sub"):
        return None
    sides = [(body.a, body.b)] if body.op == "sub" else [(body.a, body.b), (body.b, body.a)]
    rest = [*update.at, *([] if update.where is None else [update.where])]
    for old, value in sides:
        mine = isinstance(old, Load) and _same_point(stage, old)
        if mine and not any(load.tensor is update.base for e in (*rest, value) for load in loads(e)):
            return body.op, value
    return None


@lru_cache(maxsize=4096)
def conflict(stage: Stage, fixed: frozenset[Axis]) -> str | None:
    """Why points of the domain that agree on the axes ``fixed`` depend on each other; None if they surely do not.

    They do not if no two of them write one element, and what one reads no other writes.
    """
    update = stage.updating
    assert update is not None
    moving = [axis for axis in update.domain if most(axis.extent) > 1 and axis not in fixed]
    known = fixed | set(stage.axes)
    written = [_line(index) for index in update.at]
    for axis in moving:
        if not any(line is not None and _alone(line, axis, known) for line in written):
            at = ", ".join(map(str, update.at))
            return f"two iterations of {axis.name} may write the same element {stage.label}[{at}]"
    if not moving:
        return None
    for load in (load for expr in stage_exprs(stage) for load in loads(expr)):
        if load.tensor is not update.base or _same_point(stage, load):
            continue
        pairs = zip(load.indices, update.at, stage.shape, strict=True)
        # An index that leaves the stage is held at its edge, where it may meet what is written.
        if not any(_apart(read, index, known) and _stays(stage, read, size) for read, index, size in pairs):
            return f"one iteration may read with `{load}` what another one writes"
    return None


def _same_point(stage: Stage, load: Load) -> bool:
    assert stage.updating is not None
    if load.tensor is not stage.updating.base:
        return False
    return all(same(a, b) for a, b in zip(load.indices, stage.updating.at, strict=True))


def _line(index: Expr) -> Linear | None:
    """The linear form of an index that no arithmetic wraps around."""
    span, (low, high) = index_range(index), dtypes.limits("int32")
    if index.dtype != "int32" or span is None or span[0] < low or span[1] > high:
        return None
    return linear(index)


def _alone(line: Linear, axis: Axis, known: frozenset[Axis]) -> bool:
    """Whether an index differs wherever an axis does, all else in it being fixed."""
    terms = [term for term, _ in line.terms.values()]
    others = [term for term in terms if term is not axis]
    return len(others) < len(terms) and all(_is_fixed(term, known) for term in others)


def _is_fixed(term: Expr, known: frozenset[Axis]) -> bool:
    return isinstance(term, Size) or (isinstance(term, Axis) and term in known)


def _stays(stage: Stage, index: Expr, size: Extent) -> bool:
    """Whether an index is inside its dimension at every point that runs."""
    least = _bounds(stage)

    def run(axis: Axis) -> Range:
        low, high = least.get(axis, (0, most(axis.extent) - 1))
        return max(0, low), min(most(axis.extent) - 1, high)

    span = index_range(index, run)
    inside = span is not None and not isinstance(size, Expr) and span[1] < size
    low = (span is not None and span[0] >= 0) or at_most(0, index)
    return low and (inside or at_most(index, extents.minus(size, 1)))


def _bounds(stage: Stage) -> dict[Axis, Range]:
    """What ``where`` says of single axes: the least and greatest values at which points run."""
    assert stage.updating is not None
    found: dict[Axis, Range] = {}
    conditions = [] if stage.updating.where is None else [stage.updating.where]
    while conditions:
        condition = conditions.pop()
        if not isinstance(condition, Binary):
            continue
        if condition.op == "and":
            conditions += [condition.a, condition.b]
        elif isinstance(condition.a, Axis) and isinstance(condition.b, Const) and condition.op in _LIMITS:
            low, high = found.get(condition.a, (0, LARGEST_SIZE))
            limit, below = int(condition.b.value), condition.op in ("lt", "le")
            limit += _LIMITS[condition.op]
            found[condition.a] = (low, min(high, limit)) if below else (max(low, limit), high)
    return found


def _apart(read: Expr, written: Expr, known: frozenset[Axis]) -> bool:
    """Whether an index that is read and one that is written always differ, by a fixed distance."""
    line, other = _line(written), _line(read)
    if line is None or other is None:
        return False
    terms = [term for form in (line, other) for term, _ in form.terms.values()]
    if not all(_is_fixed(term, known) for term in terms):
        return False
    distance = linear(minus(read, written))
    return not distance.terms and distance.const != 0

"""What makes a stage well-formed: its size, its axes, its indices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import (
    Axis,
    Expr,
    Extent,
    Load,
    Select,
    Size,
    children,
    loads,
    walk,
)
from loopwright.sched.language.extents import minus, surely
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.measure import tree_depth, tree_size
from loopwright.sched.language.polynomial import Proof, at_most, floors
from loopwright.sched.language.stage import Stage, Tensor, stage_exprs

# Nodes of one formula. The lowering copies formulas; what is larger than this would be as slow to compile as to read.
LARGEST = 20_000
# Levels of nesting: formulas are walked by recursion, of which Python allows a thousand calls.
DEEPEST = 350


def check_size(name: str, values: Sequence[Expr]) -> None:
    """Refuse a formula that is too large, or nested too deep, to be worked with."""
    size, depth = sum(map(tree_size, values)), max(map(tree_depth, values))
    if size > LARGEST:
        raise DefinitionError(
            f"stage {name}: written out, its formula has {size} parts (at most {LARGEST} are allowed);\n"
            "give what is used again and again a stage of its own, with lw.compute"
        )
    if depth > DEEPEST:
        raise DefinitionError(
            f"stage {name}: its formula is nested {depth} deep (at most {DEEPEST} are allowed);\n"
            "write a long sum with lw.sum over a reduction axis, or give parts of it stages of their own, with lw.compute"
        )


def check_axes(stage: Stage) -> None:
    """Refuse axes of one name, and axes that no loop of the stage runs over."""
    names = [axis.name for axis in stage.all_axes]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"stage {stage.name}: two axes are named {name!r}; give each its own name")
    spatial = {id(axis) for axis in stage.axes}
    reducing = spatial | {id(axis) for axis in stage.reduce_axes}
    parts = [(body, spatial) for body in stage.bodies]
    if stage.reduce is not None:
        parts += [(value, reducing) for value in stage.reduce.values]
    if stage.updating is not None:
        parts = [(expr, reducing) for expr in stage_exprs(stage)]
    for expr, allowed in parts:
        for e in walk(expr):
            if isinstance(e, Axis) and id(e) not in allowed:
                around = f"write lw.sum(..., over={e.name}) or another reduction around it"
                if stage.updating is not None:
                    around = "put it in the update's over="
                hint = around if e.reduce else "use the axes the function is given"
                raise DefinitionError(
                    f"stage {stage.name}: the axis {e.name} stands outside every loop that runs over it; {hint}"
                )


def stays_inside(index: Expr, size: Extent, axes: Iterable[Axis]) -> bool:
    """Whether an index is surely one of ``0 .. size - 1`` wherever the loops over ``axes`` run at all."""
    span = index_range(index)
    if span is not None and span[0] >= 0 and not isinstance(size, Expr) and span[1] < size:
        return True
    symbolic = isinstance(size, Expr) or any(isinstance(axis.extent, Expr) for axis in axes)
    if not symbolic and not any(isinstance(e, Size) for e in walk(index)):
        return False
    proof = Proof(floors=floors([axis.extent for axis in axes]))
    return at_most(0, index, proof) and at_most(index, minus(size, 1), proof)


def check_indices(stage: Stage) -> None:
    """Refuse a load whose index is known to leave the tensor, unless a select decides whether it is read.

    An index that only the data knows is held inside; so there must be an element to hold it at.
    """

    def visit(expr: Expr, guarded: bool, axes: tuple[Axis, ...]) -> None:
        if isinstance(expr, Load) and not guarded:
            for dim, (index, size) in enumerate(zip(expr.indices, expr.tensor.shape, strict=True)):
                if index_range(index) is None:
                    if surely(size, 0) and expr.tensor is not base:
                        raise DefinitionError(
                            f"stage {stage.name}: `{expr}` reads {expr.tensor.label} at index {dim}, which has no elements"
                        )
                elif not stays_inside(index, size, axes):
                    raise DefinitionError(_leaves(stage, expr, dim, axes))
        if isinstance(expr, Select):
            visit(expr.cond, guarded, axes)
            visit(expr.a, True, axes)
            visit(expr.b, True, axes)
            return
        for child in children(expr):
            visit(child, guarded, axes)

    if any(surely(axis.extent, 0) for axis in stage.all_axes):
        return
    # An update reads what it changes only where that is inside.
    where, base = (None, None) if stage.updating is None else (stage.updating.where, stage.updating.base)
    after = stage.bodies if stage.updating is None else ()
    for expr in stage_exprs(stage):
        axes = stage.axes if any(expr is body for body in after) else stage.all_axes
        visit(expr, where is not None and expr is not where, axes)


def read_by_data(stage: Stage) -> Iterator[tuple[Tensor, int]]:
    """The dimensions that a stage reads at an index only the data knows: each needs an element to be held at."""
    base = None if stage.updating is None else stage.updating.base
    for expr in stage_exprs(stage):
        for load in loads(expr):
            for dim, index in enumerate(load.indices):
                if index_range(index) is None and load.tensor is not base:
                    yield load.tensor, dim


def _leaves(stage: Stage, load: Load, dim: int, axes: tuple[Axis, ...]) -> str:
    """What an index of a load does wrong, and what to do about it."""
    size, span = load.tensor.shape[dim], index_range(load.indices[dim])
    assert span is not None
    name = load.tensor.label
    if isinstance(size, Expr) or any(isinstance(axis.extent, Expr) for axis in axes):
        return (
            f"stage {stage.name}: `{load}` may read {name} at index {dim} outside 0..{size} - 1, for some sizes;\n"
            "guard it with lw.select(inside, ..., otherwise), clamp the index with lw.min and lw.max,\n"
            "or promise more of the sizes, such as at_least=1"
        )
    inside = f"outside 0..{size - 1}" if size else "which has no elements"
    return (
        f"stage {stage.name}: `{load}` reads {name} at index {dim} from {span[0]} to {span[1]}, {inside};\n"
        "guard it with lw.select(inside, ..., otherwise), or clamp the index with lw.min and lw.max"
    )

"""What makes a stage well-formed: its size, its axes, its indices."""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Axis, Expr, Load, Select, children, tree_depth, tree_size, walk
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.stage import Stage, stage_exprs

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


def check_indices(stage: Stage) -> None:
    """Refuse a load whose index is known to leave the tensor, unless a select decides whether it is read."""

    def visit(expr: Expr, guarded: bool) -> None:
        if isinstance(expr, Load) and not guarded:
            for dim, (index, size) in enumerate(zip(expr.indices, expr.tensor.shape, strict=True)):
                span = index_range(index)
                if span is None or (span[0] >= 0 and span[1] < size):
                    continue
                inside = f"outside 0..{size - 1}" if size else "which has no elements"
                raise DefinitionError(
                    f"stage {stage.name}: `{expr}` reads {expr.tensor.label} at index {dim} from {span[0]} to {span[1]}, "
                    f"{inside};\n"
                    "guard it with lw.select(inside, ..., otherwise), or clamp the index with lw.min and lw.max"
                )
        if isinstance(expr, Select):
            visit(expr.cond, guarded)
            visit(expr.a, True)
            visit(expr.b, True)
            return
        for child in children(expr):
            visit(child, guarded)

    if any(axis.extent == 0 for axis in stage.all_axes):
        return
    where = None if stage.updating is None else stage.updating.where
    for expr in stage_exprs(stage):
        visit(expr, where is not None and expr is not where)

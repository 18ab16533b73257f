"""Where a stage is tensorized: its inner loops as a microkernel, if they are what the intrinsic computes.

In the tail of a loop there are fewer iterations than the intrinsic has: that part is ordinary code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from loopwright.sched.errors import ScheduleError
from loopwright.sched.intrinsics.registry import Intrinsic, find
from loopwright.sched.language.expr import Axis, Expr, Load, loads
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.matching import Matcher, Mismatch
from loopwright.sched.lowering.stmt import Microkernel, Stmt, seq
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import Loop, Nests, StageNest

if TYPE_CHECKING:
    from loopwright.sched.lowering.loopnest import Builder


# What the threads of a warp do in place of an intrinsic's loops: by a frame, what is accumulated, where, and these loops.
ByWarp = Callable[[Frame, Expr, Callable[[Frame], tuple[Load, ...]], Callable[[], Stmt]], Stmt | None]


class Tensorized:
    """What has come of the tensorized stages of one program: the reason why a part is ordinary code, or that one is not."""

    def __init__(self) -> None:
        self.done: set[str] = set()
        self.reasons: dict[str, str] = {}

    def check(self, nests: Nests) -> None:
        """Refuse an intrinsic that has not been used anywhere."""
        for name, reason in self.reasons.items():
            if name not in self.done:
                raise _refused(nests.stages[name].tensor, name, reason)


def starts(frame: Frame, loop: Loop) -> bool:
    """Whether the loops from ``loop`` inwards are to be an intrinsic."""
    return frame.nest.tensor is not None and frame.nest.tensor[0] == loop.name


def around_intrinsic(frame: Frame, loop: Loop) -> bool:
    """What is set up for an intrinsic, and finished after it, goes through its innermost loop in lanes."""
    lanes = [other for other in frame.nest.loops if other.kind == "tensorize" and not other.reduce]
    return frame.phase != "main" and bool(lanes) and loop is lanes[-1]


def tensorized(
    builder: Builder,
    frame: Frame,
    loops: tuple[Loop, ...],
    values: tuple[Expr, ...],
    elements: Callable[[Frame], tuple[Load, ...]],
    ordinary: Callable[[], Stmt],
) -> Stmt:
    """The microkernel for ``loops``, or the loops themselves where they have another length.

    Args:
        values: what is stored, or accumulated: of every component.
        elements: where, at the point a frame is at.

    Raises:
        ScheduleError: they compute something else, or on elements that lie otherwise.
    """
    nest = frame.nest
    assert nest.tensor is not None
    together = builder.by_warp(frame, values[0], elements, ordinary) if builder.by_warp else None
    if together is not None:
        return together
    intrinsic = find(nest.tensor[1], f"tensorize {nest.name}.{shown(nest.tensor[0])}")
    inner, variables = frame, list[Axis]()
    for loop in loops:
        extent = inner.extent(loop.name)
        if isinstance(extent, Expr):
            builder.tensorized.reasons[nest.name] = (
                f"only a call knows how long {shown(loop.name)} is; split it"
            )
            return ordinary()
        if extent != 1:
            variables.append(Axis(loop.name, extent, loop.reduce))
        opened = inner.open(loop.name, variables[-1] if extent != 1 else number(0))
        if opened.guards(inner) or opened.splits_to_partition():
            builder.tensorized.reasons[nest.name] = (
                f"the tail of the split into {shown(loop.name)} puts a condition inside; peel it"
            )
            return ordinary()
        inner = opened
    if _lengths(variables) != _lengths(list(intrinsic.stage.all_axes)):
        have, need = _said(variables), _said(list(intrinsic.stage.all_axes))
        builder.tensorized.reasons[nest.name] = (
            f"the loops from there inwards are {have}, and it computes {need}"
        )
        return ordinary()
    try:
        _check_reduction(intrinsic, frame)
        if len(values) > 1:
            raise Mismatch(f"{nest.name} computes {len(values)} values at once, and it computes one")
        (target,) = elements(inner)
        value = builder.value(values[0], inner)
        for load in (target, *loads(value)):
            if any(isinstance(size, Expr) for size in load.tensor.shape[1:]):
                raise Mismatch(
                    f"only a call knows how far apart the rows of {load.tensor.name} are; copy it packed"
                )
        matched = _matched(intrinsic, variables, value, target)
    except Mismatch as error:
        raise _refused(nest.tensor, nest.name, str(error)) from None
    builder.tensorized.done.add(nest.name)
    found, out = matched.found, matched.place(_element(intrinsic), target)
    operands = tuple((found[t.name].first, found[t.name].strides) for t in intrinsic.operands)
    reduces = intrinsic.stage.reduce is not None
    return Microkernel(intrinsic.name, (out.first, out.strides), operands, reduces, ordinary())


def holds_sums(nest: StageNest) -> bool:
    """Whether an intrinsic does the stage that needs no buffer for its sums beside the stage's own."""
    return nest.tensor is not None and find(nest.tensor[1], f"tensorize {nest.name}").holds_sums


def begun(start: Stmt, update: Stmt) -> Stmt:
    """What sets sums up, and what adds to them; in one, where an intrinsic has all terms and can begin the sums itself."""
    if isinstance(update, Microkernel) and find(update.intrinsic, "tensorize").begins:
        return replace(update, accumulates=False, begins=True, meaning=seq(start, update.meaning))
    return seq(start, update)


def _refused(tensor: tuple[str, str] | None, stage: str, reason: str) -> ScheduleError:
    assert tensor is not None
    return ScheduleError(
        f"tensorize {stage}.{shown(tensor[0])}: the intrinsic {tensor[1]!r} does not fit:\n{reason}"
    )


def _element(intrinsic: Intrinsic) -> Load:
    return Load(intrinsic.stage, intrinsic.stage.axes, intrinsic.stage.dtype)


def _matched(intrinsic: Intrinsic, variables: list[Axis], value: Expr, target: Load) -> Matcher:
    """The first way to let loops stand for axes in which all agrees; what is wrong with the order as written, if none."""
    first: Mismatch | None = None
    for axes in _assignments(intrinsic, variables):
        matcher = Matcher(axes, intrinsic.strided, intrinsic.fixed)
        try:
            matcher.match(intrinsic.formula, value)
            matcher.place(_element(intrinsic), target)
            return matcher
        except Mismatch as error:
            first = first or error
    assert first is not None
    raise first


def _assignments(intrinsic: Intrinsic, variables: list[Axis]) -> Iterator[dict[Axis, Axis]]:
    axes = [axis for axis in intrinsic.stage.all_axes if axis.extent != 1]
    for order in permutations(variables):
        pairs = list(zip(axes, order, strict=True))
        if all((a.extent, a.reduce) == (v.extent, v.reduce) for a, v in pairs):
            yield dict(pairs)


def _check_reduction(intrinsic: Intrinsic, frame: Frame) -> None:
    mine, theirs = intrinsic.stage.reduce, frame.nest.stage.reduce
    if mine is None and theirs is not None:
        raise Mismatch(f"{frame.nest.name} is a reduction ({theirs.op}), and it stores its value")
    if mine is not None and theirs is None:
        raise Mismatch(f"{frame.nest.name} is no reduction, and it accumulates ({mine.op})")
    if mine is not None and theirs is not None and (mine.op, mine.dtype) != (theirs.op, theirs.dtype):
        raise Mismatch(
            f"{frame.nest.name} is a {theirs.op} in {theirs.dtype}, and it accumulates a {mine.op} in {mine.dtype}"
        )
    if frame.nest.stage.dtype != intrinsic.stage.dtype and mine is None:
        raise Mismatch(
            f"{frame.nest.name} is {frame.nest.stage.dtype}, and it computes {intrinsic.stage.dtype}"
        )


def _lengths(axes: list[Axis]) -> list[tuple[bool, int]]:
    return sorted((axis.reduce, known(axis.extent)) for axis in axes if known(axis.extent) != 1)


def _said(axes: list[Axis]) -> str:
    parts = [f"{axis.name} in {axis.extent}{' (reduction)' if axis.reduce else ''}" for axis in axes]
    return ", ".join(parts) or "a single iteration"

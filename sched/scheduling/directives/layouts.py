"""The directive on the order of a buffer's elements: transform_layout."""

from __future__ import annotations

import re

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_stage, loop_index
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_update import AS_ITS_BASE, check_not_update
from loopwright.sched.scheduling.directives.caching import copied, copied_out
from loopwright.sched.scheduling.directives.loops import reorder, split_loop
from loopwright.sched.scheduling.nest import Nests, Place

# "k", or one half of an axis: "j//32", "j%32".
_PIECE = re.compile(r"([A-Za-z_]\w*)(?:(//|%)([1-9][0-9]*))?\Z")


def transform_layout(
    nests: Nests, stage: str, order: str | tuple[str, ...], name: str | None = None
) -> Nests:
    """Store a stage's elements in the order of its loops ``order``, outermost first: packing.

    The caller's arrays stay as they are. Of an output, the stage is computed into a buffer of that layout, and a new
    stage ``name`` (``C_unpacked``) writes the array from it. An input has no loops: its order is of its axes, named as where
    it is read, and ``j//32 k j%32`` splits them; a packed copy ``name`` (``B_packed``) is made and read instead.

    Before::

        for k in 200:
            for jo in 10:
                for ji in 32:
                    B_packed[k, jo*32 + ji] = B[k, jo*32 + ji]

    After ``transform_layout("B_packed", "jo k ji")``::

        for k in 200:
            for jo in 10:
                for ji in 32:
                    B_packed[jo, k, ji] = B[k, jo*32 + ji]

    After ``transform_layout("B", "j//32 k j%32")``, for an input that a stage reads as ``B[k, j]``::

        for jo in 10:
            for k in 200:
                for ji in 32:
                    B_packed[jo, k, ji] = B[k, jo*32 + ji]
    """
    where = f"transform_layout {stage}"
    if any(t.name == stage for t in nests.inputs):
        return _packed(where, nests, stage, order, name)
    nest = find_stage(nests, stage, where)
    check_not_update(where, nest, AS_ITS_BASE)
    checks.check_not_inline(where, nest)
    if nest.place.kind == "after":
        raise ScheduleError(
            f"{where}: {stage} follows {nest.place.stage} inside its loops; a layout is for stages at root or under compute_at"
        )
    checks_rewrite.check_not_aligned(where, nest)
    nest = nest.with_(layout=checks_rewrite.check_layout(where, nest, order))
    if nests.last(stage) not in nests.outputs.values():
        checks_rewrite.check_no_copy(where, nest, name)
        return nests.with_stage(nest)
    name = f"{stage}_unpacked" if name is None else name
    checks.check_new_stage(where, nests, name)
    result = copied_out(nests, nest, name, Place())
    check_places(where, result)
    return result


def _packed(where: str, nests: Nests, tensor: str, order: str | tuple[str, ...], name: str | None) -> Nests:
    """A packed copy of an input, whole and at root."""
    name = f"{tensor}_packed" if name is None else name
    nests = copied(where, nests, tensor, name=name)
    nest = nests.stages[name]
    axes = [axis.name for axis in nest.stage.axes]
    loops: list[str] = []
    for axis, part, factor in pieces(where, axes, order):
        if not part:
            loops.append(axis)
            continue
        halves = (f"{axis}o", f"{axis}i")
        if axis in [loop.name for loop in nest.loops]:
            checks.check_new_loops(where, nest, halves, 2)
            nest = split_loop(nest, nest.loops[loop_index(nest, axis)], halves, factor, "auto")
        loops.append(halves[part == "%"])
    nests = reorder(nests.with_stage(nest), name, tuple(loops))
    return nests.with_stage(nests.stages[name].with_(layout=tuple(loops)))


def pieces(where: str, axes: list[str], order: str | tuple[str, ...]) -> list[tuple[str, str, int]]:
    """An input's layout taken apart: axis, ``//``, ``%`` or nothing, and the number.

    Errors:
        ScheduleError: it does not hold every axis once, whole or in two halves.
    """
    words = order.split() if isinstance(order, str) else list(order)
    found: list[tuple[str, str, int]] = []
    for word in words:
        match = _PIECE.match(word)
        if match is None or match[1] not in axes:
            raise ScheduleError(
                f"{where}: {word!r} is no axis, nor half of one such as '{axes[-1]}//16' and '{axes[-1]}%16'; "
                f"the axes are {', '.join(axes)}"
            )
        found.append((match[1], match[2] or "", int(match[3] or 1)))
    for axis in axes:
        parts = sorted((part, number) for other, part, number in found if other == axis)
        whole = parts == [("", 1)]
        halved = [part for part, _ in parts] == ["%", "//"] and parts[0][1] == parts[1][1]
        if not whole and not halved:
            raise ScheduleError(
                f"{where}: {' '.join(words)!r} must hold {axis} once, or its two halves '{axis}//n' and '{axis}%n'"
            )
    return found

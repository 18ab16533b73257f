"""Directives on a stage's loops: split, tile, fuse, reorder."""

from __future__ import annotations

from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.address import find_loop, find_stage, no_loop, shown
from loopwright.sched.scheduling.checks_order import check_written_order
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_storage import check_storage
from loopwright.sched.scheduling.checks_update import check_update_kinds, check_update_order
from loopwright.sched.scheduling.nest import Fuse, Loop, Nests, Split, StageNest


def split(nests: Nests, loop: str, names: tuple[str, str], factor: int, tail: str = "auto") -> Nests:
    """Run a loop as tiles of ``factor`` iterations. Where that does not divide, ``tail`` says what the last tile does.

    Before::

        for i in 500:
            C[i] = ...

    After ``split("C.i", ("io", "ii"), 8)``::

        for io in 63:
            for ii in 8:          # the last tile: 4
                C[io*8 + ii] = ...
    """
    where = f"split {loop}"
    nest, old = find_loop(nests, loop, where)
    checks.check_number(where, "factor", factor, checks.MOST_ITERATIONS)
    checks.check_tail(where, tail)
    checks.check_serial(where, nest, old)
    checks.check_new_loops(where, nest, names, 2)
    checks.check_hosts_nothing(where, nests, nest, (old.name,))
    checks.check_not_in_layout(where, nest, (old.name,))
    return nests.with_stage(split_loop(nest, old, names, factor, tail))


def split_loop(nest: StageNest, old: Loop, names: tuple[str, str], factor: int, tail: Any) -> StageNest:
    """The nest with one loop replaced by two; nothing is checked."""
    halves = (Loop(names[0], old.reduce), Loop(names[1], old.reduce))
    loops = [new for loop in nest.loops for new in (halves if loop is old else (loop,))]
    relation = Split(old.name, names[0], names[1], factor, tail)
    return nest.with_(loops=tuple(loops), relations=(*nest.relations, relation))


def tile(nests: Nests, stage: str, tiles: tuple[tuple[str, str, str, int], ...], tail: str = "auto") -> Nests:
    """Split several loops and put the tiles' loops outside, the loops in a tile inside.

    Before::

        for y in H:
            for x in W:

    After ``tile("by", y=("yo", "yi", 32), x=("xo", "xi", 64))``::

        for yo in H/32:
            for xo in W/64:
                for yi in 32:
                    for xi in 64:
    """
    where = f"tile {stage}"
    nest = find_stage(nests, stage, where)
    if not tiles or not isinstance(tiles, tuple):
        raise ScheduleError(f"{where}: no loops are given; write tile({stage!r}, i=('io', 'ii', 8), ...)")
    for item in tiles:
        if not isinstance(item, tuple) or len(item) != 4:
            raise ScheduleError(
                f"{where}: each loop takes (outer, inner, factor), such as i=('io', 'ii', 8), not {item[1:]!r}"
            )
        if item[0] not in [shown(loop.name) for loop in nest.loops]:
            raise no_loop(nest, item[0], where)
    try:
        for axis, outer, inner, factor in tiles:
            nests = split(nests, f"{stage}.{axis}", (outer, inner), factor, tail)
        return reorder(nests, stage, (*(t[1] for t in tiles), *(t[2] for t in tiles)))
    except ScheduleError as error:
        raise ScheduleError(f"{where}: {error}") from None


def fuse(nests: Nests, outer: str, inner: str, name: str) -> Nests:
    """Run a loop and the one right inside it as one loop.

    Before::

        for io in 63:
            for jo in 10:

    After ``fuse("C.io", "C.jo", name="f")``::

        for f in 630:             # io = f // 10, jo = f % 10
    """
    where = f"fuse {outer}, {inner}"
    nest, first = find_loop(nests, outer, where)
    other, second = find_loop(nests, inner, where)
    if other is not nest:
        raise ScheduleError(
            f"{where}: the loops belong to two stages, {nest.name} and {other.name}; fuse loops of one"
        )
    for loop in (first, second):
        checks.check_serial(where, nest, loop)
    checks.check_adjacent(where, nest, first, second)
    checks.check_new_loops(where, nest, (name,), 1)
    checks.check_hosts_nothing(where, nests, nest, (first.name, second.name))
    checks.check_not_in_layout(where, nest, (first.name, second.name))
    checks.check_fused_length(where, nest, first, second)
    loops = [Loop(name, first.reduce) if loop is first else loop for loop in nest.loops if loop is not second]
    relation = Fuse(first.name, second.name, name)
    result = nests.with_stage(nest.with_(loops=tuple(loops), relations=(*nest.relations, relation)))
    check_storage(where, result)
    return result


def reorder(nests: Nests, stage: str, order: str | tuple[str, ...]) -> Nests:
    """Put loops in another order, outermost first. A partial list changes places among the loops it names.

    Before::

        for io in 63:
            for ii in 8:
                for k in 200:

    After ``reorder("C", "io k ii")``, or ``reorder("C", "k ii")``::

        for io in 63:
            for k in 200:
                for ii in 8:
    """
    where = f"reorder {stage}"
    nest = find_stage(nests, stage, where)
    checks.check_not_inline(where, nest)
    names = checks.check_order(where, nest, order)
    by_name = {loop.name: loop for loop in nest.loops}
    following = iter(names)
    loops = tuple(by_name[next(following)] if loop.name in names else loop for loop in nest.loops)
    changed = nest.with_(loops=loops)
    checks.check_parallel_nesting(where, changed)
    check_written_order(where, changed)
    check_update_order(where, changed)
    check_update_kinds(where, changed)
    result = nests.with_stage(changed)
    check_places(where, result)
    return result

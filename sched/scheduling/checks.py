"""What makes a directive legal: one named check for each rule. Those of placements are in checks_place.py.

Every check takes ``where``, the directive and what it is applied to, and raises :class:`ScheduleError` with that, the
reason, and what would be legal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Expr, Extent
from loopwright.sched.language.extents import ceil_divided, times
from loopwright.sched.language.stage import stage_exprs
from loopwright.sched.scheduling.address import no_loop, shown
from loopwright.sched.scheduling.nest import Fuse, Loop, Nests, Split, StageNest, plain_loops
from loopwright.sched.scheduling.placement import inlined_size, readers
from loopwright.sched.scheduling.threads import BOUND

TAILS = ("auto", "guard", "peel", "pad", "shift_inward")
SCOPES = ("global", "local", "shared")
MOST_LANES = 1024
MOST_COPIES = 4096
MOST_NODES = 50_000
# Operations that unrolling may write out: with more, compiling takes half a minute and soon, since it takes longer than in
# proportion, many. A loop counts as many operations (256 loops of a matrix product's 64 steps took 12 seconds, 1024 took 140),
# and an operation on a float that is computed with integers as several.
MOST_WRITTEN, LOOP_NODES, NARROW_NODES = 32_000, 100, 16
# Loop variables are 32-bit: outer * factor + inner must not overflow where a tile overhangs its axis.
MOST_ITERATIONS = 2**30
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


# --- arguments -------------------------------------------------------------------------------------------------


def check_number(where: str, what: str, value: Any, most: int) -> None:
    """A split factor or a vector width is a positive integer that the generated code can hold."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ScheduleError(f"{where}: the {what} {value!r} is no integer; give one of at least 1, or a knob")
    if value < 1:
        raise ScheduleError(f"{where}: the {what} is {value}; it must be at least 1")
    if value > most:
        raise ScheduleError(f"{where}: the {what} {value} is too large; at most {most} makes sense")


def check_tail(where: str, tail: Any) -> None:
    """A tail is one of the known strategies."""
    if tail not in TAILS:
        raise ScheduleError(f"{where}: tail={tail!r} is unknown; it is one of {', '.join(map(repr, TAILS))}")


def check_switch(where: str, what: str, value: Any) -> None:
    """An option is on or off."""
    if not isinstance(value, bool):
        raise ScheduleError(f"{where}: {what}= is True, False or a knob, not {value!r}")


def check_scope(where: str, scope: Any) -> None:
    """A memory scope is one of the known ones."""
    if scope not in SCOPES:
        raise ScheduleError(
            f"{where}: the scope {scope!r} is unknown; it is one of {', '.join(map(repr, SCOPES))}"
        )


def check_new_loops(where: str, nest: StageNest, names: Any, count: int) -> None:
    """New loop names are plain, distinct, and were never used in the stage."""
    if not isinstance(names, tuple) or len(names) != count:
        raise ScheduleError(f"{where}: it needs names for {count} loops, such as ('io', 'ii'), not {names!r}")
    used = nest.all_names()
    for name in names:
        if not isinstance(name, str) or not _NAME.match(name):
            raise ScheduleError(
                f"{where}: {name!r} is no name for a loop; use letters, digits and _, starting with a letter"
            )
        if name in used:
            raise ScheduleError(
                f"{where}: the name {name!r} is already taken in stage {nest.name}; a name is never used twice, choose another"
            )
    if len(set(names)) != count:
        raise ScheduleError(
            f"{where}: the new loops need names of their own, not {', '.join(map(repr, names))}"
        )


def check_new_stage(where: str, nests: Nests, name: Any) -> None:
    """A new stage's name is well-formed and names no tensor yet."""
    parts = name.split(".") if isinstance(name, str) else [""]
    if not all(_NAME.match(part) for part in parts):
        raise ScheduleError(
            f"{where}: {name!r} is no name for a stage; use letters, digits and _, starting with a letter"
        )
    if nests.tensor(name) is not None:
        raise ScheduleError(
            f"{where}: {name!r} is the name of a tensor already; give the copy another one with name="
        )


def check_order(where: str, nest: StageNest, order: Any) -> tuple[str, ...]:
    """An order names loops of the stage, each once; returns them."""
    if isinstance(order, str):
        order = tuple(order.replace(",", " ").split())
    if not isinstance(order, tuple) or not all(isinstance(name, str) for name in order) or not order:
        raise ScheduleError(f"{where}: the loops are named in order, such as 'io jo k ii', not {order!r}")
    own = {shown(loop.name): loop.name for loop in nest.loops}
    loops = list(own)
    for name in order:
        if name not in loops:
            # "C.io" is clear where "io" is meant.
            if name.startswith(nest.name + ".") and name[len(nest.name) + 1 :] in loops:
                raise ScheduleError(
                    f"{where}: write {name[len(nest.name) + 1 :]!r} for {name!r}; the stage is given already"
                )
            raise no_loop(nest, name, where)
    for name in order:
        if order.count(name) > 1:
            raise ScheduleError(f"{where}: the loop {name} stands twice in {' '.join(order)!r}")
    return tuple(own[name] for name in order)


# --- loops -----------------------------------------------------------------------------------------------------


def check_serial(where: str, nest: StageNest, loop: Loop) -> None:
    """A loop's kind is given once and last: splitting or fusing it afterwards would lose the kind."""
    if loop.kind != "serial":
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(loop.name)} is {PAST[loop.kind]} already; a loop has one kind, and it comes last, "
            f"after split, fuse and the like"
        )


PAST = {
    "vectorize": "vectorized", "parallel": "parallel", "unroll": "unrolled", "tensorize": "tensorized", "pipeline": "pipelined",
    "serial": "serial",
    **{axis: f"bound to {axis}" for axis in BOUND},
}  # fmt: skip


def check_spatial(where: str, nest: StageNest, loop: Loop, what: str) -> None:
    """Iterations of a reduction loop write the same element: they cannot run side by side."""
    if loop.reduce and nest.stage.updating is None:
        spatial = [f"{nest.name}.{shown(other.name)}" for other in nest.loops if not other.reduce]
        instead = f"choose one of {', '.join(spatial)}" if spatial else f"{nest.name} has no other loops"
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(loop.name)} is a reduction loop, whose iterations add to one element; "
            f"it cannot be {what}.\n{instead[0].upper()}{instead[1:]}"
        )


def check_hosts_nothing(where: str, nests: Nests, nest: StageNest, names: Iterable[str]) -> None:
    """A loop that other stages are computed at must stay as it is."""
    for other in nests.stages.values():
        if (
            other.place.stage == nest.name
            and other.place.loop in names
            and other.place.kind in ("at", "after")
        ):
            raise ScheduleError(
                f"{where}: {other.name} is computed at {nest.name}.{shown(other.place.loop)}, which would be gone; "
                f"do this before {_placing(other)}"
            )
        fetched = next((p.tensor for p in nest.prefetches if p.loop in names), None)
        if fetched is not None:
            raise ScheduleError(
                f"{where}: {fetched} is fetched ahead in that loop, which would be gone; prefetch comes after this"
            )
        if other.stored is not None and other.stored.stage == nest.name and other.stored.loop in names:
            home = f"{nest.name}.{shown(other.stored.loop)}"
            raise ScheduleError(
                f"{where}: {other.name} is stored at {home}, which would be gone; do this before "
                f"store_at({other.name!r}, {home!r})"
            )


def _placing(nest: StageNest) -> str:
    kind = "compute_at" if nest.place.kind == "at" else "reverse_compute_at"
    return f"{kind}({nest.name!r}, '{nest.place.stage}.{shown(nest.place.loop)}')"


def check_not_in_layout(where: str, nest: StageNest, names: Iterable[str]) -> None:
    """A loop that a buffer's layout is made of must stay as it is."""
    for name in names:
        if nest.layout is not None and name in nest.layout:
            raise ScheduleError(
                f"{where}: the layout of {nest.name} is {' '.join(map(shown, nest.layout))!r}, so {shown(name)} must stay; "
                "do this before transform_layout"
            )


def check_adjacent(where: str, nest: StageNest, outer: Loop, inner: Loop) -> None:
    """Only a loop and the one right inside it can be fused, both spatial or both of the reduction."""
    loops = list(nest.loops)
    if outer.name == inner.name:
        raise ScheduleError(f"{where}: a loop cannot be fused with itself")
    if loops.index(inner) != loops.index(outer) + 1:
        raise ScheduleError(
            f"{where}: {shown(inner.name)} does not stand right inside {shown(outer.name)}: the order is "
            f"{' '.join(shown(loop.name) for loop in loops)!r}; reorder first"
        )
    if outer.reduce != inner.reduce:
        red, spat = (outer, inner) if outer.reduce else (inner, outer)
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(red.name)} is a reduction loop and {nest.name}.{shown(spat.name)} is not; "
            "fuse loops of one sort"
        )


def check_one_vector_loop(where: str, nest: StageNest) -> None:
    """Vectors of vectors do not exist: a stage has one vectorized loop."""
    for loop in nest.loops:
        if loop.kind in ("vectorize", "tensorize"):
            raise ScheduleError(
                f"{where}: {nest.name}.{shown(loop.name)} is {PAST[loop.kind]} already, and a stage has one vectorized loop; "
                "unroll this one"
            )


def check_parallel_nesting(where: str, nest: StageNest) -> None:
    """In one nest: no parallel loop in another, nor inside a vectorized one."""
    outside: Loop | None = None
    for loop in nest.loops:
        if loop.kind == "parallel" and outside is not None:
            what = (
                "is parallel already; fuse the two"
                if outside.kind == "parallel"
                else "is vectorized; reorder, so that it is inside"
            )
            raise ScheduleError(
                f"{where}: {nest.name}.{shown(loop.name)} stands inside {nest.name}.{shown(outside.name)}, which {what}"
            )
        if loop.kind in ("parallel", "vectorize"):
            outside = loop


def check_lanes(where: str, nest: StageNest, loop: Loop) -> None:
    """A whole loop as one vector: refused where it is known to be very long."""
    size = sizes(nest).get(loop.name, 0)
    if nest.place.kind == "root" and isinstance(size, Expr):
        raise ScheduleError(
            f"{where}: only a call knows how long the loop is ({size}), and a vector has a fixed length;\n"
            f"vectorize({nest.name + '.' + shown(loop.name)!r}, 8) takes it in pieces"
        )
    if nest.place.kind == "root" and size > MOST_LANES:
        raise ScheduleError(
            f"{where}: the loop is {size} long, too much for one vector; vectorize({nest.name + '.' + shown(loop.name)!r}, 16) "
            "takes it in pieces"
        )


def check_copies(where: str, nests: Nests, nest: StageNest) -> None:
    """The product of the unrolled loops' lengths, as far as they are known, is code size; so is what they write out."""
    length = sizes(nest)
    split_off = {r.inner for r in nest.relations if isinstance(r, Split)}
    known = [
        (loop.name, length[loop.name])
        for loop in nest.loops
        if loop.kind == "unroll"
        and (nest.place.kind in ("root", "chain") or loop.reduce or loop.name in split_off)
    ]
    unrolled: dict[str, int] = {}
    for name, size in known:
        if isinstance(size, Expr):
            raise ScheduleError(
                f"{where}: only a call knows how long {nest.name}.{shown(name)} is ({size}); split it, and unroll the inner loop"
            )
        unrolled[name] = size
    copies = prod(unrolled.values())
    parts = " x ".join(f"{nest.name}.{shown(name)} {size}" for name, size in unrolled.items())
    if copies > MOST_COPIES:
        raise ScheduleError(
            f"{where}: the body would be written out {copies} times ({parts}), "
            f"more than {MOST_COPIES}; split, and unroll the inner loop"
        )
    narrow = next((e.dtype for e in stage_exprs(nest.stage) if e.dtype in dtypes.NARROW), None)
    written = copies * inlined_size(nests, nest.name) * (NARROW_NODES if narrow else 1)
    written += LOOP_NODES * _written_loops(nest, unrolled)
    if copies > 1 and written > MOST_WRITTEN:
        note = f" (one on {narrow} is {NARROW_NODES})" if narrow else ""
        raise ScheduleError(
            f"{where}: the body, written out {copies} times ({parts}), would come to {written} operations{note}, more than "
            f"{MOST_WRITTEN}, and compile for minutes;\nsplit, and unroll the inner loop"
        )


def _written_loops(nest: StageNest, unrolled: Mapping[str, int]) -> int:
    """How many loops are written out, where some are ``unrolled``: those inside stand as often as these have iterations."""
    copies, loops = 1, 0
    for loop in nest.loops:
        copies *= unrolled.get(loop.name, 1)
        loops += copies * (loop.kind not in ("unroll", "vectorize"))
    return loops


def check_fused_length(where: str, nest: StageNest, outer: Loop, inner: Loop) -> None:
    """A fused loop's variable has 32 bits."""
    length = sizes(nest)
    iterations = times(length[outer.name], length[inner.name])  # a call's are checked when it comes
    if not isinstance(iterations, Expr) and iterations > MOST_ITERATIONS:
        raise ScheduleError(
            f"{where}: the fused loop would have {length[outer.name]} x {length[inner.name]} iterations, "
            f"more than {MOST_ITERATIONS}; leave them apart"
        )


def sizes(nest: StageNest, box: Sequence[Extent] | None = None) -> dict[str, Extent]:
    """The length of every loop over a region of the stage (by default all of it, the most it can be)."""
    length = {axis.name: axis.extent for axis in nest.stage.all_axes}
    if box is not None:
        length |= {axis.name: size for axis, size in zip(nest.stage.axes, box, strict=True)}
    for relation in nest.relations:
        if isinstance(relation, Fuse):
            length[relation.fused] = times(length[relation.outer], length[relation.inner])
        else:
            whole = length[relation.parent]
            length[relation.outer] = ceil_divided(whole, relation.factor)
            length[relation.inner] = (
                relation.factor if isinstance(whole, Expr) else min(relation.factor, whole)
            )
    return length


# --- stages ----------------------------------------------------------------------------------------------------


def check_not_output(where: str, nests: Nests, nest: StageNest, why: str) -> None:
    """An output must be stored whole, where the caller expects it."""
    if nests.last(nest.name) in nests.outputs.values():
        raise ScheduleError(f"{where}: {nest.name} is an output of the operator, {why}")


def check_no_reduction(where: str, nest: StageNest, why: str) -> None:
    """The stage has no reduction."""
    if nest.stage.reduce is not None:
        over = ", ".join(axis.name for axis in nest.stage.reduce_axes)
        raise ScheduleError(f"{where}: {nest.name} reduces over {over}, {why}")


def check_untouched(where: str, nests: Nests, nest: StageNest) -> None:
    """Inlining removes a stage's loops: what was said about them would be dropped."""
    for other in nests.stages.values():
        if other.place.stage == nest.name and other.place.kind in ("at", "after"):
            raise ScheduleError(
                f"{where}: {other.name} is computed at {nest.name}.{shown(other.place.loop)}, which would be gone; "
                f"compute_root({other.name!r}) or compute_inline it first"
            )
    if nest != StageNest(nest.stage, plain_loops(nest.stage), place=nest.place):
        raise ScheduleError(
            f"{where}: {nest.name} has directives of its own, and inlining it would drop them; leave them out"
        )


def check_inline_size(where: str, nests: Nests, name: str) -> None:
    """A formula that is written out wherever it is read, again and again, grows without bound."""
    for other in nests.stages:
        size = inlined_size(nests, other)
        if size > MOST_NODES:
            raise ScheduleError(
                f"{where}: the formula of {other} would have {size} operations, more than {MOST_NODES}; "
                f"leave {name} stored, or another stage between"
            )


def check_not_inline(where: str, nest: StageNest) -> None:
    """An inlined stage has neither loops nor a buffer."""
    if nest.place.kind == "inline":
        raise ScheduleError(
            f"{where}: {nest.name} is inlined; compute_root({nest.name!r}) makes it a stage again"
        )


def check_readers(where: str, nests: Nests, tensor: str, consumers: Sequence[str]) -> None:
    """Each named consumer reads the tensor, and there is one."""
    reading = readers(nests, tensor)
    for name in consumers:
        if name not in reading:
            known = ", ".join(reading) or "nothing"
            raise ScheduleError(f"{where}: {name!r} does not read {tensor}; it is read by {known}")
    if not consumers:
        raise ScheduleError(f"{where}: nothing reads {tensor}, so a copy of it would serve nobody")

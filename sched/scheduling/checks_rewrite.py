"""What makes directives legal that rewrite stages, or how they are stored: one named check for each rule."""

from __future__ import annotations

from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import INDEXERS, Axis
from loopwright.sched.language.stage import Stage, Tensor
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.checks import check_order
from loopwright.sched.scheduling.nest import Loop, StageNest


def check_of_reduction(where: str, nest: StageNest, loop: Loop) -> None:
    """Only a loop that a reduction runs over can be taken out of it."""
    if loop.reduce and nest.stage.reduce is not None:
        return
    reducing = [f"{nest.name}.{shown(other.name)}" for other in nest.loops if other.reduce]
    reducing = reducing if nest.stage.reduce is not None else []
    instead = f"choose one of {', '.join(reducing)}" if reducing else f"{nest.name} has no reduction"
    raise ScheduleError(
        f"{where}: {nest.name}.{shown(loop.name)} is no loop of a reduction, so there is nothing to take apart; {instead}"
    )


def check_reduces(where: str, nest: StageNest) -> None:
    """The stage has a reduction."""
    if nest.stage.reduce is None:
        raise ScheduleError(
            f"{where}: {nest.name} has no reduction, so there is nothing to be set up before it"
        )


def check_finds_index(where: str, nest: StageNest) -> None:
    """The stage is an argmax or argmin."""
    if nest.stage.reduce is None or nest.stage.reduce.op not in INDEXERS:
        raise ScheduleError(
            f"{where}: {nest.name} is no argmax or argmin, which are what can be found by value first, and then by index"
        )


def check_not_decomposed(where: str, nest: StageNest) -> None:
    """A reduction starts once."""
    if nest.start is not None:
        raise ScheduleError(f"{where}: {nest.name} starts from {nest.start} already")


def check_own_loop(where: str, nest: StageNest, host: StageNest, loop: Loop) -> None:
    """What a reduction starts at is stored in one of its own loops, outside those of the reduction."""
    if host.name != nest.name:
        raise ScheduleError(
            f"{where}: {host.name}.{shown(loop.name)} is a loop of another stage; compute_at moves the new stage there"
        )
    names = [other.name for other in nest.loops]
    first = next((n for n, other in enumerate(nest.loops) if other.reduce), len(names))
    if names.index(loop.name) >= first:
        outer = [f"{nest.name}.{shown(name)}" for name in names[:first]]
        instead = f"choose {' or '.join(outer)}" if outer else "leave at= out, and it is at root"
        raise ScheduleError(
            f"{where}: {nest.name}.{shown(loop.name)} is not outside the loops of the reduction, which would start again and "
            f"again; {instead}"
        )


def check_holds(where: str, source: Tensor, dtype: object) -> str:
    """A copy in another type holds every value there is; returns the type."""
    kinds = source.dtypes if isinstance(source, Stage) else (source.dtype,)
    for kind in kinds:
        wider = [name for name in dtypes.ALL if name != kind and dtypes.holds(name, kind)]
        if dtype != kind and dtype not in wider:
            raise ScheduleError(
                f"{where}: dtype={dtype!r} does not hold every {kind} that {source.label} may have; "
                f"{' or '.join(wider) or 'no other type'} does"
            )
    return str(dtype)


def check_layout(where: str, nest: StageNest, order: Any) -> tuple[str, ...]:
    """A layout holds every loop over the elements once, and none of the reduction; returns it."""
    names = check_order(where, nest, order)
    for loop in nest.loops:
        if loop.reduce and loop.name in names:
            raise ScheduleError(
                f"{where}: {shown(loop.name)} is a loop of the reduction, which goes through the terms of one element; "
                "leave it out"
            )
    missing = [shown(loop.name) for loop in nest.loops if not loop.reduce and loop.name not in names]
    if missing:
        raise ScheduleError(
            f"{where}: {' '.join(map(shown, names))!r} leaves out {', '.join(missing)}; "
            f"all loops over the elements of {nest.name} are needed"
        )
    return names


def check_no_copy(where: str, nest: StageNest, name: Any) -> None:
    """Only of an input or an output a copy is made, which can be named."""
    if name is not None:
        raise ScheduleError(
            f"{where}: {nest.name} is stored nowhere else, so there is no copy to be called {name!r}; leave out name="
        )


def check_not_aligned(where: str, nest: StageNest) -> None:
    """What was said about the rows of a buffer would be dropped with its rows."""
    if nest.align:
        raise ScheduleError(
            f"{where}: the rows of {nest.name} over {shown(nest.align[0].dimension)} are aligned; "
            "do this before storage_align"
        )


def check_dimension(where: str, nest: StageNest, axis: Any) -> str:
    """A dimension of the buffer whose step can be chosen: any but the last; returns its name."""
    names = nest.layout or tuple(a.name for a in nest.stage.axes)
    shows = [shown(name) for name in names]
    if axis not in shows:
        raise ScheduleError(
            f"{where}: {nest.name} is not stored by {axis!r}; its buffer has the dimensions {', '.join(shows) or 'none'}"
        )
    if axis == shows[-1]:
        raise ScheduleError(
            f"{where}: {axis} is the last dimension of {nest.name}, whose elements lie side by side; "
            f"choose {' or '.join(shows[:-1])}"
            if shows[:-1]
            else f"{where}: {nest.name} has one dimension, whose elements lie side by side"
        )
    return names[shows.index(axis)]


def check_axis(where: str, nest: StageNest, name: Any) -> Axis:
    """A name is that of an axis of the stage, whatever loops it has been split into; returns the axis."""
    for axis in nest.stage.all_axes:
        if axis.name == name:
            return axis
    axes = ", ".join(axis.name for axis in nest.stage.all_axes)
    raise ScheduleError(f"{where}: {nest.name} has no axis {name!r}; its axes are {axes or 'none'}")


def check_known(where: str, nest: StageNest, axis: Axis) -> int:
    """The length of an axis does not wait for a call; returns it."""
    if not isinstance(axis.extent, int):
        raise ScheduleError(
            f"{where}: only a call knows how long {nest.name}.{axis.name} is ({axis.extent}); "
            "lw.size(..., multiple_of=) promises what pad would make"
        )
    return axis.extent


def check_offset(where: str, factor: int, offset: Any) -> None:
    """An offset is less than the factor that it is a remainder of."""
    if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset < factor:
        raise ScheduleError(
            f"{where}: the offset {offset!r} is none of 0 to {factor - 1}, the remainders of {factor}"
        )


def check_no_vector(where: str, nest: StageNest) -> None:
    """A vectorized loop runs inside all others; with an intrinsic there, no room is left for it."""
    for loop in nest.loops:
        if loop.kind == "vectorize":
            raise ScheduleError(
                f"{where}: {nest.name}.{shown(loop.name)} is vectorized, and so runs innermost, where the intrinsic is to "
                "stand; leave it as it is, or unroll it"
            )


def check_tensor_innermost(where: str, nest: StageNest) -> None:
    """An intrinsic stands for the innermost loops, all of them together."""
    assert nest.tensor is not None
    kinds = [loop.kind == "tensorize" for loop in nest.loops]
    if kinds != sorted(kinds) or nest.loops[kinds.index(True)].name != nest.tensor[0]:
        loops = " ".join(shown(loop.name) for loop in nest.loops if loop.kind == "tensorize")
        raise ScheduleError(
            f"{where}: the loops {loops} of {nest.name} are tensorized, and stay innermost, in this order; "
            "do this before tensorize"
        )

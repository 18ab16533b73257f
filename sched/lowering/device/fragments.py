"""What the threads of a warp do together, in place of the loops over its tile: set accumulators up, add a product, store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Const, Expr, Load, loads, substitute
from loopwright.sched.lowering.affine import Linear, linear, number, simplify
from loopwright.sched.lowering.device.warps import LANES, lanes_of, shape_of_tile
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.places import flat
from loopwright.sched.lowering.stmt import Buffer, For, If, Stmt, Store, Warp, expressions, walk_statements

# A matrix begins at a multiple of so many bytes, and its rows (or columns) lie a multiple of so many apart.
BEGINS, APART = 32, 16
Elements = Callable[[Frame], tuple[Load, ...]]
# Where a matrix begins, and the steps from row to row and from column to column.
Matrix = tuple[Load, tuple[int, int]]


def multiplied(
    where: str, frame: Frame, value: Callable[[Frame], Expr], elements: Elements, meaning: Stmt
) -> Warp:
    """A product added to the accumulators, for the loops ``meaning``.

    Args:
        value: what is accumulated at the point a frame is at; ``elements``: where.

    Errors:
        ScheduleError: a factor lies where fragments cannot be loaded from.
    """
    tile, step = shape_of_tile(frame.nest), frame.nest.loops[-1].name

    def factors(element: int, k: int) -> list[Load]:
        return loads(value(_at(frame, element).open(step, number(k))))

    first = factors(0, 0)
    down, along, deep = factors(tile.columns, 0), factors(1, 0), factors(0, 1)
    rows, columns = list[Matrix](), list[Matrix]()
    for n, load in enumerate(first):
        row, column, term = (_apart(where, load, moved[n]) for moved in (down, along, deep))
        rows += [(load, (row, term))] if row else []
        columns += [(load, (term, column))] if column else []
    if (len(rows), len(columns)) != (1, 1):
        raise ScheduleError(
            f"{where}: {_name(frame)!r} multiplies two matrices;\nof what {frame.nest.name} reads, one must change from row "
            "to row, and the other from column to column"
        )
    for load, apart in (*rows, *columns):
        check_matrix(where, frame, load, apart)
    (accumulators,) = elements(_at(frame, 0))
    check_own(where, frame, accumulators)
    _check_whole(where, frame, meaning)
    return Warp(_name(frame), accumulators, (*rows, *columns), meaning)


def around(where: str, frame: Frame, element: Callable[[Frame], Load], made: Stmt) -> Warp:
    """The accumulators set up before a reduction, or stored after it, for the loop ``made`` over a thread's elements.

    Args:
        element: where the stage's element is stored, at the point a frame is at.

    Errors:
        ScheduleError: more than the sum is stored, or where fragments cannot be stored.
    """
    _check_whole(where, frame, made)
    tile = shape_of_tile(frame.nest)
    assert isinstance(made, For)
    (store,) = (s for s in walk_statements(made) if isinstance(s, Store))
    if frame.phase == "init":
        if not isinstance(store.value, Const):
            raise ScheduleError(
                f"{where}: of {frame.nest.name}, a reduction loop stands inside others over its tiles;\nreorder, so that "
                f"all reduction loops but the innermost are outside of them"
            )
        accumulators = Load(store.buffer, store.indices, store.buffer.dtype)
        matrices: tuple[Matrix, ...] = ()
    else:
        if not isinstance(store.value, Load):
            raise ScheduleError(
                f"{where}: {frame.nest.name} computes more from its sum, and {_name(frame)!r} stores the sum itself;\n"
                "give the sum a name in the formula, lw.sum(..., name='acc'), and it is a stage to be computed so"
            )
        accumulators, first = store.value, element(_at(frame, 0))
        steps = (
            _apart(where, first, element(_at(frame, tile.columns))),
            _apart(where, first, element(_at(frame, 1))),
        )
        check_matrix(where, frame, first, steps)
        matrices = ((first, steps),)
    check_own(where, frame, accumulators)
    indices = tuple(simplify(substitute(index, {made.var: number(0)})) for index in accumulators.indices)
    return Warp(_name(frame), Load(accumulators.tensor, indices, accumulators.dtype), matrices, made)


def check_matrix(where: str, frame: Frame, first: Load, steps: tuple[int, int]) -> None:
    """A matrix lies in shared memory, where only the kernel says how: its rows or columns side by side, and evenly apart."""
    buffer = first.tensor
    assert isinstance(buffer, Buffer)
    if buffer.scope != "shared":
        how = "cache_write" if buffer.stage == frame.nest.name else "cache_read"
        raise ScheduleError(
            f"{where}: {_name(frame)!r} of {frame.nest.name} loads and stores shared memory, and {buffer.stage} is in "
            f"{buffer.scope} memory;\n{how}({buffer.stage!r}, 'shared')"
        )
    size = dtypes.itemsize(buffer.dtype)
    if 1 not in steps or max(steps) * size % APART:
        raise ScheduleError(
            f"{where}: {_name(frame)!r} of {frame.nest.name} takes elements side by side, in rows a multiple of {APART // size} "
            f"elements apart, and in {buffer.stage} steps are {steps[0]} and {steps[1]};\n"
            f"storage_align({buffer.stage!r}, ..., {APART // size}) lets rows begin there"
        )
    place, least = _place(first), BEGINS // size
    if any(n % least for n in (place.const, *(step for _, step in place.terms.values()))):
        raise ScheduleError(
            f"{where}: {_name(frame)!r} of {frame.nest.name} takes matrices that begin at multiples of {least} elements, and one "
            f"of {buffer.stage} begins at {place.expr()};\nsplit by {shape_of_tile(frame.nest).rows}, or storage_align"
        )


def check_own(where: str, frame: Frame, accumulators: Load) -> None:
    """The accumulators are in fragments, not in the stage's buffer."""
    assert isinstance(accumulators.tensor, Buffer)
    if accumulators.tensor.scope != "local":
        raise ScheduleError(
            f"{where}: {frame.nest.name} has more accumulators than a thread can hold; give each warp fewer tiles"
        )


def check_only_fragments(where: str, body: Stmt) -> None:
    """Of a kernel, accumulators in fragments are used by warps alone."""
    warps = [s for s in walk_statements(body) if isinstance(s, Warp)]
    held = {s.accumulators.tensor for s in warps}
    within = {id(part) for s in warps for part in walk_statements(s.meaning)}
    for s in walk_statements(body):
        if isinstance(s, Warp) or id(s) in within:
            continue
        used = [load.tensor for e in expressions(s) for load in loads(e)]
        if isinstance(s, Store):
            used.append(s.buffer)
        for buffer in held.intersection(used):
            assert isinstance(buffer, Buffer)
            raise ScheduleError(
                f"{where}: of {buffer.stage}, accumulators of a warp are used one by one;\nreorder, so that all reduction loops "
                f"but the innermost are outside of the loops over its tiles"
            )


def _at(frame: Frame, element: int) -> Frame:
    """The frame at an element of the tile, counted row by row."""
    names = lanes_of(frame.nest)
    assert names is not None
    turn, lane = divmod(element, LANES)
    return replace(frame, values={**frame.values, names[1]: number(lane)}).open(names[0], number(turn))


def _apart(where: str, first: Load, other: Load) -> int:
    """How many elements lie between the places of two elements of a tensor."""
    assert isinstance(first.tensor, Buffer)
    gap = _place(other).add(_place(first), -1)
    if gap.terms:
        raise ScheduleError(
            f"{where}: how far apart the elements of {first.tensor.stage} lie changes on the way"
        )
    return gap.const


def _place(load: Load) -> Linear:
    assert isinstance(load.tensor, Buffer)
    return linear(simplify(flat(load.tensor, load.indices)))


def _check_whole(where: str, frame: Frame, made: Stmt) -> None:
    """All threads of a warp do all of a tile."""
    if any(isinstance(s, If) for s in walk_statements(made)):
        raise ScheduleError(
            f"{where}: a tile of {frame.nest.name} hangs over, and {_name(frame)!r} computes whole ones;\n"
            "compute it in shared memory, at a loop over blocks: its last part is moved inside; pad a reduction, and its copies"
        )


def _name(frame: Frame) -> str:
    assert frame.nest.tensor is not None
    return frame.nest.tensor[1]

"""Features of whole candidates, computed for many fillings of one structure at once, and a first guess of their time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from loopwright.autotune.features.nestshape import (
    Access,
    Array,
    NestShape,
    Size,
    access_of,
    least,
    most,
    product,
    write_of,
)
from loopwright.autotune.features.stagecost import SIDE_BY_SIDE, StageCost, stage_cost
from loopwright.sched import dtypes
from loopwright.sched.language.expr import loads
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.prepare import Definition, definitions
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.prepacked import roots_in_calls
from loopwright.sched.scheduling.roots import root_of
from loopwright.sched.scheduling.threads import THREADS, bound_axes

Sizes = Mapping[str, Mapping[str, Size]]

# Beside the stage with the most work, so many of the others are looked at one by one.
SIDES = (1, 2, 3)
OF_SIDE = ("time", "fetch", "lanes", "chains", "tails", "inner_reduction")
NAMES = (
    "estimate", "compute", "fetch", "move1", "move2", "move3",
    "lanes", "vectors", "chains", "chains_per_register", "unrolled", "fetch_per_operation", "tile_bytes", "tile_per_l1",
    "traffic1", "traffic2", "traffic3", "waste", "gathers", "parallel", "imbalance",
    "outer0", "outer1", "outer2", "inner_reduction",
    "stages", "inner_stages", "side_points", "side_lanes", "serial_side", "side_estimate",
    "tails", "all_operations", "all_fetches", "all_code",
    *(f"{feature}_{nth}" for nth in SIDES for feature in OF_SIDE),
    "threads", "shared_bytes",
)  # fmt: skip
# Of these the logarithm to base 2 is given.
_LOGARITHMIC = {
    "estimate", "compute", "fetch", "move1", "move2", "move3", "lanes", "unrolled", "tile_bytes",
    "traffic1", "traffic2", "traffic3", "parallel", "outer0", "outer1", "outer2", "inner_reduction",
    "side_points", "side_estimate", "all_operations", "all_fetches", "all_code", "threads", "shared_bytes",
    *(f"{feature}_{nth}" for nth in SIDES for feature in ("time", "fetch", "lanes", "inner_reduction")),
}  # fmt: skip
# Of these, those that grow with the workload: counts and times. A search compares them per point, whatever the shape.
_GROWING = {
    "estimate", "compute", "fetch", "move1", "move2", "move3", "side_points", "all_operations", "all_fetches",
    *(f"{feature}_{nth}" for nth in SIDES for feature in ("time", "fetch")),
}  # fmt: skip
GROWING = [nth for nth, name in enumerate(NAMES) if name in _GROWING]
LOGARITHMS = [nth for nth, name in enumerate(NAMES) if name in _LOGARITHMIC]
# What is said of a stage that there is not.
NO_SIDE: list[Size] = [1, 1, 1, 0, 0, 1]


@dataclass(frozen=True)
class Numbers:
    """In what candidates of one structure differ.

    Attributes:
        factors: of splits, for each stage: outer loop -> an array over candidates.
        extents: of axes, where they are not the same for all: stage -> axis -> an array.
        steps: how many times as far a step along such an axis goes as in the structure: stage -> axis -> an array.
    """

    factors: Sizes = field(default_factory=dict)
    extents: Sizes = field(default_factory=dict)
    steps: Sizes = field(default_factory=dict)


@dataclass
class Placed:
    """A stage with its loops as arrays, its accesses, and the parallel iterations around it."""

    shape: NestShape
    definition: Definition
    accesses: list[Access]
    cost: StageCost
    around: Size
    inner: bool

    @property
    def parallel(self) -> Size:
        """The parallel iterations it is shared out over."""
        return most(self.cost.parallel, self.around)


@dataclass(frozen=True)
class Structure:
    """What all candidates have in common that differ only in the factors of splits: the nests, and what each stage accesses."""

    nests: Nests
    definitions: Mapping[str, Definition]
    accesses: Mapping[str, list[Access]]

    @classmethod
    def of(cls, nests: Nests) -> Structure:
        """Look at nests once, for all candidates of this structure."""
        called = roots_in_calls(nests)
        found = {name: d for name, d in definitions(nests).items() if root_of(nests, name) in called}
        accesses = {
            name: [
                *(
                    access_of(load, _is_packed(nests, load.tensor.name))
                    for expr in definition.exprs
                    for load in loads(expr)
                ),
                write_of(definition.stage),
            ]
            for name, definition in found.items()
        }
        return cls(nests, found, accesses)


def place_all(structure: Structure, numbers: Numbers, target: Target) -> list[Placed]:
    """Every stage that has loops, consumers before producers, with its cost."""
    stages, found = structure.nests.stages, structure.definitions
    placed: dict[str, Placed] = {}
    for nest in reversed(list(stages.values())):
        if nest.name in found and nest.place.kind != "after":
            _place(nest.name, structure, numbers, placed, target)
    for nest in stages.values():
        if nest.name in found and nest.place.kind == "after":
            _place(nest.name, structure, numbers, placed, target)
    return list(placed.values())


def _place(
    name: str, structure: Structure, numbers: Numbers, placed: dict[str, Placed], target: Target
) -> None:
    nests = structure.nests
    nest, definition = nests.stages[name], structure.definitions[name]
    domain: dict[str, Size] = {
        axis.name: known(size) for axis, size in zip(definition.axes, definition.run, strict=True)
    }
    domain |= {axis.name: known(axis.extent) for axis in definition.stage.reduce_axes}
    own = numbers.extents.get(name, {})
    domain |= {axis: own[axis] for axis in domain if axis in own}
    needed = product(domain[axis.name] for axis in definition.stage.axes)
    runs: Size = 1.0
    around: Size = 1.0
    place = nests.place_of(name)
    host = placed.get(place.stage) if place.kind in ("at", "after") else None
    if host is not None:
        names = [loop.name for loop in host.shape.nest.loops]
        cut = names.index(place.loop) + 1
        last = nests.last(nests.head(name))
        # What is shared is there for all threads of a block, once.
        mates = set(bound_axes(host.shape.nest, THREADS).values()) if nest.scope == "shared" else set()
        region = _region(host, last, frozenset(names[cut:]) | mates, produced=place.kind == "after")
        dims = zip(definition.stage.dims, region, strict=True) if region else ()
        domain |= {axis.name: size for axis, size in dims if axis is not None}
        runs = host.shape.product([loop for loop in names[:cut] if loop not in mates]) * host.cost.runs
        outer = [loop.name for loop in host.shape.nest.loops[:cut] if loop.kind in SIDE_BY_SIDE]
        around = host.shape.product(outer) if outer else host.around
    shape = NestShape(nest, numbers.factors.get(name, {}), domain)
    accesses = [_sized(access, name, structure, numbers) for access in structure.accesses[name]]
    cost = stage_cost(shape, definition, accesses, needed, runs, target)
    placed[name] = Placed(shape, definition, accesses, cost, around, host is not None)


def _sized(access: Access, stage: str, structure: Structure, numbers: Numbers) -> Access:
    """An access of a stage, with the shape that its tensor has, and the steps that it makes, in each candidate."""
    steps, extents = numbers.steps.get(stage), numbers.extents.get(access.tensor)
    dims, shape = access.dims, access.shape
    if steps:
        dims = tuple(tuple((a, s * steps[a.name] if a.name in steps else s) for a, s in dim) for dim in dims)
    if extents and access.tensor in structure.definitions:
        axes = structure.definitions[access.tensor].axes
        shape = tuple(extents.get(axis.name, size) for axis, size in zip(axes, shape, strict=True))
    return replace(access, dims=dims, shape=shape) if steps or extents else access


def _is_packed(nests: Nests, tensor: str) -> bool:
    nest = nests.stages.get(tensor)
    return nest is not None and (nest.layout is not None or nest.place.kind == "at")


def _region(host: Placed, name: str, inside: frozenset[str], produced: bool) -> list[Size]:
    """How much of each axis of stage ``name`` is computed inside a loop of its host."""
    if produced:
        return host.shape.covered(host.accesses[-1], inside)
    sizes: list[Size] | None = None
    for access in host.accesses[:-1]:
        if access.tensor == name:
            more = host.shape.covered(access, inside)
            sizes = more if sizes is None else [most(a, b) for a, b in zip(sizes, more, strict=True)]
    return sizes or []


def features(structure: Structure, numbers: Numbers, target: Target, count: int) -> Array:
    """A row of :data:`NAMES` for each of ``count`` candidates of one structure.

    ``estimate`` is log2 of the cycles a simple machine model expects; it ranks candidates before anything is measured.
    """
    stages = place_all(structure, numbers, target)
    # The stage with the most iterations is the main one, and that can be another one for other numbers.
    iterations = np.array([np.broadcast_to(p.cost.points * p.cost.runs, (count,)) for p in stages])
    orders, which = np.unique(np.argsort(-iterations, axis=0, kind="stable"), axis=1, return_inverse=True)
    rows = np.empty((count, len(NAMES)), np.float32)
    for nth, order in enumerate(orders.T):
        mine = which.reshape(-1) == nth
        rows[mine] = _rows([stages[n] for n in order], target, count)[mine]
    return rows


def _rows(stages: Sequence[Placed], target: Target, count: int) -> Array:
    """The features, of the main stage and of others in order."""
    main, *sides = stages
    times = [_time(p, target) for p in stages]
    total = sum(time[0] for time in times)
    c, own = main.cost, times[0]
    work = c.operations * c.runs
    spatial = [main.shape.extent[loop.name] for loop in main.shape.nest.loops if not loop.reduce][:3]
    spatial += [1] * (3 - len(spatial))
    side_points = sum(p.cost.points * p.cost.runs for p in sides)
    columns = [
        total, *own[1:],
        c.lanes, c.vectors, c.chains, c.chains / target.registers, c.unrolled,
        c.fetches * c.runs / work, c.tile_bytes, c.tile_bytes / target.l1,
        *(t * c.runs / work for t in c.traffic),
        c.waste, c.gathers, main.parallel, imbalance(main.parallel, target.cores),
        *spatial, _inner_reduction(main),
        len(stages), sum(p.inner for p in stages),
        side_points + 1, _least([p.cost.lanes for p in sides]),
        sum(1 * (p.parallel <= 1) for p in sides),
        sum(time[0] for time in times[1:]) / total + 1e-6,
        main.shape.tails,
        sum(p.cost.operations * p.cost.runs for p in stages),
        sum(p.cost.fetches * p.cost.runs for p in stages),
        sum(_code(p) for p in stages),
    ]  # fmt: skip
    for nth in SIDES:
        columns += _of_side(stages[nth], times[nth]) if nth < len(stages) else NO_SIDE
    columns += [c.threads, 1 + sum(_shared_bytes(p) for p in stages)]
    rows = np.empty((count, len(NAMES)))
    for nth, column in enumerate(columns):
        rows[:, nth] = column
    rows[:, LOGARITHMS] = np.log2(np.maximum(rows[:, LOGARITHMS], 1e-9))
    return rows


def _of_side(placed: Placed, time: tuple[Size, ...]) -> list[Size]:
    """What is said of a stage beside the main one: :data:`OF_SIDE`."""
    c = placed.cost
    return [time[0], time[2], c.lanes, c.chains, placed.shape.tails, _inner_reduction(placed)]


def _shared_bytes(placed: Placed) -> Size:
    """What a stage takes of the memory that the threads of a block share."""
    nest = placed.shape.nest
    if nest.scope != "shared":
        return 0
    elements = placed.shape.product([loop.name for loop in nest.loops if not loop.reduce])
    return elements * sum(dtypes.itemsize(dtype) for dtype in nest.stage.dtypes)


def _inner_reduction(placed: Placed) -> Size:
    reducing = [placed.shape.extent[loop.name] for loop in placed.shape.nest.loops if loop.reduce]
    return reducing[-1] if reducing else 1


def _code(placed: Placed) -> Size:
    """Copies of the body: unrolling makes them, and each tail doubles them."""
    return placed.cost.unrolled * 2.0**placed.shape.tails


def imbalance(parallel: Size, cores: int) -> Size:
    """How much longer ``parallel`` equal pieces take on ``cores`` cores than if they could be shared out evenly.

    Example:
        >>> imbalance(np.array([1, 2, 3, 8]), 2).tolist()
        [2.0, 1.0, 1.3333333333333333, 1.0]
    """
    pieces = most(parallel, 1)
    return -(-pieces // cores) * cores / pieces


def _time(placed: Placed, target: Target) -> tuple[Size, ...]:
    """Cycles of a stage on all cores: in all; arithmetic; loads; bytes into L1, L2, L3."""
    c = placed.cost
    reduces = bool(placed.definition.stage.reduce_axes)
    # Two additions can start in each cycle and each takes four: fewer than eight in flight leave units idle.
    busy = np.minimum(c.chains / 8.0, 1.0) if reduces else 1.0
    spilled = np.maximum(c.chains - (target.registers - 3), 0) * 0.25 if reduces else 0.0
    compute = c.operations * c.runs / 2.0 / np.maximum(busy, 1e-3) * (1.0 + spilled)
    fetch = (c.fetches + c.stores) * c.runs / 2.0
    moves = [t * c.runs / rate for t, rate in zip(c.traffic, (32.0, 12.0, 4.0), strict=True)]
    # Copies of the body beyond what the instruction cache takes.
    bloat = 1.0 + np.maximum(_code(placed) - 256, 0) / 512.0
    cycles = np.maximum(compute, fetch) * bloat + 0.5 * (moves[0] + moves[1]) + moves[2]
    share = imbalance(placed.parallel, target.cores) / target.cores
    return cycles * share, compute, fetch, *moves


def _least(values: list[Size]) -> Size:
    return reduce(least, values) if values else 0.0

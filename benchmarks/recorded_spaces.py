"""The spaces that ``record_cache`` records and ``search_quality`` searches: four operators, and other shapes of each.

They are the operators' automatic spaces, made to hold some thousands of points. Where they hold more, knobs keep only some of
their values (:func:`thinned`); where they hold fewer, stages that share a knob get knobs of their own (:func:`parted`), or
the rule goes that keeps a tile's sums within the registers (:func:`spilling`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loopwright import ops
from loopwright.autotune.search.random import RandomSearch
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import Point, SearchSpace, Sketch
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
Changed = Callable[[Sequence[Sketch], Target], Sequence[Sketch]]
# Points of a thinned space at most; how many of them are recorded at most, and how many of each other shape.
MOST_POINTS, POINTS, OTHER_POINTS = 4_500, 3_300, 240
# Sums of a tile, in registers, for each that there is.
MOST_SUMS = 2
# Combinations that are looked at together; of more than so many the legal ones are estimated from as many at random.
CHUNK = 1 << 15


@dataclass(frozen=True)
class Space:
    """An operator's shapes, the first of which is searched, and what is changed in its automatic space."""

    shapes: tuple[Workload, ...]
    changed: Changed = lambda found, _: found


def spaces() -> dict[str, Space]:
    """The spaces by name."""
    convs = ((56, 64, 64), (28, 128, 128), (14, 256, 256), (56, 32, 96))
    depths = ((112, 64), (56, 128), (28, 256), (14, 480))
    rows = ((128, 1000), (512, 512), (64, 4096), (1024, 128))
    heads = ((12, 128, 64), (16, 64, 64), (8, 256, 32), (4, 196, 96))
    window = {"R": 3, "S": 3, "padding": 1}
    return {
        "conv": Space(tuple(ops.conv2d(N=1, H=h, W=h, C=c, K=k, **window) for h, c, k in convs)),
        "depthwise": Space(
            tuple(ops.depthwise_conv2d(N=1, H=h, W=h, C=c, **window) for h, c in depths), spilling
        ),
        "softmax": Space(tuple(ops.softmax(M=m, N=n) for m, n in rows), parted),
        "attention": Space(tuple(ops.attention(B=1, H=h, M=m, N=m, D=d) for h, m, d in heads)),
    }


def recorded(space: Space, number: int, target: Target) -> tuple[tuple[Sketch, ...], list[Point]]:
    """What is recorded of a shape: the sketches with knobs, and their points in the order of recording, a random one.

    Of the first shape these are of the thinned space, of the others of the whole.
    """
    found = tuple(
        sketch for sketch in space.changed(sketches(space.shapes[number], target), target) if sketch.knobs
    )
    if number:
        return found, RandomSearch(SearchSpace(found, target)).propose(OTHER_POINTS)
    found = thinned(found)
    points = list(legal_points(found))
    order = np.random.default_rng(0).permutation(len(points))
    return found, [points[n] for n in order[:POINTS]]


def thinned(found: Sequence[Sketch], most: int = MOST_POINTS) -> tuple[Sketch, ...]:
    """Keep fewer values of knobs, until at most so many points are left.

    Whichever knob has the most values keeps one fewer, the first of equals: spread evenly over all, the sketches' seeds among
    them.
    """
    whole: dict[str, tuple[Any, ...]] = {}
    for sketch in found:
        whole.update(sketch.knobs)
    seeds = {(name, value) for sketch in found for seed in sketch.seeds for name, value in seed.items()}
    counts = {name: len(values) for name, values in whole.items()}
    while True:
        kept = {
            name: spread([n for n, v in enumerate(values) if (name, v) in seeds], len(values), counts[name])
            for name, values in whole.items()
        }
        thin = tuple(
            with_values(sketch, {k: [v[n] for n in kept[k]] for k, v in sketch.knobs.items()})
            for sketch in found
        )
        if sum(map(legal_size, thin)) <= most:
            return thin
        counts[max(counts, key=lambda name: counts[name])] -= 1


def spread(wanted: Sequence[int], size: int, count: int) -> list[int]:
    """``count`` of ``size`` positions, evenly, with the nearest ones moved to those that are wanted.

    Example:
        >>> spread([5], 9, 3)
        [0, 5, 8]
    """
    found = {int(n) for n in np.linspace(0, size - 1, count).round()}
    for position in [n for n in wanted if n not in found][:count]:
        found.discard(min(found - set(wanted), key=lambda n: abs(n - position)))
        found.add(position)
    return sorted(found)


def with_values(sketch: Sketch, values: Mapping[str, Sequence[Any]]) -> Sketch:
    """The sketch, its knobs with other values."""
    data = json.loads(sketch.schedule.to_json())
    return replace(
        sketch,
        schedule=Schedule.from_json(
            sketch.schedule.work, json.dumps({**data, "knobs": {k: list(values[k]) for k in data["knobs"]}})
        ),
    )


def legal_size(sketch: Sketch) -> float:
    """How many points obey the rules, nearly."""
    if sketch.size <= CHUNK:
        return sum(1 for _ in legal_points([sketch]))
    drawn = np.random.default_rng(0).random((CHUNK, len(sketch.sizes))) * np.array(sketch.sizes)
    return float(sketch.allowed(drawn.astype(np.int64)).mean() * sketch.size)


def legal_points(found: Sequence[Sketch]) -> Iterator[Point]:
    """All points that obey the rules, however many there are."""
    for number, sketch in enumerate(found):
        choices = itertools.product(*(range(size) for size in sketch.sizes))
        while chunk := list(itertools.islice(choices, CHUNK)):
            good = sketch.allowed(np.array(chunk, np.int64).reshape(len(chunk), len(sketch.sizes)))
            yield from (Point(number, choice) for choice, ok in zip(chunk, good, strict=True) if ok)


def parted(found: Sequence[Sketch], _: Target) -> tuple[Sketch, ...]:
    """Sketches whose every split has a knob of its own, called after its loop."""
    return tuple(_parted(sketch) for sketch in found)


def _parted(sketch: Sketch) -> Sketch:
    data = json.loads(sketch.schedule.to_json())
    old, knobs, origin = data["knobs"], {}, {}
    for _, args in data["directives"]:
        if isinstance(args.get("factor"), dict):
            name = args["factor"]["knob"]
            args["factor"]["knob"] = own = f"{args['loop']}:{name.rpartition('.')[2]}"
            knobs[own], origin[own] = old[name], name
    seeds = tuple({own: seed[name] for own, name in origin.items()} for seed in sketch.seeds)
    text = json.dumps({**data, "knobs": knobs})
    return replace(sketch, schedule=Schedule.from_json(sketch.schedule.work, text), seeds=seeds)


def spilling(found: Sequence[Sketch], target: Target) -> tuple[Sketch, ...]:
    """Sketches of tiles of neighbours, with any tile of up to so many registers' sums."""
    lanes = target.vector_bytes // 4

    def rule(values: Mapping[str, Array]) -> Array:
        return -(-values["Y.lanes"] // lanes) * values["Y.near"] <= MOST_SUMS * target.registers

    return tuple(replace(sketch, rules=(rule,)) if sketch.knobs else sketch for sketch in found)

"""Kernels under the roofs of their machine: how fast each computes, for how many operations it has a byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopwright.autotune.report.chart import Axis, Plot, Point, Series
from loopwright.autotune.report.tuned import Tuned
from loopwright.autotune.roofline import LEVELS, MEMORY, Roofs, computed_in

GIGA = 1e9
MOST_NUMBERS = 20
"""More kernels are not told apart by numbers beside them."""


def rooflines(tuned: Sequence[Tuned]) -> list[Plot]:
    """A chart for each machine whose limits are known, with every kernel that computes anything."""
    groups: dict[tuple[str, str], list[Tuned]] = {}
    for one in tuned:
        if one.roofs is not None and one.rate is not None and one.demand is not None and one.demand.bytes:
            first = one.history.first
            groups.setdefault((first.device, one.history.target), []).append(one)
    return [_roofline(nth, members) for nth, members in enumerate(groups.values())]


def _roofline(nth: int, tuned: Sequence[Tuned]) -> Plot:
    roofs = tuned[0].roofs
    assert roofs is not None
    best = [(t, _place(t, t.best)) for t in tuned]
    default = [(t, _place(t, t.default)) for t in tuned if t.default]
    xs = [x for _, (x, _) in best]
    ys = [y for _, (_, y) in best + default]
    left, right = min(*xs, _ridge(roofs) / 7) / 3, max(*xs, 2 * _ridge(roofs)) * 3
    bottom, top = min(ys) / 2, 1.6 * max(*ys, *(f / GIGA for f in roofs.flops.values()))
    ends = {t.number: place for t, place in default}
    rises = [point for t, place in best if t.number in ends for point in (ends[t.number], place)]
    numbered = best if len(best) <= MOST_NUMBERS else []
    numbers = tuple(str(t.number) for t, _ in numbered)
    series = [
        *_roof_lines(roofs, tuned, (left, right), bottom),
        Series("guide", "segments", tuple(rises)),
        Series("default", "rings", tuple(place for _, place in default), "default schedule", _names(default)),
        Series("best", "dots", tuple(place for _, place in best), "best schedule", _names(best)),
        Series("number", "text", tuple(place for _, place in numbered), names=numbers),
    ]
    return Plot(
        "roofline" if not nth else f"roofline-{nth + 1}",
        f"Roofline of {tuned[0].history.target}",
        Axis("operations for each byte of inputs and outputs", log=True, range=(left, right)),
        Axis("GFLOP/s, all cores", log=True, range=(bottom, top)),
        tuple(s for s in series if s.points),
        "; ".join(_names(best)),
        _remark(roofs, bool(numbered)),
    )


def _remark(roofs: Roofs, numbered: bool) -> str:
    text = f"Limits: {roofs.source}."
    if numbered:
        text += " Numbers are those of the table."
    if not roofs.capacity:
        text += " Kernels whose data fit a cache may go beyond the limit of memory."
    return text


def _place(tuned: Tuned, seconds: float | None) -> Point:
    assert tuned.demand is not None and seconds
    return tuned.demand.intensity, tuned.demand.operations / seconds / GIGA


def _names(places: Sequence[tuple[Tuned, Point]]) -> tuple[str, ...]:
    return tuple(f"{t.number} {t.label}: {rate:.3g} GFLOP/s" for t, (_, rate) in places)


def _ridge(roofs: Roofs) -> float:
    """The least intensity with which a kernel whose data lie in memory can compute at full speed."""
    flops, bandwidth = max(roofs.flops.values(), default=0.0), roofs.bandwidth.get(MEMORY)
    return flops / bandwidth if bandwidth else 1.0


def _roof_lines(
    roofs: Roofs, tuned: Sequence[Tuned], across: tuple[float, float], bottom: float
) -> Iterator[Series]:
    """The slopes of the places where these kernels' data lie, and the ceilings of the types that they compute in."""
    left, right = across
    demands = [(t.demand, t.history.first.cold) for t in tuned if t.demand is not None]
    levels = {MEMORY, *(roofs.level(demand.bytes, cold) for demand, cold in demands)}
    dtypes = {computed_in(demand.dtype) for demand, _ in demands}
    ceilings = {dtype: flops / GIGA for dtype, flops in roofs.flops.items() if dtype in dtypes}
    highest = max(ceilings.values(), default=None)
    slopes = {
        level: roofs.bandwidth[level] / GIGA for level in LEVELS if level in levels & roofs.bandwidth.keys()
    }
    for level, bandwidth in slopes.items():
        start = max(left, bottom / bandwidth)
        end = right if highest is None else min(right, highest / bandwidth)
        if start < end:
            line = ((start, start * bandwidth), (end, end * bandwidth))
            yield Series("roof", "line", line, names=(f"{level} {bandwidth:.3g} GB/s",))
    steepest = max(slopes.values(), default=None)
    for dtype, height in ceilings.items():
        start = left if steepest is None else max(left, height / steepest)
        line = ((start, height), (right, height))
        yield Series("roof", "line", line, names=(f"{dtype} {height:.3g} GFLOP/s",))

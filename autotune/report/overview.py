"""The charts of a whole log: what all its workloads gained, where the time went, how good the model was, what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import exp, log

from loopwright.autotune.report.chart import Axis, Bar, Bars, Chart, Plot, Series
from loopwright.autotune.report.charts import (
    failures,
    quality_of,
    quality_plot,
    thinned,
    time_axis,
    trial_axis,
)
from loopwright.autotune.report.history import Trial
from loopwright.autotune.report.rooflines import rooflines
from loopwright.autotune.report.tuned import Tuned

MOST_ROWS = 24
"""Of more workloads, the chart of shares sums up those that took least time."""


def overview(tuned: Sequence[Tuned]) -> list[Chart]:
    """Every chart that the log has the data for. What a single workload's own section shows is not repeated."""
    if len(tuned) == 1:
        return [*rooflines(tuned)]
    found: list[Chart] = [*_gains(tuned), *rooflines(tuned)]
    found += [chart for chart in (_quality(tuned), _failures(tuned)) if chart is not None]
    return [*found, _shares(tuned)]


def _gains(tuned: Sequence[Tuned]) -> Iterator[Plot]:
    """The mean gain of all workloads, against trials and against time."""
    steps = list(_mean_gains(tuned))
    if not steps:
        return
    last = _last(tuned)
    others = sum(1 for t in tuned if t.best and not t.default)
    remark = (
        f"{others} of the workloads count from their first verified time: the default's is not known."
        if others
        else ""
    )
    yield _gain_plot("trials", trial_axis(last.place), steps, last, lambda trial: float(trial.place), remark)
    if last.clock > 0:
        axis, scale = time_axis(last.clock)
        yield _gain_plot("time", axis, steps, last, lambda trial: trial.clock * scale, remark)


def _last(tuned: Sequence[Tuned]) -> Trial:
    """The last trial of the log."""
    return max((t.history.trials[-1] for t in tuned), key=lambda trial: trial.place)


def _mean_gains(tuned: Sequence[Tuned]) -> Iterator[tuple[Trial, float]]:
    """Each trial that improved a workload, with the geometric mean of all gains by then."""
    starts = {t.number: t.history.start for t in tuned}
    gains = {number: 0.0 for number, start in starts.items() if start is not None}  # logarithms
    improved = [(trial, seconds, t.number) for t in tuned for trial, seconds in t.history.best_so_far()]
    for trial, seconds, number in sorted(improved, key=lambda step: step[0].place):
        start = starts[number]
        assert start is not None
        gains[number] = max(0.0, log(start / seconds))
        yield trial, exp(sum(gains.values()) / len(gains))


def _gain_plot(
    what: str,
    axis: Axis,
    steps: Sequence[tuple[Trial, float]],
    last: Trial,
    place: Callable[[Trial], float],
    remark: str,
) -> Plot:
    points = tuple((place(trial), gain) for trial, gain in steps)
    ends = Axis(axis.label, range=(0.0, place(last)))
    return Plot(
        f"gain-against-{what}",
        f"Gain of all workloads against {what}",
        ends,
        Axis("default time / best time, geometric mean", range=(1.0, max(1.05, points[-1][1]))),
        (Series("best", "steps", ((0.0, 1.0), *points)),),
        f"from 1 to {points[-1][1]:.2f} in {last.place} trials",
        remark,
    )


def _quality(tuned: Sequence[Tuned]) -> Plot | None:
    found = [quality_of(t.history, lambda trial: float(trial.place)) for t in tuned]
    ranked, recalled = (sorted(point for pair in found for point in pair[side]) for side in (0, 1))
    axis = trial_axis(_last(tuned).place, "trial, all workloads")
    return quality_plot(thinned(ranked), thinned(recalled), axis) if len(ranked) >= 2 else None


def _failures(tuned: Sequence[Tuned]) -> Bars | None:
    counts: Counter[str] = sum((t.history.failures for t in tuned), Counter())
    return failures(counts) if counts else None


def _shares(tuned: Sequence[Tuned]) -> Bars:
    """What part of the trials and of the time each workload took, and what it gained."""
    parts = [(_named(t), len(t.history.trials), t.history.seconds) for t in tuned]
    if len(parts) > MOST_ROWS:
        parts.sort(key=lambda part: -part[2])
        rest = parts[MOST_ROWS - 1 :]
        parts[MOST_ROWS - 1 :] = [(f"{len(rest)} others", sum(p[1] for p in rest), sum(p[2] for p in rest))]
    trials, seconds = sum(part[1] for part in parts), sum(part[2] for part in parts)
    shares = [(name, own / trials, took / seconds if seconds else None) for name, own, took in parts]
    most = max(share for _, *both in shares for share in both if share is not None)
    legend = (("whole", "share of the trials"), ("time", "share of the time"))
    return Bars(
        "shares",
        "Where the trials and the time went",
        tuple((name, tuple(_bars(both, most))) for name, *both in shares),
        legend if seconds else legend[:1],
        wide=True,
    )


def _named(tuned: Tuned) -> str:
    return f"{tuned.label}, gain {tuned.gain:.2f}" if tuned.gain else tuned.label


def _bars(shares: Sequence[float | None], most: float) -> Iterator[Bar]:
    for kind, share in zip(("whole", "time"), shares, strict=True):
        if share is not None:
            yield Bar(kind, share / most, f"{share:.0%}" if share >= 0.095 else f"{share:.1%}")

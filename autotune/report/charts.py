"""The charts of one workload's history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import floor

from loopwright.autotune.front import cost_of, front, timed
from loopwright.autotune.lookup import seconds_text
from loopwright.autotune.record import Record
from loopwright.autotune.report.chart import Axis, Bar, Bars, Chart, Plot, Point, Series
from loopwright.autotune.report.history import History, Trial
from loopwright.autotune.report.ranks import places, rank_correlation

MOST_DOTS = 600
"""More would make the page heavy, and hide one another."""

SHORT = 180.0
"""Seconds up to which an axis of time counts seconds, beyond it minutes."""

FEW = 8
"""So many of the best of a batch the cost model should have among its own best."""


def charts_of(history: History) -> list[Chart]:
    """Every chart that the history has the data for."""
    found: list[Chart] = []
    if any(trial.record.ok for trial in history.trials):
        found.append(
            _progress(history, "trials", trial_axis(len(history.trials)), lambda trial: float(trial.number))
        )
        if history.seconds > 0:
            axis, scale = time_axis(history.seconds)
            found.append(_progress(history, "time", axis, lambda trial: trial.seconds * scale))
        others = (_predictions(history), _quality(history), _memory(history))
        found += [chart for chart in others if chart is not None]
    if history.failures:
        found.append(failures(history.failures))
    return found


def trial_axis(count: int, label: str = "trial") -> Axis:
    """An axis for the numbers of ``count`` trials."""
    return Axis(label, range=(0.0, float(max(5, count))))


def time_axis(longest: float) -> tuple[Axis, float]:
    """An axis for times of tuning up to ``longest`` seconds, and what seconds are multiplied by."""
    if longest > SHORT:
        return Axis("minutes of tuning"), 1 / 60
    return Axis("seconds of tuning"), 1.0


def failures(counts: Counter[str]) -> Bars:
    """How many trials failed, by cause."""
    most = max(counts.values())
    rows = tuple((cause, (Bar("failed", count / most, str(count)),)) for cause, count in counts.most_common())
    return Bars("failures", "Failed trials by cause", rows)


def _progress(history: History, what: str, axis: Axis, place: Callable[[Trial], float]) -> Plot:
    """Times of all good trials, the best so far as a line, and failures as strokes on the axis."""
    good = [t for t in history.trials if t.record.ok]
    times = [time for t in good for time in (t.record.seconds, t.record.screen) if time]
    unit, scale = unit_for(times)
    whole = [(place(t), t.record.seconds * scale) for t in good if t.record.seconds]
    single = [(place(t), t.record.screen * scale) for t in good if t.record.screen]
    steps = history.best_so_far()
    best = [(place(t), seconds * scale) for t, seconds in steps]
    failed = [(place(t), 0.0) for t in history.trials if not t.record.ok]
    summary = f"{len(history.trials)} trials, {len(failed)} of them failed"
    if steps:
        summary += f"; the best time fell from {seconds_text(steps[0][1])} to {seconds_text(steps[-1][1])}"
    default = history.default
    lines = [Series("best", "steps", tuple(best), "best so far")]
    if default is not None and default.seconds:
        ends = (
            (place(history.trials[0]), default.seconds * scale),
            (place(history.trials[-1]), default.seconds * scale),
        )
        lines.insert(0, Series("default", "line", ends, "default schedule"))
    series = [
        Series("single", "dots", thinned(single), "a trial, one core"),
        Series("whole", "dots", thinned(whole), "a trial, all cores"),
        *lines,
        Series("failed", "strokes", thinned(failed), "a failed trial"),
    ]
    return Plot(
        f"best-against-{what}",
        f"Best time against {what}",
        axis,
        Axis(f"time of a call, {unit}", log=True),
        tuple(s for s in series if s.points),
        summary,
    )


def _predictions(history: History) -> Plot | None:
    """Where the cost model had placed each trial in its batch, and where it came in; None if the log does not say."""
    pairs: list[Point] = []
    for batch in history.batches():
        ranked = _ranked(batch)
        if len(ranked) >= 3:
            expected, came = places([-p for p, _ in ranked]), places([-m for _, m in ranked])
            pairs += zip(expected, came, strict=True)
    correlation = rank_correlation(pairs)
    if correlation is None:
        return None
    words = f"rank correlation {correlation:.2f}, {len(pairs)} trials"
    whole = (0.0, 1.0)
    return Plot(
        "predicted-and-measured",
        "Predicted and measured",
        Axis("predicted place in the batch, 0 is fastest", range=whole),
        Axis("measured place", range=whole),
        (
            Series("guide", "line", ((0.0, 0.0), (1.0, 1.0)), "as predicted"),
            Series("whole", "dots", thinned(pairs), "a trial"),
        ),
        words,
        f"{words[0].upper()}{words[1:]}. The model ranks the trials of a batch before they are measured; it predicts no times.",
    )


def _quality(history: History) -> Plot | None:
    """How well the cost model had ranked each batch before it was measured; None if the log does not say."""
    ranked, recalled = quality_of(history, lambda trial: float(trial.number))
    axis = trial_axis(len(history.trials))
    return quality_plot(ranked, recalled, axis) if len(ranked) >= 2 else None


def quality_of(history: History, place: Callable[[Trial], float]) -> tuple[list[Point], list[Point]]:
    """For each batch, at its end, the rank correlation of predicted and measured, and the recall of the best few."""
    ranked: list[Point] = []
    recalled: list[Point] = []
    for batch in history.batches():
        pairs, last = _ranked(batch), place(batch[-1])
        correlation = rank_correlation(pairs)
        if correlation is not None:
            ranked.append((last, correlation))
        if len(pairs) > FEW:
            best, chosen = (
                {n for n, _ in sorted(enumerate(pairs), key=lambda item: -item[1][side])[:FEW]}
                for side in (1, 0)
            )
            recalled.append((last, len(best & chosen) / FEW))
    return ranked, recalled


def quality_plot(ranked: Sequence[Point], recalled: Sequence[Point], axis: Axis) -> Plot:
    """The quality of the cost model over the course of tuning."""
    least = floor(5 * min(0.0, *(y for _, y in ranked))) / 5
    middle = sorted(y for _, y in ranked)[len(ranked) // 2]
    series = [
        Series("best", "dots", tuple(ranked), "rank correlation"),
        Series("time", "rings", tuple(recalled), f"share of the best {FEW} among its {FEW} best"),
    ]
    return Plot(
        "model-quality",
        "Quality of the cost model",
        axis,
        Axis("on each batch, before it was measured", range=(least, 1.0)),
        tuple(s for s in series if s.points),
        f"rank correlation on {len(ranked)} batches, {middle:.2f} in the middle",
    )


def _ranked(batch: Sequence[Trial]) -> list[Point]:
    """What was predicted of the trials of a batch, and how fast they were on one core: the more, the faster, of both.

    With another objective than time something else was predicted.
    """
    return [
        (trial.record.predicted, -trial.record.screen)
        for trial in batch
        if trial.record.predicted is not None and trial.record.screen and trial.record.objective == "time"
    ]


def _memory(history: History) -> Plot | None:
    """Time against memory, and what no other schedule beats in both; None where all take the same, or the log does not say."""
    records = [r for r in timed(t.record for t in history.trials) if r.peak_bytes is not None]
    sizes = {record.peak_bytes or 0 for record in records}
    if len(sizes) < 2:
        return None
    name, bytes_each = ("MiB", 1 << 20) if max(sizes) >= 1 << 20 else ("KiB", 1 << 10)
    unit, scale = unit_for([record.seconds or 0.0 for record in records])

    def points(some: Sequence[Record]) -> tuple[Point, ...]:
        return tuple((size / bytes_each, seconds * scale) for seconds, size in map(cost_of, some))

    best = front(records, cost_of)
    return Plot(
        "time-and-memory",
        "Time and memory",
        Axis(f"memory beside the arguments, {name}"),
        Axis(f"time of a call, {unit}", log=True),
        (
            Series("whole", "dots", thinned(points(records)), "a trial, all cores"),
            Series("time", "rings", points(best), "no other is better in both"),
        ),
        f"of {len(records)} schedules, {len(best)} are beaten by no other in both",
    )


def unit_for(seconds: Sequence[float]) -> tuple[str, float]:
    """The unit in which the least of some times is at least one, and how many of it are a second."""
    least = min(seconds)
    return next(
        ((unit, scale) for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)) if least * scale >= 1),
        ("ns", 1e9),
    )


def thinned(points: Sequence[Point]) -> tuple[Point, ...]:
    """At most :data:`MOST_DOTS` of them, evenly."""
    return tuple(points[:: max(1, -(-len(points) // MOST_DOTS))])

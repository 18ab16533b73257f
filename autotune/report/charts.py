"""The charts of one workload's history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loopwright.autotune.report.history import History, Trial, rank_correlation
from loopwright.autotune.report.svg import Plot, Point, bars

MOST_DOTS = 800
"""More would make the page heavy, and hide one another."""

SHORT_MINUTES = 3.0
FEW = 8
"""So many of the best of a batch the cost model should have among its own best."""


@dataclass(frozen=True)
class Chart:
    """A drawing, its heading, and what its colours mean: (class, words)."""

    heading: str
    svg: str
    legend: tuple[tuple[str, str], ...] = ()
    remark: str = ""


def charts_of(history: History) -> list[Chart]:
    """Every chart that the history has the data for."""
    found: list[Chart] = []
    if any(trial.record.ok for trial in history.trials):
        found.append(_progress(history, "against trials", "trial", lambda trial: float(trial.number)))
        if history.minutes > SHORT_MINUTES:
            found.append(_progress(history, "against time", "minutes of tuning", lambda trial: trial.minutes))
        elif history.minutes > 0:
            found.append(
                _progress(history, "against time", "seconds of tuning", lambda trial: 60 * trial.minutes)
            )
        found += [chart for chart in (_predictions(history), _quality(history)) if chart is not None]
    if history.failures:
        svg = bars("Failed trials by cause", history.failures.most_common())
        found.append(Chart("Failures by cause", svg))
    return found


def _progress(history: History, heading: str, x_label: str, place: Callable[[Trial], float]) -> Chart:
    """Times of all good trials, the best so far as a line, and failures as strokes on the axis."""
    whole = [(place(t), t.record.seconds) for t in history.trials if t.record.ok and t.record.seconds]
    single = [(place(t), t.record.screen) for t in history.trials if t.record.ok and t.record.screen]
    failed = [place(t) for t in history.trials if not t.record.ok]
    unit, scale = _unit([y for _, y in whole + single])
    scaled = [[(x, y * scale) for x, y in points] for points in (whole, single)]
    plot = Plot(
        f"Best time so far {heading}",
        [place(t) for t in history.trials],
        [y for points in scaled for _, y in points],
        x_label=x_label,
        y_label=f"time of a call, {unit}",
        y_log=True,
    )
    plot.dots(_thinned(scaled[1]), "single")
    plot.dots(_thinned(scaled[0]), "whole")
    plot.steps([(place(t), seconds * scale) for t, seconds in history.best_so_far()], "best")
    plot.marks(failed[:: max(1, len(failed) // MOST_DOTS)], "failed")
    legend = [("best", "best so far"), ("whole", "a trial, all cores"), ("single", "a trial, one core")]
    legend += [("failed", "a failed trial")]
    shown = {"best": whole, "whole": whole, "single": single, "failed": failed}
    return Chart(f"Best time {heading}", str(plot), tuple(item for item in legend if shown[item[0]]))


def _predictions(history: History) -> Chart | None:
    """What the cost model expected of trials against what they took; None if the log does not say."""
    pairs: list[Point] = []
    for trial in history.trials:
        time = trial.record.screen or trial.record.seconds
        if trial.record.ok and trial.record.predicted is not None and time:
            pairs.append((trial.record.predicted, time))
    if len(pairs) < 3:
        return None
    unit, scale = _unit([time for _, time in pairs])
    points = [(score, time * scale) for score, time in pairs]
    plot = Plot(
        "Measured time against the model's prediction",
        [score for score, _ in points],
        [time for _, time in points],
        x_label="predicted score (more is faster)",
        y_label=f"measured, {unit}",
        y_log=True,
    )
    plot.dots(_thinned(points), "whole")
    correlation = rank_correlation([(score, -time) for score, time in pairs])
    remark = f"rank correlation {correlation:.2f}, {len(pairs)} trials" if correlation is not None else ""
    return Chart("Predicted and measured", str(plot), (), remark)


def _quality(history: History) -> Chart | None:
    """How well the cost model had ranked each batch before it was measured; None if the log does not say."""
    ranked: list[Point] = []
    recalled: list[Point] = []
    for batch in history.batches():
        pairs = [
            (trial.record.predicted, -trial.record.screen)
            for trial in batch
            if trial.record.predicted is not None and trial.record.screen
        ]
        correlation, last = rank_correlation(pairs), float(batch[-1].number)
        if correlation is not None:
            ranked.append((last, correlation))
        if len(pairs) > FEW:
            best, chosen = (
                {n for n, _ in sorted(enumerate(pairs), key=lambda item: -item[1][side])[:FEW]}
                for side in (1, 0)
            )
            recalled.append((last, len(best & chosen) / FEW))
    if len(ranked) < 2:
        return None
    plot = Plot(
        "Quality of the cost model",
        [x for x, _ in ranked],
        [0.0, 1.0, *(y for _, y in ranked)],
        x_label="trial",
        y_label="on each batch, before it was measured",
    )
    plot.steps(ranked, "best")
    plot.dots(recalled, "whole", radius=3)
    legend = [("best", "rank correlation")] + [
        ("whole", f"share of the best {FEW} it had among its {FEW} best")
    ] * bool(recalled)
    return Chart("Quality of the cost model", str(plot), tuple(legend))


def _unit(seconds: Sequence[float]) -> tuple[str, float]:
    least = min(seconds)
    return next(
        ((unit, scale) for unit, scale in (("s", 1.0), ("ms", 1e3)) if least * scale >= 1), ("us", 1e6)
    )


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    return points[:: max(1, -(-len(points) // MOST_DOTS))]

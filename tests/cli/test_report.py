"""The report on a tuning log: what it shows, and that it stands alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from loopwright import ops
from loopwright.autotune.report.chart import Bars, Plot
from loopwright.autotune.report.charts import charts_of
from loopwright.autotune.report.contents import contents
from loopwright.autotune.report.history import histories
from loopwright.autotune.report.ranks import rank_correlation
from loopwright.autotune.report.scale import Scale
from loopwright.autotune.report.svg import svg
from loopwright.autotune.roofline import Roofs
from loopwright.sched.errors import LogError
from tests.cli.reports import WORK, failure, one_workload, record, render, two_workloads


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return one_workload(tmp_path / "tuned.jsonl")


class Structure(HTMLParser):
    """Checks that every tag that is opened is closed, in order."""

    VOID = frozenset(("meta", "line", "circle", "rect", "path", "br"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(html: str) -> Structure:
    structure = Structure()
    structure.feed(html)
    assert not structure.open
    return structure


def addresses(structure: Structure) -> Iterator[str]:
    for _, attributes in structure.seen:
        for name in ("src", "href"):
            if attributes.get(name):
                yield str(attributes[name])


def test_it_is_one_whole_file_that_needs_nothing_else(log: Path) -> None:
    html = render(log)
    assert all(address.startswith("#") for address in addresses(parsed(html)))
    assert not re.search(r"https?://|@import|url\(", html)


def test_it_shows_progress_failures_predictions_and_the_winner(log: Path) -> None:
    html = render(log, WORK)
    for words in (
        "Best time against trials",
        "Best time against time",
        "Failed trials by cause",
        "run-timeout",
    ):
        assert words in html
    assert "Predicted and measured" in html
    assert "Rank correlation 1.00" in html
    assert (
        "trial 19 of the automatic space, 50 us, its best samples within 0.3%" in html
    )  # the winner, by the number in its record
    assert "parallel" in html
    assert "stopped &amp; ended" in html


def test_without_the_workload_the_directives_are_shown(log: Path) -> None:
    html = render(log)
    assert "split(" in html
    assert "&#39;io&#39;" in html


def test_another_workload_of_the_same_name_is_not_taken_for_it(log: Path) -> None:
    assert "Loop nest" not in render(log, ops.matmul(M=8, N=8, K=8))


def test_text_from_the_log_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "evil.jsonl"
    evil = "<script>alert(1)</script>"
    path.write_bytes(record(0, name=evil, device=evil).to_line() + failure(1, "run-crash", evil).to_line())
    assert evil not in render(path)


def test_a_log_in_which_everything_failed(tmp_path: Path) -> None:
    path = tmp_path / "failed.jsonl"
    path.write_bytes(failure(0, "compile-error", "no").to_line())
    html = render(path)
    assert "No trial was verified" in html
    parsed(html)


def test_one_trial_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(record(0, time="").to_line())
    html = render(path)
    parsed(html)
    assert "Best time against trials" in html


def test_many_workloads_are_folded(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(record(0, workload=f"{n:064x}", args={"M": n}).to_line() for n in range(30)))
    structure = parsed(render(path))
    opened = [attrs for tag, attrs in structure.seen if tag == "details" and "open" in attrs]
    assert len(opened) < 10


def test_an_empty_log_and_a_foreign_file_are_refused(tmp_path: Path) -> None:
    empty, foreign = tmp_path / "empty.jsonl", tmp_path / "foreign.txt"
    empty.touch()
    foreign.write_text("hello\n")
    with pytest.raises(LogError, match="has no records yet"):
        render(empty)
    with pytest.raises(LogError, match="is not a tuning log"):
        render(foreign)


def test_an_interruption_is_not_tuning_time() -> None:
    found = histories(
        [
            record(0),
            record(30),
            record(31, time="2026-01-02T00:00:00+00:00"),
            record(32, time="2026-01-02T00:00:30+00:00"),
        ]
    )
    assert [t.seconds for t in found[0].trials] == [0.0, 30.0, 30.0, 60.0]


def test_rank_correlation_of_ties() -> None:
    assert rank_correlation([(1, 1), (1, 1), (1, 2)]) is None
    assert rank_correlation([(1, 1), (2, 2), (2, 3), (3, 4)]) == pytest.approx(0.948683)


@pytest.mark.parametrize(
    "values", [[1e-6], [3.0, 3.1], [0.001, 5000.0], [7.0, 7.0], [99.0, 101.0], [2e-9, 8e-9]]
)
@pytest.mark.parametrize("log", [True, False])
def test_every_axis_has_labels_inside_it(values: list[float], log: bool) -> None:
    scale = Scale.around(values, 0, 100, log=log)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 12
    assert all(0 <= scale.place(tick) <= 100 for tick in ticks)
    assert all(0 <= scale.place(value) <= 100 for value in values)


def test_it_shows_how_well_each_batch_was_predicted() -> None:
    """The times fall as the predictions rise: every batch was ranked as it should be."""
    (history,) = histories([record(n) for n in range(30)])
    assert [len(batch) for batch in history.batches()] == [10, 10, 10]
    (chart,) = [chart for chart in charts_of(history) if chart.name == "model-quality"]
    assert isinstance(chart, Plot)
    assert [s.words for s in chart.series] == ["rank correlation", "share of the best 8 among its 8 best"]
    assert [s.points for s in chart.series] == [((10.0, 1.0), (20.0, 1.0), (30.0, 1.0))] * 2
    assert svg(chart).count("<circle") == 6
    (unknown,) = histories([record(n, batch=None, predicted=None) for n in range(30)])
    assert "model-quality" not in [chart.name for chart in charts_of(unknown)]


def test_time_against_memory_where_it_differs() -> None:
    costs = [(4e-3, 1 << 20), (2e-3, 3 << 19), (1e-3, 1 << 21), (3e-3, 1 << 21)]
    (history,) = histories([record(n, seconds=s, peak_bytes=size) for n, (s, size) in enumerate(costs)])
    (chart,) = [chart for chart in charts_of(history) if chart.name == "time-and-memory"]
    assert isinstance(chart, Plot)
    assert chart.x.label.endswith("MiB")
    assert chart.series[1].points == ((2.0, 1.0), (1.5, 2.0), (1.0, 4.0))
    (same,) = histories([record(n, peak_bytes=4096) for n in range(9)])
    assert "time-and-memory" not in [chart.name for chart in charts_of(same)]


def test_finalists_are_written_last_and_cost_no_time() -> None:
    """They are timed while the rest of the batch is, and their records end up behind it."""
    (history,) = histories([record(0), record(10), record(4), record(12), record(6), record(20)])
    assert [t.seconds for t in history.trials] == [0.0, 10.0, 10.0, 12.0, 12.0, 20.0]


def test_time_belongs_to_the_workload_it_was_spent_on() -> None:
    other = {"workload": "1" * 64, "name": "other"}
    found = histories([record(0), record(5, **other), record(9), record(10, **other)])
    assert [(h.label[:6], h.seconds) for h in found] == [("matmul", 4.0), ("other(", 6.0)]
    assert [[(t.place, t.clock) for t in h.trials] for h in found] == [[(1, 0), (3, 9)], [(2, 5), (4, 10)]]


def cells(html: str, number: int) -> dict[str, str]:
    """The cells of a row of the summary, by their names."""
    row = re.findall(r'<tr role="row"><th role="rowheader".*?</tr>', html, re.DOTALL)[number - 1]
    return dict(re.findall(r'data-name="(.+?)">(.*?)</td>', row))


def test_the_summary(tmp_path: Path) -> None:
    """matmul(64, 48, 32) is 196,608 operations on 26,624 bytes: under these limits, 98 us of memory traffic at least."""
    roofs = Roofs({"float32": 1e12}, {"memory": 26624 / 0.25e-3}, source="made up")
    html = render(two_workloads(tmp_path / "two.jsonl"), WORK, roofs)
    row = cells(html, 1)
    assert (row["default"], row["best"], row["gain"]) == ("4 ms", "1 ms", "4.00")
    assert (row["GFLOP/s"], row["of roof"]) == ("0.197", "25%")
    assert (row["trials"], row["failed"], row["tuning"]) == ("2", "0", "1 s")
    assert cells(html, 2) | {"trials": "2", "failed": "2"} == cells(html, 2)
    assert cells(html, 2)["best"] == "-"
    assert "2 workloads tuned in 3 s: 4 trials; 2 failed. The best schedules are 4.00 times as fast" in html
    assert "Limits: made up." in html


def test_the_whole_log_has_charts_of_its_own(tmp_path: Path) -> None:
    found = contents(
        two_workloads(tmp_path / "two.jsonl"), lambda record: WORK, lambda record: Roofs({}, {"memory": 1e9})
    )
    charts = {chart.name: chart for chart in found.overview}
    assert list(charts) == ["gain-against-trials", "gain-against-time", "roofline", "failures", "shares"]
    gains = charts["gain-against-trials"]
    assert isinstance(gains, Plot)
    assert gains.series[0].points == ((0.0, 1.0), (1.0, 1.0), (2.0, 4.0))
    shares = charts["shares"]
    assert isinstance(shares, Bars)
    (name, bars), other = shares.rows
    assert name.startswith("matmul(M=64") and name.endswith(", gain 4.00")
    assert [bar.text for bar in bars] == ["50%", "33%"]
    assert other[0].startswith("other(N=")
    assert [bar.text for bar in other[1]] == ["50%", "67%"]


def test_a_default_that_was_timed_on_one_core_only_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    records = [record(0, seconds=None, screen=3e-3), record(1, chosen={"tile": 8}, seconds=1e-3, screen=2e-3)]
    path.write_bytes(b"".join(r.to_line() for r in records))
    html = render(path)
    assert cells(html, 1)["gain"] == "1.50*"
    assert "* on one core" in html


def test_a_log_of_before_batches_were_noted(tmp_path: Path) -> None:
    """Its lines lack the newer fields."""
    path = tmp_path / "old.jsonl"
    newer = ("code", "batch", "predicted", "features", "cold", "spread", "peak_bytes", "objective")
    lines = [json.loads(record(n).to_line()) for n in range(12)]
    path.write_text(
        "".join(json.dumps({k: v for k, v in line.items() if k not in newer}) + "\n" for line in lines)
    )
    html = render(path, WORK)
    parsed(html)
    assert "Best time against trials" in html
    assert "Predicted and measured" not in html


def test_it_needs_no_script_and_every_chart_says_what_it_shows(log: Path) -> None:
    structure = parsed(render(log, WORK))
    pictures = [attributes for tag, attributes in structure.seen if tag == "svg"]
    assert all(a.get("aria-label") or a.get("aria-hidden") for a in pictures)
    assert "script" not in {tag for tag, _ in structure.seen}
    ids = [a["id"] for _, a in structure.seen if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a[1:] for a in addresses(structure)} <= set(ids)

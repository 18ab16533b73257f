"""The report on a tuning log: what it shows, and that it stands alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from loopwright import ops
from loopwright.autotune.record import Record
from loopwright.autotune.report.charts import charts_of
from loopwright.autotune.report.history import histories, rank_correlation
from loopwright.autotune.report.page import render
from loopwright.autotune.report.scale import Scale
from loopwright.sched.errors import LogError

WORK = ops.matmul(M=64, N=48, K=32)
SCHEDULE = WORK.schedule().split("C.i", ("io", "ii"), 8).parallel("C.io")


def record(trial: int, **other: Any) -> Record:
    values: dict[str, Any] = {
        "workload": WORK.key,
        "target": {"kind": "cpu", "mcpu": "znver3", "cores": 2},
        "status": "ok",
        "seconds": 1e-3 / (1 + trial),
        "screen": 2e-3 / (1 + trial),
        "verified": True,
        "schedule": SCHEDULE.to_json(),
        "names": WORK.names,
        "name": WORK.name,
        "args": WORK.args,
        "time": f"2026-01-01T00:{trial // 60:02d}:{trial % 60:02d}+00:00",
        "trial": trial,
        "predicted": trial / 10,
        "batch": trial // 10,
    }
    return Record(**{**values, **other})


def failure(trial: int, cause: str, message: str = "") -> Record:
    nothing = {"seconds": None, "screen": None, "verified": False, "schedule": None}
    return record(trial, status="error", cause=cause, message=message, **nothing)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    records = [record(n) for n in range(20)]
    records += [
        failure(20, "run-timeout", "stopped <after> 1 s"),
        failure(21, "run-timeout", "stopped & ended"),
    ]
    path = tmp_path / "tuned.jsonl"
    path.write_bytes(b"".join(r.to_line() for r in records))
    return path


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
    html = render(log, lambda record: WORK)
    for words in ("Best time against trials", "Best time against time", "Failures by cause", "run-timeout"):
        assert words in html
    assert "Predicted and measured" in html
    assert "rank correlation 1.00" in html
    assert "trial 19, 50 us" in html  # the winner, by the number in its record
    assert "parallel" in html
    assert "stopped &amp; ended" in html


def test_without_the_workload_the_directives_are_shown(log: Path) -> None:
    html = render(log)
    assert "split(" in html
    assert "&#39;io&#39;" in html


def test_another_workload_of_the_same_name_is_not_taken_for_it(log: Path) -> None:
    assert render(log, lambda record: ops.matmul(M=8, N=8, K=8)).count("as code") == 0


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
    assert [t.minutes for t in found[0].trials] == [0.0, 0.5, 0.5, 1.0]


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
    (chart,) = [chart for chart in charts_of(history) if chart.heading == "Quality of the cost model"]
    assert [words for _, words in chart.legend] == [
        "rank correlation",
        "share of the best 8 it had among its 8 best",
    ]
    assert chart.svg.count("<circle") == 3
    (unknown,) = histories([record(n, batch=None, predicted=None) for n in range(30)])
    assert "Quality of the cost model" not in [chart.heading for chart in charts_of(unknown)]

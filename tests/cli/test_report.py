"""The report on a tuning log: what it shows, and that it stands alone."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from loopwright import ops
from loopwright.autotune.measure import kept_peaks
from loopwright.autotune.measure.hosts import device_name
from loopwright.autotune.record import Record
from loopwright.autotune.report.chart import Bars, Plot
from loopwright.autotune.report.charts import charts_of
from loopwright.autotune.report.contents import contents
from loopwright.autotune.report.history import histories
from loopwright.autotune.report.page import page
from loopwright.autotune.report.png import save_all
from loopwright.autotune.report.ranks import rank_correlation
from loopwright.autotune.report.scale import Scale
from loopwright.autotune.report.svg import svg
from loopwright.autotune.roofline import Roofs
from loopwright.cli import main
from loopwright.sched.errors import LogError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target

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
        "spread": 0.0031,
    }
    return Record(**{**values, **other})


def failure(trial: int, cause: str, message: str = "", **other: Any) -> Record:
    nothing = {"seconds": None, "screen": None, "verified": False, "schedule": None}
    return record(trial, status="error", cause=cause, message=message, **{**nothing, **other})


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


def render(path: Path, work: Workload | None = None, roofs: Roofs | None = None) -> str:
    """The page of a log of which one workload's formula is known, and perhaps the machine's limits."""
    return page(contents(path, lambda record: work, lambda record: roofs or "not known"))


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


def test_what_else_was_searched_for_is_said(tmp_path: Path) -> None:
    """What was predicted by another objective is no prediction of times."""
    path = tmp_path / "both.jsonl"
    sizes = [0, 100, 9000, 9000]
    records = [record(n, peak_bytes=size, objective="both") for n, size in enumerate(sizes)]
    path.write_bytes(b"".join(one.to_line() for one in records))
    html = render(path)
    assert "trial 3 of the automatic space, 250 us, " in html
    assert "8.79 KiB of memory; searched for both: " in html
    assert "the front has 3, the smallest at most twice as slow takes 500 us with 100 B of memory" in html
    assert "Predicted and measured" not in html


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


def two_workloads(path: Path) -> Path:
    """The default schedule (the first trial, without knobs) takes 4 ms and then 1 ms; of another, three fail."""
    records = [record(0, seconds=4e-3), record(1, chosen={"tile": 8}, seconds=1e-3)]
    other = {"workload": "1" * 64, "name": "other", "args": {"N": r"$\frac$" * 20}}
    records += [failure(2, "run-crash", "SIGSEGV", **other), failure(3, "wrong-result", **other)]
    path.write_bytes(b"".join(r.to_line() for r in records))
    return path


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


def test_the_charts_alone_as_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = two_workloads(tmp_path / "two.jsonl")
    roofs = Roofs({"float32": 1e12}, {"memory": 1e9, "L2": 1e11}, {"L2": 1 << 20})
    files = save_all(contents(path, lambda record: WORK, lambda record: roofs), tmp_path / "made" / "here")
    assert sorted(file.name for file in files) == sorted(
        p.name for p in (tmp_path / "made" / "here").iterdir()
    )
    assert {
        "all-roofline.png",
        "all-shares.png",
        "01-matmul-best-against-trials.png",
        "02-other-failures.png",
    } < {file.name for file in files}
    for file in files:
        header = file.read_bytes()[:24]
        assert header.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", header[16:24])
        assert width > 600
        assert height > 200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say what to write"),
        (["--png", "LOG"], "is a file"),
        (["--png", "LOG/x"], "cannot be written: Not a directory"),
        (["-o", "x.html", "--peak-gflops", "0"], "0 is no positive number"),
        (["-o", "x.html", "--peak-gflops", "nan"], "nan is no positive number"),
        (["-o", "x.html", "--bandwidth-gbs", "fast"], "fast is no positive number"),
        (["-o", "x.html", "--bandwidth-gbs", "inf"], "inf is no positive number"),
        (["-o", "x.html", "--peak-gflops", "9", "--bandwidth-gbs", "9", "--measure"], "nothing to --measure"),
        (["-o", "x.html", "--measure"], "the log is of a machine it does not name, and this is"),
        (["-o", "x.html", "--operator", "nosuch.py:f"], "nosuch.py does not exist"),
    ],
)
def test_bad_options_are_refused(
    words: list[str],
    message: str,
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert main(["report", str(log), *(word.replace("LOG", str(log)) for word in words)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


def test_limits_of_one_machine_are_no_limits_of_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.jsonl"
    path.write_bytes(
        record(0, device="one").to_line() + record(0, device="other", target={"kind": "cpu"}).to_line()
    )
    assert main(["report", str(path), "-o", str(tmp_path / "x.html"), "--peak-gflops", "100"]) == 2
    assert (
        "the log is of several machines or targets, and --peak-gflops is the limit of one"
        in capsys.readouterr().err
    )


def test_limits_as_given(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    assert main(["report", str(log), "-o", str(out), "--peak-gflops", "100", "--bandwidth-gbs", "20"]) == 0
    html = out.read_text()
    assert "float32 100 GFLOP/s" in html
    assert "memory 20 GB/s" in html
    assert "Limits: --peak-gflops and --bandwidth-gbs as given." in html
    assert "matmul(M=64, N=48, K=32)</a>" in html  # the other arguments are as usual


def test_limits_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Target, bool]] = []

    def peaks(target: Target, again: bool) -> Roofs:
        asked.append((target, again))
        return Roofs({"float32": 1e11}, {"memory": 1e10}, {"L1": 1}, "measured here")

    monkeypatch.setattr(kept_peaks, "peaks", peaks)
    log, out = tmp_path / "log.jsonl", tmp_path / "x.html"
    one = {"kind": "cpu", "mcpu": "some", "cores": 1, "features": []}
    log.write_bytes(record(0, target=one, device=device_name()).to_line())
    said = {"": "measured here", "--measure": "measured here", "--no-measure": "they were not to be measured"}
    for option, words in said.items():
        assert main(["report", str(log), "-o", str(out), *option.split()]) == 0
        assert words in out.read_text()
    assert asked == [(Target.from_json(one), False), (Target.from_json(one), True)]
    assert main(["report", str(log), "-o", str(out), "--peak-gflops", "70"]) == 0
    assert "--peak-gflops as given; the rest measured here" in out.read_text()
    log.write_bytes(record(0, target={**one, "cores": 4096}, device=device_name()).to_line())
    assert main(["report", str(log), "-o", str(out), "--measure"]) == 2
    assert "--measure: the log is of" in capsys.readouterr().err


def test_pictures_without_matplotlib(log: Path, tmp_path: Path) -> None:
    program = "import sys; sys.modules['matplotlib'] = None\nfrom loopwright.cli import main\nsys.exit(main(sys.argv[1:]))"
    words = [
        sys.executable,
        "-c",
        program,
        "report",
        str(log),
        "--png",
        str(tmp_path / "charts"),
        "--no-measure",
    ]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: this needs the package matplotlib: pip install 'loopwright[plot]'\n"
    assert not (tmp_path / "charts").exists()

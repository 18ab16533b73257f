"""The suite beside other libraries: its rows and bars, what its times say, what it keeps. Nothing is tuned here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import t as student

import loopwright as lw
from benchmarks.operators import blur, harris, unsharp
from benchmarks.suite.checks import wrong
from benchmarks.suite.cli import suite
from benchmarks.suite.contest import Contest, Settings
from benchmarks.suite.intervals import STUDENT, ratio_interval
from benchmarks.suite.inventory import ways
from benchmarks.suite.page import page
from benchmarks.suite.peers import formulas
from benchmarks.suite.plot import save
from benchmarks.suite.results import (
    OtherSettings,
    Results,
    best_library,
    judged,
    measured,
    ratio,
    share_of_limit,
)
from benchmarks.suite.run import Suite
from benchmarks.suite.table import BEST, ROWS, NothingMatches, Row, choose

# Each row and its bar over the best library, as they were promised: none is dropped, none is lowered.
PROMISED = {
    "gemm 1024": 1.03,
    "gemm 512": 1.03,
    "gemm 2048": 1.03,
    "gemm 128x3072x768 constant B": 1.0,
    "gemm 128x768x3072 constant B": 1.0,
    "gemm 1009": 1.0,
    "batched 12x128x128x64": 1.1,
    "matrix-vector 1x1000x2048": 1.0,
    "int8 gemm 1024 prepacked": 1.0,
    "int8 gemm 1024": 0.97,
    "bfloat16 gemm 1024 prepacked": 1.0,
    "bfloat16 gemm 1024": 0.97,
    "conv 1x1 28x28 512-128 NHWC": 1.03,
    "conv 7x7/2 224 NHWC": 1.0,
    "conv 3x3/2 28x28x256 NHWC": 0.97,
    "conv 3x3 56x56x64 NHWC": 1.0,
    "conv 1x1 28x28 512-128 NCHW": 0.97,
    "conv 7x7/2 224 NCHW": 0.97,
    "conv 3x3/2 28x28x256 NCHW": 0.97,
    "conv 3x3 56x56x64 NCHW": 0.97,
    "depthwise 3x3 112x112x32 NHWC": 1.8,
    "depthwise 3x3 112x112x32 NCHW": 1.25,
    "depthwise 5x5 14x14x480 NHWC": 2.2,
    "depthwise 5x5 14x14x480 NCHW": 1.2,
    "conv1d 64x1024 k5": 1.15,
    "conv3d 16-32 16^3": 1.5,
    "transposed 64-32 k4 s2": 1.3,
    "dilated 3x3 28x28x256": 1.0,
    "grouped 3x3 56x56x128": 1.0,
    "softmax 128x1000": 1.2,
    "layer norm 128x768": 2.0,
    "rms norm 128x768": 2.8,
    "row sum 1024x1000": 1.1,
    "column sum 1024x1000": 1.2,
    "argmax 1024x1000": 1.8,
    "gelu(x+bias) 512x3072": 1.8,
    "add+relu 4M": 1.5,
    "transpose 2048": 1.6,
    "attention 12x128x64": 1.05,
    "attention causal 12x512x64": 1.05,
    "blur uint16 1536x2560": 1.0,
    "unsharp 1536x2560": 0.97,
    "harris 1536x2560": 0.95,
}
SOFTMAX = next(row for row in ROWS if row.name == "softmax 128x1000")
MACHINE = "a processor, 2 cores"


def test_every_row_is_there_with_its_bar() -> None:
    assert {row.name: row.least for row in ROWS} == PROMISED
    assert len(ROWS) == len(PROMISED)


def test_the_other_bars() -> None:
    others = {row.name: {bar.over: bar.least for bar in row.bars if bar.over != BEST} for row in ROWS}
    narrow = {name for name in PROMISED if name.startswith(("int8", "bfloat16", "blur"))}
    assert {name for name, bars in others.items() if "metaschedule" not in bars} == narrow
    images = {name for name, bars in others.items() if bars.get("halide-auto") == 1.4}
    assert images == {"blur uint16 1536x2560", "unsharp 1536x2560", "harris 1536x2560"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_a_default_schedule(row: Row) -> None:
    work = row.work()
    assert lw.default_schedule(work).work.key == work.key
    floats = work.inputs[0].dtype == "float32"
    assert row.float32 is floats
    known = (
        "prepacked" in row.name or "constant" in row.name or row.kind in ("conv", "depthwise", "transposed")
    )
    assert [stage.name in ("B", "W") for stage in work.inputs if stage.weight] == [True] * known


@pytest.mark.parametrize(
    ("operator", "border", "dtype"), [(blur, 2, "uint16"), (unsharp, 6, "float32"), (harris, 4, "float32")]
)
def test_the_images_are_what_the_peers_compute(
    operator: Any, border: int, dtype: str, rng: np.random.Generator
) -> None:
    planes = () if dtype == "uint16" else (3,)
    image = (rng.random((*planes, 9 + border, 21 + border)) * 100 + 1).astype(dtype)
    kernel = lw.build(operator(H=9, W=21))
    got, want = kernel(image), getattr(formulas, operator.name)(image)
    assert wrong(got, want, dtype, 0.0) is None


def test_a_pattern_is_a_part_of_a_name_or_like_a_shells() -> None:
    assert [row.name for row in choose(["ATTENTION"])] == [
        "attention 12x128x64",
        "attention causal 12x512x64",
    ]
    assert [row.name for row in choose(["rms*", "layer*"])] == ["layer norm 128x768", "rms norm 128x768"]
    assert choose([]) == list(ROWS)
    with pytest.raises(NothingMatches, match=r"no row matches 'sofmax'; there are\n  gemm 1024"):
        choose(["softmax", "sofmax"])


def test_students_t() -> None:
    assert np.allclose(STUDENT, student.ppf(0.975, np.arange(1, len(STUDENT) + 1)), atol=6e-4)


def test_an_interval_of_made_up_runs() -> None:
    equal = ratio_interval([3.0] * 5, [2.0] * 5)
    assert (equal.low, equal.middle, equal.high) == pytest.approx((1.5, 1.5, 1.5))
    # What slows a whole run down does not count.
    assert ratio_interval([3.0, 6.0, 30.0], [2.0, 4.0, 20.0]).high == pytest.approx(1.5)
    theirs, ours = [2.0, 2.2, 1.8, 2.1, 1.9], [1.0, 1.0, 1.1, 0.9, 1.0]
    found, turned = ratio_interval(theirs, ours), ratio_interval(ours, theirs)
    logs = np.log(np.array(theirs) / ours)
    reach = student.ppf(0.975, 4) * logs.std(ddof=1) / np.sqrt(5)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.exp(logs.mean() + np.array((-reach, reach)))), rel=1e-3
    )
    assert (1 / turned.high, 1 / turned.low) == pytest.approx((found.low, found.high))
    assert found.reaches(found.high) and not found.reaches(found.high * 1.001)
    with pytest.raises(ValueError, match="two runs"):
        ratio_interval([1.0], [1.0])


def test_what_is_wrong_is_said() -> None:
    want = np.linspace(-1, 1, 5, dtype="f")
    assert wrong(want + np.float32(1e-5), want, "float32", 0.0) is None
    assert wrong(want + np.float32(1e-2), want, "bfloat16", 0.0) is None
    assert wrong(want + np.float32(1e-2), want, "float32", 0.0) == "5 of 5 elements are off, by up to 0.01"
    assert wrong(np.full(5, np.nan, "f"), want, "float32", 0.0) is not None
    places = np.arange(5, dtype="int32")
    assert wrong(places.astype("int64"), places, "float32", 0.0) is None
    assert wrong(places + 1, places, "float32", 0.0) is not None
    assert wrong(places + 1, places, "uint16", 1.0) is None


def contest(**runs: list[float]) -> Contest:
    names = {"ours": "loopwright", "ms": "metaschedule"}
    times = {names.get(name, name): [t * 1e-6 for t in found] for name, found in runs.items()}
    least = {name: min(found) for name, found in times.items()}
    facts = {"torch": {"way": "softmax"}, "opencv": {}, "halide": {"failed": "it crashed"}}
    return Contest(times, least, facts, [40e-6] * 3, [0.02, 0.3, 0.2], "L2 bandwidth")


def entry(**runs: list[float]) -> dict[str, Any]:
    return measured(contest(**runs), {}, {"torch": "2.4", "numpy": "2.0"}, "ways", "2026-01-02")


def test_bars_are_judged_by_intervals() -> None:
    found = entry(
        ours=[80.0, 80.0, 80.0],
        torch=[100.0, 98.0, 102.0],
        numpy=[300.0, 300.0, 300.0],
        ms=[70.0, 70.0, 70.0],
    )
    assert best_library(found) == "torch"
    assert share_of_limit(found) == pytest.approx(0.5)
    verdicts = {
        bar.over: over is not None and over.reaches(bar.least) for bar, over in judged(SOFTMAX, found)
    }
    assert verdicts == {BEST: True, "metaschedule": False}
    assert ratio(found, "halide-auto") is None


def test_steps_are_kept_and_done_once(tmp_path: Path) -> None:
    out, done = tmp_path / "new" / "results.json", {"trials": 3}
    Results(out, MACHINE, Settings()).step(SOFTMAX, "tuned", False, lambda: done)
    again = Results(out, MACHINE, Settings())
    assert again.step(SOFTMAX, "tuned", False, lambda: pytest.fail("done twice")) == done
    assert again.step(SOFTMAX, "tuned", True, lambda: {"trials": 4}) == {"trials": 4}
    other = Results(out, "another machine", Settings())
    assert other.step(SOFTMAX, "tuned", False, lambda: {"trials": 5}) == {"trials": 5}
    assert Results(out, MACHINE, Settings()).here()["rows"][SOFTMAX.name]["tuned"] == {"trials": 4}
    with pytest.raises(OtherSettings, match="made with other settings"):
        Results(out, MACHINE, Settings(minutes=1.0))


def test_another_formula_is_measured_anew(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", MACHINE, Settings())
    results.step(SOFTMAX, "tuned", False, lambda: {"trials": 3})
    results.here()["rows"][SOFTMAX.name]["key"] = "of another formula"
    assert results.step(SOFTMAX, "tuned", False, lambda: {"trials": 4}) == {"trials": 4}


def test_libraries_that_were_far_behind_keep_their_times(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", MACHINE, Settings())
    found = entry(ours=[80.0, 80.0], torch=[100.0, 98.0], numpy=[300.0, 300.0])
    results.step(SOFTMAX, "measured", False, lambda: found)
    kept = results.far(SOFTMAX, {"torch": "2.4", "numpy": "2.0"}, "ways")
    assert list(kept) == ["numpy"]
    assert not results.far(SOFTMAX, {"torch": "2.4", "numpy": "2.1"}, "ways")
    assert not results.far(SOFTMAX, {"torch": "2.4", "numpy": "2.0"}, "more ways")
    again = contest(ours=[60.0, 60.0], torch=[100.0, 98.0])
    anew = measured(again, kept, {"torch": "2.4"}, "ways", "2026-02-03")
    assert anew["contenders"]["numpy"] == {**kept["numpy"], "kept": True}
    assert best_library(anew) == "torch"
    assert ratio(anew, "numpy") is None


def test_what_is_tuned_anew_is_measured_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def tune(row: Row, target: Any, log: Path, minutes: float) -> dict[str, Any]:
        done.append(f"tuned {log.name}")
        return {"log": str(log), "minutes": minutes}

    def measure(row: Row, *_: Any) -> Contest:
        done.append("measured")
        return contest(ours=[80.0, 80.0], torch=[100.0, 98.0])

    monkeypatch.setattr("benchmarks.suite.run.tune", tune)
    monkeypatch.setattr("benchmarks.suite.run.measure", measure)

    def run(log: str, again: bool = False) -> list[str]:
        results = Results(tmp_path / "results.json", MACHINE, Settings())
        target = lw.Target.parse("cpu")
        made = Suite(results, target, tmp_path / log, "python", {}, Settings(), (), lambda text: None)
        done.clear()
        assert best_library(made.row(SOFTMAX, again)) == "torch"
        return list(done)

    assert run("one.jsonl") == ["tuned one.jsonl", "measured"]
    assert run("one.jsonl") == []
    assert run("one.jsonl", again=True) == ["measured"]
    assert run("two.jsonl") == ["tuned two.jsonl", "measured"]
    monkeypatch.setattr("benchmarks.suite.run.ways", lambda: "one way more")
    assert run("two.jsonl") == ["measured"]
    assert run("two.jsonl") == []


def test_the_page_says_what_was_measured(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", MACHINE, Settings())
    assert "No row has been measured yet." in page(results.data)
    found = entry(ours=[80.0, 80.0, 80.0], torch=[100.0, 98.0, 102.0])
    results.step(SOFTMAX, "measured", False, lambda: found)
    results.here()["facts"] = {"machine": "a processor"}
    save(results.here(), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    text = page(results.data | {"picture": "picture.png"})
    assert (
        "| softmax 128x1000 | 80.0 | 50% | L2 bandwidth | PyTorch | 100.0 | 1.25 (1.19-1.31) | 1.2 | yes"
        " | MetaSchedule 1: not measured |  |"
    ) in text
    said = "Rows measured: 1 of 43. Bars met: 1, of these by their interval alone: 0; not met: 0; not measured: 1."
    assert said in text
    assert "Geometric mean over the best library: 1.25, of 1 of the 38 float32 rows" in text
    assert "100.0 (98.0-102.0; least 98.0)" in text
    assert "- softmax 128x1000, PyTorch: by *softmax*" in text
    assert "- softmax 128x1000, Halide, by hand: it crashed" in text
    assert "- softmax 128x1000: other programs took 20% of the machine" in text
    assert "![" in text and "(picture.png)" in text


def test_a_note_stands_where_a_bar_is_not_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = replace(SOFTMAX, note="exp takes 60% of the cycles")
    for module in ("page", "results"):
        monkeypatch.setattr(f"benchmarks.suite.{module}.ROWS", (noted,))
    results = Results(tmp_path / "results.json", MACHINE, Settings())
    for ours, shown in ((99.0, True), (80.0, False)):
        results.step(noted, "measured", True, lambda ours=ours: entry(ours=[ours] * 3, torch=[100.0] * 3))
        assert ("| 1.2 | **no** | MetaSchedule 1: not measured | exp takes" in page(results.data)) is shown
    kept = json.loads(results.path.read_text())["machines"][MACHINE]["rows"][SOFTMAX.name]
    assert kept["note"] == noted.note


def test_the_ways_of_the_peers_have_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.suite.inventory.peers.__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "torch.py").write_text("ROWS = {}")
    first = ways()
    assert ways() == first
    (tmp_path / "torch.py").write_text("ROWS = {'softmax': softmax}")
    assert ways() != first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "sofmax"], "error: no row matches 'sofmax'; there are\n  gemm 1024"),
        (["--again", "sofmax"], "error: no row matches 'sofmax'"),
        (["--only", "softmax", "--minutes", "0"], "Invalid value for '--minutes'"),
        (["--only", "softmax", "--without", "tensorflow"], "Invalid value for '--without'"),
        (["--only", "softmax", "--peers-python", "no-such-python"], "error: --peers-python no-such-python does not run"),
        (["--report", "--markdown", "no/such/page.md"], "there is no directory no/such"),
        (["--only", "softmax", "--out", "old.json"], "error: old.json was made with other settings"),
    ],
)  # fmt: skip
def test_what_is_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.json").write_text(json.dumps({"settings": {"minutes": 1.0}, "machines": {}}))
    result = CliRunner().invoke(suite, arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_a_report_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(suite, ["--report", "--markdown", "page.md"])
    assert result.exit_code == 0, result.output
    assert Path("page.md").read_text().startswith("# Beside other libraries")
    assert json.loads(Path("page.json").read_text())["machines"] == {}


def test_the_documentation_has_the_page_of_its_figures(root: Path) -> None:
    data = json.loads((root / "docs" / "benchmarks.json").read_text())
    assert (root / "docs" / "benchmarks.md").read_text() == page(data)

"""`loopwright report`: what it writes, what it refuses, and where the limits of the machine come from."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from loopwright.autotune.measure import kept_peaks
from loopwright.autotune.report.contents import contents
from loopwright.autotune.report.png import save_all
from loopwright.autotune.roofline import Roofs
from loopwright.cli import main
from loopwright.sched.runtime.hardware import processor_name
from loopwright.sched.runtime.target import Target
from tests.cli.reports import WORK, one_workload, record, two_workloads


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return one_workload(tmp_path / "tuned.jsonl")


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
    log.write_bytes(record(0, target=one, device=processor_name()).to_line())
    said = {"": "measured here", "--measure": "measured here", "--no-measure": "they were not to be measured"}
    for option, words in said.items():
        assert main(["report", str(log), "-o", str(out), *option.split()]) == 0
        assert words in out.read_text()
    assert asked == [(Target.from_json(one), False), (Target.from_json(one), True)]
    assert main(["report", str(log), "-o", str(out), "--peak-gflops", "70"]) == 0
    assert "--peak-gflops as given; the rest measured here" in out.read_text()
    log.write_bytes(record(0, target={**one, "cores": 4096}, device=processor_name()).to_line())
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

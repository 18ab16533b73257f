"""The command line as a whole: help, versions, exit statuses, and one line for every mistake."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import loopwright
from loopwright.autotune.record import Record
from loopwright.cli import main

OPERATOR = """
import loopwright as lw

@lw.operator
def scale(N: int, by: float = 2.0):
    x = lw.input("x", (N,))
    return lw.compute("y", (N,), lambda i: x[i] * by)
"""


@pytest.fixture
def operator(tmp_path: Path) -> str:
    path = tmp_path / "my_ops.py"
    path.write_text(OPERATOR)
    return f"{path}:scale"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "tuned.jsonl"
    first = Record(
        workload="1" * 64,
        target={"kind": "cpu"},
        status="ok",
        seconds=1e-3,
        verified=True,
        schedule=[],
        name="f",
    )
    second = Record(workload="1" * 64, target={"kind": "cpu"}, status="error", cause="run-timeout", name="f")
    path.write_bytes(first.to_line() + second.to_line())
    return path


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must be refused, and return what it says."""
    status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert status == 2, err
    assert not out
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


def says(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must work, and return what it says."""
    assert main([str(word) for word in words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert says(capsys, "--version") == f"loopwright {loopwright.__version__}\n"
    text = says(capsys, "--help")
    for command in ("tune", "bench", "build", "report", "log", "targets"):
        assert re.search(rf"^  {command} ", text, re.MULTILINE)
        assert "Usage: loopwright " + command in says(capsys, command, "--help")


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_it_runs_as_a_module_and_starts_without_the_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "loopwright", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"loopwright {loopwright.__version__}\n"
    assert not re.search(r"\| +(tvm|xgboost|numpy)$", done.stderr, re.MULTILINE)


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    text = says(capsys, "targets")
    assert re.search(r"^cpu: available", text, re.MULTILINE)
    assert re.search(r"^cuda: (source only|available)", text, re.MULTILINE)
    assert re.search(r"^    rpi5 +Raspberry Pi 5", text, re.MULTILINE)


def test_target_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *rest = says(capsys, "targets", "show", "rpi5").splitlines()
    assert first == "# cpu cortex-a76 (aarch64-linux-gnu), 4 cores, 16-byte vectors, caches 64K 512K 2048K"
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(rest))
    assert says(capsys, "targets", "show", path).splitlines()[0] == first
    text = says(capsys, "targets", "detect")
    says(capsys, "targets", "detect", "--out", path)
    assert path.read_text() == text
    host, again = loopwright.Target.parse("cpu"), loopwright.Target.parse(path)
    assert (again, again.caches) == (host, host.caches)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch"], "No such command 'nosuch'; see `loopwright --help`"),
        (["targets", "show", "rpi6"], "unknown target 'rpi6' (did you mean 'rpi5'?)"),
        (["targets", "show", "nosuch.toml"], "nosuch.toml: No such file"),
        (["targets", "detect", "tpu"], "'tpu' is not one of 'cpu', 'opencl', 'cuda'"),
        (["targets", "detect", "-o", "no/such.toml"], "there is no directory no"),
        (["build", "ops.relu", "X=(4,)", "--target", "zen5", "-o", "x.so"], "did you mean 'zen"),
        (["tune", "--nosuch"], "No such option"),
        (["tune", "--log", "x"], "name an OPERATOR"),
        (["tune", "nosuch.py:f", "--trials", "1", "--log", "x"], "nosuch.py does not exist"),
        (["tune", "ops.nosuch", "--trials", "1", "--log", "x"], "there is no operator 'ops.nosuch'"),
        (["tune", "ops.matmul", "M=abc", "N=1", "K=1", "--trials", "1", "--log", "x"], "M=abc"),
        (["tune", "ops.matmul", "M=1", "--trials", "1", "--log", "x"], "missing: N, K"),
        (["tune", "ops.matmul", "M=4", "N=4", "K=4", "--log", "x"], "--trials"),
        (["tune", "ops.matmul", "M=4", "N=4", "K=4", "--trials", "0", "--log", "x"], "0 is not in the range"),
        (["tune", "ops.matmul", "M=4", "N=4", "K=4", "--trials", "1"], "--log"),
        (["tune", "--workloads", "nosuch", "--trials", "1", "--log", "x"], "nosuch"),
        (["bench", "ops.matmul", "M=4", "N=4", "K=4"], "--log"),
        (
            ["bench", "ops.matmul", "M=4", "N=4", "K=4", "--log", "nosuch.jsonl"],
            "there is no tuning log nosuch.jsonl",
        ),
        (["build", "ops.matmul", "M=4", "N=4", "K=4"], "--output"),
        (
            ["build", "ops.matmul", "M=4", "N=4", "K=4", "--target", "nosuch", "-o", "x.so"],
            "unknown target 'nosuch'",
        ),
        (
            ["build", "ops.matmul", "M=4", "N=4", "K=4", "--target", "cuda", "-o", "x.so"],
            "there is no CUDA driver",
        ),
        (
            ["build", "ops.matmul", "M=4", "N=4", "K=4", "--log", "nosuch.jsonl", "-o", "x.so"],
            "no tuning log",
        ),
        (["build", "ops.matmul", "M=4", "N=4", "K=4", "-o", "nosuch/x.so"], "there is no directory nosuch"),
        (["build", "ops.relu", "X=4", "--name", "f", "-o", "x.so"], "they go with -o NAME.a"),
        (["build", "--workloads", "bert-base", "-o", "x.a"], "a set becomes one shared library"),
        (["build", "-o", "x.so"], "name an OPERATOR, or a set with --workloads"),
        (["build", "ops.relu", "X=4", "--no-threads", "-o", "x.so"], "they go with -o NAME.a"),
        (
            ["build", "ops.softmax", "M=4", "N=4", "--name", "for", "-o", "x.a"],
            "name='for' is no name for a C",
        ),
        (["report", "nosuch.jsonl", "-o", "x.html"], "there is no tuning log nosuch.jsonl"),
        (["log", "show", "nosuch.jsonl"], "there is no tuning log nosuch.jsonl"),
        (["log", "best", "-o", "x"], "Missing argument"),
        (["log", "merge", "nosuch.jsonl", "-o", "x"], "there is no tuning log nosuch.jsonl"),
    ],
)
def test_a_mistake_gets_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, *words)
    assert not list(tmp_path.iterdir()), "a refused command leaves nothing behind"


def test_a_foreign_file_is_no_log(capsys: pytest.CaptureFixture[str], tmp_path: Path, operator: str) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("dear diary\n")
    for words in (
        ["log", "show", foreign],
        ["report", foreign, "-o", tmp_path / "x.html"],
        ["bench", operator, "N=4", "--log", foreign],
        ["build", operator, "N=4", "--log", foreign, "-o", tmp_path / "x.so"],
        ["tune", operator, "N=4", "--trials", "1", "--log", foreign],
    ):
        assert "is not a tuning log" in refused(capsys, *words)
    assert foreign.read_text() == "dear diary\n"


def test_log_show_best_merge_check_and_prune(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: Path
) -> None:
    text = says(capsys, "log", "show", log)
    assert "2 records of 1 workload" in text
    assert re.search(r"f\(\) +cpu +2 +1 +1 ms +1 run-timeout", text)
    best = tmp_path / "best.jsonl"
    assert "wrote 1 record" in says(capsys, "log", "best", log, "-o", best)
    both = tmp_path / "both.jsonl"
    assert "wrote 2 records" in says(capsys, "log", "merge", log, best, "-o", both)
    assert "2 good records, 0 bad lines" in says(capsys, "log", "check", both)
    small = tmp_path / "small.jsonl"
    said = says(capsys, "log", "prune", log, "--keep", "1", "-o", small)
    assert "wrote 1 record" in said
    assert "1 record left out, which failed, or are not among the best 1 of their workload" in said


def test_log_stats(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    text = says(capsys, "log", "stats", log)
    assert re.search(r"trials +2 records of 1 workload", text)
    assert re.search(r"ran +1, of these 1 verified, 1 timed on all cores", text)
    assert "1 run-timeout: most of f() (1)" in text


def test_bad_lines_are_reported_and_kept_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: Path
) -> None:
    with log.open("ab") as file:
        file.write(b"nonsense\n")
    assert main(["log", "show", str(log)]) == 0
    out, err = capsys.readouterr()
    assert "2 records of 1 workload, and 1 bad line" in out
    assert f"{log}:3: not JSON" in err
    assert main(["log", "check", str(log)]) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_without_permission(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "Permission denied" in refused(capsys, "report", log, "-o", folder / "x.html")


def test_an_output_that_is_a_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: Path) -> None:
    assert "is a directory" in refused(capsys, "report", log, "-o", tmp_path)


def test_an_output_never_replaces_what_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: Path, operator: str
) -> None:
    before, code = log.read_bytes(), Path(operator.removesuffix(":scale")).read_bytes()
    other = tmp_path / "other.jsonl"
    other.write_bytes(before)
    for words, why in (
        (["report", log, "-o", log], "is read by this command"),
        (["report", log, "-o", other], "is a tuning log"),
        (["build", operator, "N=4", "-o", operator.removesuffix(":scale")], "is read by this command"),
        (["build", operator, "N=4", "--log", log, "-o", log], "is read by this command"),
        (["bench", operator, "N=4", "--log", log, "--json", log], "is read by this command"),
    ):
        assert why in refused(capsys, *words)
    assert log.read_bytes() == other.read_bytes() == before
    assert Path(operator.removesuffix(":scale")).read_bytes() == code


def test_a_full_disk_loses_nothing(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    assert "No space left" in refused(capsys, "report", log, "-o", "/dev/full")


def test_report(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: Path) -> None:
    out = tmp_path / "report.html"
    assert says(capsys, "report", log, "-o", out) == f"wrote {out}\n"
    assert "run-timeout" in out.read_text()


@pytest.mark.parametrize("package", ["click", "rich", "jinja2"])
def test_a_missing_package_is_named(package: str, log: Path, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.modules['{package}'] = None\n"
        "from loopwright.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", program, "report", str(log), "-o", str(tmp_path / "x.html")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.fullmatch(rf"error: .* the package {package}: pip install 'loopwright\[tune\]'\n", done.stderr)


def test_build_and_load(capsys: pytest.CaptureFixture[str], tmp_path: Path, operator: str) -> None:
    import numpy as np

    library = tmp_path / "scale.so"
    text = says(capsys, "build", operator, "N=8", "by=3", "-o", library)
    assert "built scale(N=8, by=3.0) from: default schedule" in text
    np.testing.assert_array_equal(loopwright.load(library)(np.ones(8, "f")), np.full(8, 3, "f"))


def test_a_reader_that_leaves_early_is_no_error(log: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m loopwright log show {log} | true", shell=True, capture_output=True, text=True
    )
    assert not done.stderr


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text("import time\nprint('loaded', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "loopwright", "build", f"{path}:f", "-o", str(tmp_path / "x.so")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loaded\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_set_is_built_into_one_library(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    library = tmp_path / "scores.so"
    text = says(
        capsys,
        "build",
        "--workloads",
        "bert-base",
        "--only",
        "b1-scores",
        "--only",
        "b1-pooler",
        "-o",
        library,
    )
    assert text.count("built ") == 2
    assert sorted(loopwright.load(library)) == ["batch_matmul", "matmul"]


def test_the_cache_of_builds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "cache"
    monkeypatch.setenv("LOOPWRIGHT_CACHE", str(place))
    assert says(capsys, "cache", "show").startswith(f"{place}: 0 builds, 0 B of at most 1 GiB")
    says(capsys, "build", operator, "N=8", "-o", tmp_path / "x.so")
    (place / "damaged.so").write_text("")
    text = says(capsys, "cache", "show")
    assert re.search(
        r"scale\(x: float32\[8\]\) -> y: float32\[8\], \S+ +[\d.]+ KiB  \d{4}-\d\d-\d\d \d\d:\d\d\n", text
    )
    assert "damaged; it will be built anew" in text
    assert f"{place}: 2 builds" in text
    assert says(capsys, "cache", "clear") == f"deleted 2 builds from {place}\n"
    assert not list(place.iterdir())
    monkeypatch.setenv("LOOPWRIGHT_CACHE", "off")
    assert "there is no cache: LOOPWRIGHT_CACHE turns it off" in refused(capsys, "cache", "show")

"""From a log to a record, or to a precise word on why there is none."""

from __future__ import annotations

import json
import pickle
import runpy
from pathlib import Path
from typing import Any

import pytest

from loopwright.autotune.log import Record, TuningLog
from loopwright.autotune.log_match import compare_targets, target_json, target_text
from loopwright.autotune.log_near import nearest
from loopwright.autotune.log_read import read_log
from loopwright.autotune.lookup import Lookup, lookup, no_log, seconds_text
from loopwright.sched.errors import LogError
from loopwright.sched.runtime.target import Target as RealTarget
from tests.autotune.logs import KEY, failed, make

HOST = {"kind": "cpu", "mcpu": "znver3", "cores": 2, "features": ["avx2", "fma"]}
OTHER_KEY = KEY[::-1]


@pytest.fixture
def log(tmp_path: Path) -> TuningLog:
    return TuningLog(tmp_path / "tuned.jsonl")


class Dtype:
    """An argument that is no JSON value: it stands in a record as its repr."""

    def __repr__(self) -> str:
        return "float16"


def write(log: TuningLog, *records: Record) -> None:
    log.path.write_bytes(b"".join(record.to_line() for record in records))


def ask(log: TuningLog, key: str = KEY, target: dict[str, Any] = HOST, **args: Any) -> Lookup:
    return lookup(log, key, target, name="matmul", args=args or {"M": 64})


def test_the_best_verified_record_wins(log: TuningLog) -> None:
    write(
        log,
        make(0, target=HOST, seconds=3.0),
        make(1, target=HOST, seconds=2.0),
        make(2, target=HOST, seconds=1.0, verified=False),
        make(3, target=HOST, seconds=None, screen=0.1),
        failed(4, target=HOST),
        make(5, target=HOST, seconds=2.0),
        make(6, target=HOST, seconds=0.5, workload=OTHER_KEY),
    )
    found = ask(log)
    assert found.hit
    assert found.record is not None
    assert found.record.trial == 1
    assert (found.provenance.line, found.provenance.differences, found.provenance.tuned) == (2, (), True)
    for source in (log.path, str(log.path), read_log(log.path)):
        assert lookup(source, KEY, HOST).record == found.record


def test_provenance_of_a_hit(log: TuningLog) -> None:
    record = make(
        57,
        target={**HOST, "cores": 8},
        seconds=0.00321,
        device="AMD EPYC",
        time="2026-01-02T03:04:05+00:00",
        versions={"loopwright": "0.1.0", "tvm": "0.27.0"},
    )
    write(log, record)
    assert str(ask(log).provenance) == (
        f"matmul(M=64) from {log.path}:1 (trial 57, 3.21 ms, 2026-01-02, on AMD EPYC, loopwright 0.1.0 tvm 0.27.0); "
        "measured on 8 cores (here 2)"
    )


def test_provenance_is_plain_text_to_others(log: TuningLog) -> None:
    write(log, make(0, target=HOST))
    found = ask(log).provenance
    assert json.loads(json.dumps({"provenance": found})) == {"provenance": str(found)}
    copied = pickle.loads(pickle.dumps(found))
    assert (copied, copied.line, copied.record) == (found, 1, make(0, target=HOST))


def test_records_of_the_same_target_come_first(log: TuningLog) -> None:
    more_cores = make(0, target={**HOST, "cores": 64}, seconds=1e-4)
    older = make(1, target={**HOST, "mcpu": "haswell", "features": ["avx2"]}, seconds=1e-5)
    same = make(2, target=HOST, seconds=1e-2)
    write(log, more_cores, older, same)
    assert ask(log).record == same
    write(log, more_cores, older)
    assert ask(log).record == more_cores
    write(log, older)
    found = ask(log)
    assert found.record == older
    assert found.provenance.differences == ("haswell (here znver3)",)


@pytest.mark.parametrize(
    ("recorded", "wanted", "differences"),
    [
        (HOST, HOST, ()),
        ({"kind": "cpu"}, {"kind": "cpu"}, ()),
        ({**HOST, "features": ["fma"]}, HOST, ("no avx2 (here used)",)),
        ({**HOST, "features": None}, HOST, ()),
        (HOST, {"kind": "cpu", "mcpu": "znver3", "cores": 2}, ()),
        ({**HOST, "cores": 1}, HOST, ("1 core (here 2)",)),
        ({**HOST, "l2": 512}, {**HOST, "l2": 1024}, ("l2 512 (here 1024)",)),
        ({**HOST, "unknown": 1}, HOST, ()),
        ({"kind": "cpu", "cores": 2}, HOST, ()),
        (HOST, {**HOST, "mcpu": ""}, ()),
    ],
)
def test_compatible_targets(
    recorded: dict[str, Any], wanted: dict[str, Any], differences: tuple[str, ...]
) -> None:
    match = compare_targets(recorded, wanted)
    assert match.compatible
    assert match.differences == differences
    assert match.same == (not differences)


@pytest.mark.parametrize(
    ("recorded", "obstacle"),
    [
        ({"kind": "opencl"}, "for opencl, not cpu"),
        ({**HOST, "features": ["avx2", "avx512f", "fma"]}, "needs avx512f, which this target lacks"),
        (
            {"kind": "cpu", "mcpu": "znver4"},
            "for znver4, and it is not known whether znver3 has all its features",
        ),
    ],
)
def test_incompatible_targets(recorded: dict[str, Any], obstacle: str) -> None:
    match = compare_targets(recorded, HOST)
    assert not match.compatible
    assert not match.same
    assert match.obstacle == obstacle


def test_a_target_may_be_an_object() -> None:
    class Target:
        def __init__(self, value: object) -> None:
            self.value = value

        def to_json(self) -> object:
            return self.value

    assert target_json(Target(HOST)) == target_json(Target(json.dumps(HOST))) == HOST
    target = RealTarget.from_json(HOST)
    assert compare_targets(make(target=target.to_json()).target, target_json(target)).same
    assert target_text({"kind": "cuda", "arch": "sm_90"}) == "cuda sm_90"
    with pytest.raises(LogError, match="is no target"):
        target_json({"mcpu": "znver3"})


def miss(log: TuningLog, *records: Record, **asked: Any) -> str:
    write(log, *records)
    found = ask(log, **asked)
    assert not found.hit
    assert found.record is None
    start = f"default schedule for matmul(M={asked.get('M', 64)!r}) on cpu znver3, 2 cores: "
    assert str(found.provenance).startswith(start)
    assert len(str(found.provenance).splitlines()) == 1
    return str(found.provenance.reason)


def test_a_miss_says_what_the_log_has_instead(log: TuningLog) -> None:
    assert miss(log) == "the log has no records"
    near = [make(n, workload=f"{n:064x}", args={"M": 2**n}) for n in range(2, 10)]
    assert miss(log, *near, M=60) == (
        "it is not in the log, which has 8 workloads; nearest: matmul(M=64), matmul(M=32), matmul(M=128)"
    )
    changed = make(0, workload="ab" * 32)
    assert miss(log, changed) == (
        "the log has this name and these arguments, but for another formula (key abababababab): the definition, "
        "a shape or a dtype has changed since"
    )
    assert "another formula" in miss(log, make(0, workload=OTHER_KEY, args={"M": "float16"}), M=Dtype())
    assert miss(log, make(0, name="blur", workload=OTHER_KEY)) == "it is not in the log, which has 1 workload"


def test_a_miss_because_everything_failed(log: TuningLog) -> None:
    bad = [failed(n, cause, target=HOST) for n, cause in enumerate(("run-crash", "run-timeout", "run-crash"))]
    assert miss(log, *bad) == "all 3 records of it in the log failed (2 run-crash, 1 run-timeout)"
    unverified = make(4, target=HOST, verified=False)
    assert miss(log, unverified) == "none of the 1 record of it in the log is verified and timed on all cores"
    assert miss(log, *bad, unverified).endswith("; others failed (2 run-crash, 1 run-timeout)")


def test_a_miss_because_of_the_target(log: TuningLog) -> None:
    big = {**HOST, "mcpu": "znver4", "features": ["avx2", "avx512f", "fma"]}
    records = [make(0, target={"kind": "opencl"}), make(1, target=big), make(2, target=big)]
    assert miss(log, *records) == (
        "the log has it only for other targets: cpu znver4, 2 cores (needs avx512f, which this target lacks), 2 records; "
        "opencl (for opencl, not cpu), 1 record"
    )


def test_damaged_and_newer_lines_of_the_workload_are_mentioned(log: TuningLog) -> None:
    newer = make(0).to_line().replace(b'"v":1', b'"v":2')
    log.path.write_bytes(failed(1, target=HOST).to_line() + newer + make(2).to_line()[:200])
    reason = ask(log).provenance.reason
    assert reason == (
        "all 1 record of it in the log failed (1 run-timeout); 1 line for it damaged (see `loopwright log show`); "
        "1 line for it written by a newer Loopwright"
    )


def test_a_log_written_by_other_hands_is_found(log: TuningLog) -> None:
    value = json.loads(make(3, target=HOST).to_line())
    for text in (
        json.dumps(value, sort_keys=True),
        json.dumps(value, separators=(" , ", "  :  ")),
        json.dumps(dict(reversed(value.items()))) + "\r",
    ):
        log.path.write_text(f"\n{text}\n", newline="")
        found = ask(log)
        assert (found.hit, found.provenance.line) == (True, 2)


def test_the_key_elsewhere_in_a_line_is_no_match(log: TuningLog) -> None:
    decoy = make(0, workload=OTHER_KEY, target=HOST, extra={"based on": KEY, "twice": KEY}, name="blur")
    reason = miss(log, decoy)
    assert reason == "it is not in the log, which has 1 workload"
    write(log, decoy, make(1, target=HOST, extra={"self": KEY}))
    assert ask(log).provenance.line == 2
    assert TuningLog(log.path).count(KEY) == 1


def test_no_log_at_all(log: TuningLog) -> None:
    with pytest.raises(LogError, match="there is no tuning log"):
        ask(log)
    log.path.write_text("# some notes\n")
    with pytest.raises(LogError, match="is not a tuning log"):
        ask(log)
    assert str(no_log(HOST, name="matmul", args={"M": 4})) == (
        "default schedule for matmul(M=4) on cpu znver3, 2 cores: no tuning log was given"
    )


def test_a_log_of_ten_thousand_records(log: TuningLog, root: Path) -> None:
    bench = runpy.run_path(str(root / "benchmarks" / "log_lookup.py"))
    bench["write_log"](log.path)
    assert 1.5e7 < log.path.stat().st_size < 2.5e7
    snapshot = read_log(log.path)
    for number in (0, 77, 199):
        mine = [bench["make_record"](n) for n in range(number, bench["RECORDS"], bench["WORKLOADS"])]
        expected = min((r for r in mine if r.verified), key=lambda r: r.seconds or 0.0)
        found = lookup(snapshot, bench["key_of"](number), bench["TARGET"])
        assert found.record == expected
        line = log.path.read_bytes().split(b"\n")[(found.provenance.line or 0) - 1]
        assert Record.parse(line) == expected
        assert log.count(bench["key_of"](number), bench["TARGET"]) == len(mine) == 50
    found = lookup(snapshot, KEY, bench["TARGET"], name="matmul", args={"M": 1000, "N": 512, "K": 512})
    assert "which has 200 workloads" in str(found.provenance)
    assert not snapshot.problems


def test_nearest_goes_by_name_then_by_arguments() -> None:
    records = [
        make(0, name="matmul", args={"M": 64, "dtype": "float16"}),
        make(1, name="matmul", args={"M": 128}),
        make(2, name="matmul_bias", args={"M": 64}),
        make(3, name="blur", args={"M": 64}),
    ]
    assert [r.trial for r in nearest("matmul", {"M": 64}, records)] == [1, 0]
    assert [r.trial for r in nearest("matmul_bia", {"M": 64}, records)] == [2, 1, 0]
    assert nearest("softmax", {}, records[3:]) == []
    assert nearest("matmul", {"M": 0, "x": None}, records[:1])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2500.0, "2500 s"), (1.5, "1.5 s"), (0.25, "250 ms"), (4.2e-5, "42 us"), (3e-9, "3 ns")],
)
def test_seconds_text(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text

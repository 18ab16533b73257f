"""A record and its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.autotune.record import NewerSchema, Record, timestamp
from loopwright.sched.errors import LogError
from tests.autotune.logs import KEY, make

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
TEXTS = st.dictionaries(st.text(), st.text(), max_size=4)
TIMES = st.floats(min_value=1e-9, max_value=1e6)
UNKNOWN = st.dictionaries(
    st.text().filter(lambda name: name not in Record.__dataclass_fields__), VALUES, max_size=3
)
ANY_TEXT = st.text(st.characters(blacklist_categories=())) | st.binary().map(
    lambda raw: raw.decode("utf-8", "surrogateescape")
)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), ok=st.booleans())
def test_a_line_round_trips(data: st.DataObject, ok: bool) -> None:
    draw = data.draw
    record = Record(
        workload=draw(st.text("0123456789abcdef", min_size=64, max_size=64)),
        target={
            **draw(OBJECTS),
            "kind": "cpu",
            "cores": None,
            "features": draw(st.lists(st.text(), max_size=3)),
        },
        status="ok" if ok else "error",
        cause=None if ok else "compile-error",
        message=draw(st.none() | ANY_TEXT),
        seconds=draw(TIMES) if ok else None,
        screen=draw(st.none() | TIMES),
        verified=ok and draw(st.booleans()),
        space=draw(st.text()),
        chosen=draw(OBJECTS),
        schedule=draw(OBJECTS | st.lists(OBJECTS, max_size=3)),
        names=draw(TEXTS),
        name=draw(st.text()),
        args=draw(OBJECTS),
        device=draw(st.text()),
        versions=draw(TEXTS),
        time=draw(st.text()),
        seed=draw(st.none() | st.integers()),
        trial=draw(st.none() | st.integers()),
        extra=draw(UNKNOWN),
    )
    line = record.to_line()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert line.startswith(b'{"v":1,"workload":"' + record.workload.encode() + b'","target":{')
    assert Record.parse(line) == record
    assert Record.parse(line).to_line() == line


def test_fields_stand_in_the_documented_order() -> None:
    documented = (
        "v workload target status cause message seconds screen verified space chosen schedule names name args device "
        "versions time seed trial code batch predicted "
        "features cold spread peak_bytes objective"
    )
    line = make(extra={"note": "by hand"}).to_line()
    assert list(json.loads(line)) == [*documented.split(), "note"]


def test_a_schedule_may_be_given_as_json_text() -> None:
    record = make(schedule='{"v":1,"directives":[{"kind":"split"}]}')
    assert record.schedule == {"v": 1, "directives": [{"kind": "split"}]}
    assert json.loads(record.schedule_json) == record.schedule


def test_numpy_scalars_become_plain_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    record = make(numpy.int64(3), seconds=numpy.float32(0.5), chosen={"tile": numpy.int32(8)})
    assert Record.parse(record.to_line()).chosen == {"tile": 8}
    assert (record.trial, record.seconds) == (3, 0.5)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"v": 0}, "'v'"),
        ({"peak_bytes": -1}, "'peak_bytes'"),
        ({"peak_bytes": 1.5}, "'peak_bytes'"),
        ({"objective": None}, "'objective'"),
        ({"v": "1"}, "'v'"),
        ({"workload": "abc"}, "'workload'"),
        ({"workload": KEY.upper()}, "'workload'"),
        ({"target": "cpu"}, "'target'"),
        ({"target": {"cores": 2}}, "'target'"),
        ({"target": {"kind": "cpu", "cores": 0}}, "cores"),
        ({"target": {"kind": "cpu", "features": "avx2"}}, "features"),
        ({"status": "fine"}, "'status'"),
        ({"cause": "run-crash"}, "'cause'"),
        ({"status": "error", "verified": False}, "run-timeout"),
        ({"status": "error", "cause": "run-crash"}, "'verified'"),
        ({"seconds": None}, "'seconds'"),
        ({"seconds": -1.0}, "positive"),
        ({"seconds": True}, "'seconds'"),
        ({"seconds": "1"}, "'seconds'"),
        ({"screen": 0}, "'screen'"),
        ({"seconds": 1e999}, "finite|Infinity"),
        ({"schedule": None}, "'schedule'"),
        ({"schedule": "not json"}, "'schedule'"),
        ({"schedule": 3}, "'schedule'"),
        ({"trial": 1.5}, "'trial'"),
        ({"verified": 1}, "'verified'"),
        ({"message": 1}, "'message'"),
        ({"name": None}, "'name'"),
        ({"names": {"i0": 1}}, "'names'"),
        ({"args": []}, "'args'"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], word: str) -> None:
    with pytest.raises(LogError, match=word):
        make(**change)
    line = json.dumps({**json.loads(make().to_line()), **change})
    with pytest.raises(LogError, match=word) as caught:
        Record.parse(line, "some.jsonl", 12)
    assert str(caught.value).startswith("some.jsonl:12: ")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"", "JSON"),
        (b"plain text", "JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b"[1,2]", "array"),
        (b"3", "number"),
        (b"{}", "'workload'"),
        (b"\0" * 40, "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"v":1,"workload":NaN}', "NaN"),
        (b'{"input":["llvm",1],"result":[[0.1],0,1,1]}', "no field"),
    ],
)
def test_a_line_that_is_no_record_is_refused(line: bytes, word: str) -> None:
    with pytest.raises(LogError, match=word):
        Record.parse(line)


def test_a_newer_schema_is_told_apart() -> None:
    with pytest.raises(NewerSchema, match="schema version 2"):
        Record.parse(make().to_line().replace(b'"v":1', b'"v":2'))


def test_what_has_no_json_form_is_refused() -> None:
    for value in (float("nan"), object(), {1, 2}):
        with pytest.raises(LogError, match="JSON"):
            make(chosen={"tile": value}).to_line()
    with pytest.raises(LogError, match="'chosen'"):
        make(chosen={1: 2})


def test_timestamp_is_iso_8601() -> None:
    assert timestamp().endswith("+00:00")
    assert len(timestamp()) == 25


def test_arguments_that_are_shapes_are_tuples_again() -> None:
    record = make(args={"A": (8, 1), "padding": ((1, 2), 0)})
    assert Record.parse(record.to_line()) == record
    assert Record.parse(record.to_line()).args == {"A": (8, 1), "padding": ((1, 2), 0)}

"""The log on a disk, a path, a file that does not play along."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from loopwright.autotune import log_write
from loopwright.autotune.log import TuningLog
from loopwright.autotune.log_tools import best, merge, show
from loopwright.sched.errors import LogError
from tests.autotune.logs import KEY, failed, finish, make, run, trials


@pytest.fixture
def log(tmp_path: Path) -> TuningLog:
    return TuningLog(tmp_path / "tuned.jsonl")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB: a full disk that is really full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(log: TuningLog) -> tuple[int, str]:
    for count in range(1000):
        try:
            log.append(failed(count, message="x" * 3000))
        except LogError as error:
            return count, str(error)
    raise AssertionError("the disk never filled up")


def test_a_full_disk_keeps_what_was_written(small_disk: Path) -> None:
    log = TuningLog(small_disk / "tuned.jsonl")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * 20_000)
    count, message = fill(log)
    assert (
        message
        == f"the tuning log {log.path} cannot be written: no space left on the disk; what it held is untouched"
    )
    assert trials(log) == list(range(count))
    assert not log.problems
    assert log.path.read_bytes().endswith(b"\n")
    with pytest.raises(LogError, match="no space"):
        merge([log.path], log.path)
    assert trials(log) == list(range(count))
    assert sorted(path.name for path in small_disk.iterdir()) == ["ballast", "tuned.jsonl"]
    ballast.unlink()
    log.append(make(-1))
    assert trials(log) == [*range(count), -1]


def test_a_torn_tail_on_a_full_disk_stays_as_it_is(small_disk: Path) -> None:
    log = TuningLog(small_disk / "tuned.jsonl")
    log.append(make(0))
    with log.path.open("ab") as file:
        file.write(b'{"v":1,"workload":"')
    content = log.path.read_bytes()
    ballast = small_disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass
    with pytest.raises(LogError, match="no space"):
        log.append(failed(1, message="x" * 10_000))
    assert log.path.read_bytes() == content
    ballast.unlink()
    log.append(make(2))
    assert trials(log) == [0, 2]


def test_a_size_limit_keeps_what_was_written(log: TuningLog) -> None:
    code = """
        import resource, sys
        from loopwright.autotune.log import LogError, Record, TuningLog
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        log, n = TuningLog(sys.argv[1]), 0
        try:
            while True:
                log.append(Record(workload=sys.argv[2], target={"kind": "cpu"}, status="error", cause="run-crash",
                                  message="x" * 3000, trial=n))
                n += 1
        except LogError as error:
            print(n, error)
    """
    count, _, message = finish(run(code, log.path, KEY)).partition(" ")
    assert "size limit" in message
    assert trials(log) == list(range(int(count)))
    assert not log.problems
    log.append(make(-1))
    assert trials(log)[-1] == -1


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder with a log in it that cannot be written; permissions do not stop root, so then a mount does."""
    folder = tmp_path / "ro"
    folder.mkdir()
    if os.geteuid() == 0:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True, check=False
        )
        if mounted.returncode != 0:
            pytest.skip(
                "root ignores permissions, and mounting a read-only file system is not permitted here"
            )
        (folder / "tuned.jsonl").write_bytes(make(0).to_line())
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield folder
        subprocess.run(["umount", str(folder)], check=True)
    else:
        (folder / "tuned.jsonl").write_bytes(make(0).to_line())
        (folder / "tuned.jsonl").chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_read_only_log_can_be_read_and_says_so_when_written(read_only: Path) -> None:
    for name in ("tuned.jsonl", "new.jsonl"):
        log = TuningLog(read_only / name)
        for write in (log.prepare, lambda log=log: log.append(make(1))):
            with pytest.raises(LogError, match="read-only|permission denied"):
                write()
    assert trials(TuningLog(read_only / "tuned.jsonl")) == [0]
    with pytest.raises(LogError, match="read-only|permission denied"):
        best([read_only / "tuned.jsonl"], read_only / "best.jsonl")


def test_paths_that_cannot_hold_a_log(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "file").write_bytes(b"")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path, word in (
        (tmp_path, "is a directory"),
        (tmp_path / "nowhere" / "t.jsonl", "there is no directory"),
        (tmp_path / "file" / "t.jsonl", "not a directory"),
        (tmp_path / ("x" * 300), "too long"),
        (fifo, "pipe"),
        (Path("/dev/full"), "device"),
        (loop, "symbolic links"),
    ):
        for write in (TuningLog(path).prepare, lambda path=path: TuningLog(path).append(make())):
            with pytest.raises(LogError, match=word) as caught:
                write()
            assert str(path) in str(caught.value)
    for path in (tmp_path, fifo, Path("/dev/zero")):
        with pytest.raises(LogError, match="is not a file"):
            TuningLog(path).records()


def test_prepare_makes_an_empty_log(log: TuningLog) -> None:
    assert log.records() == []
    log.prepare()
    assert log.path.read_bytes() == b""
    assert log.records() == []
    assert stat.S_IMODE(log.path.stat().st_mode) & 0o600 == 0o600
    log.append(make(0))
    log.prepare()
    assert trials(log) == [0]


@pytest.mark.parametrize(
    "content", [b"# notes\n", b"\x89PNG\r\n\x1a\n\0\0", b'{\n  "name": "x"\n}\n', b'{"a": 1}\n', b"{}"]
)
def test_a_foreign_file_is_neither_read_nor_written(log: TuningLog, content: bytes) -> None:
    log.path.write_bytes(content)
    for use in (
        log.prepare,
        lambda: log.append(make()),
        log.records,
        lambda: log.count(KEY),
        lambda: show(log.path),
    ):
        with pytest.raises(LogError, match="is not a tuning log"):
            use()
    assert log.path.read_bytes() == content


def test_the_log_may_be_deleted_truncated_or_replaced_meanwhile(log: TuningLog) -> None:
    log.append(make(0))
    log.path.unlink()
    assert trials(log) == []
    log.append(make(1))
    assert trials(log) == [1]
    os.truncate(log.path, 0)
    log.append(make(2))
    assert trials(log) == [2]
    other = TuningLog(log.path.with_name("other.jsonl"))
    other.append(make(3))
    os.replace(other.path, log.path)
    log.append(make(4))
    assert trials(log) == [3, 4]
    log.path.write_bytes(b"something else\n")
    log.path.rename(other.path)
    other.path.with_name("foreign").write_bytes(b"something else\n")
    os.replace(other.path.with_name("foreign"), log.path)
    with pytest.raises(LogError, match="is not a tuning log"):
        log.append(make(5))


def test_a_log_replaced_while_a_writer_waits_for_it(log: TuningLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(make(0))
    lock, done = log_write._lock, []

    def replace_first(descriptor: int, path: Path, deadline: float) -> None:
        if not done:
            done.append(True)
            new = path.with_name("new")
            new.write_bytes(make(7).to_line())
            os.replace(new, path)
        lock(descriptor, path, deadline)

    monkeypatch.setattr(log_write, "_lock", replace_first)
    log.append(make(1))
    assert trials(log) == [7, 1]


def test_a_lock_that_is_never_released(log: TuningLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(make(0))
    monkeypatch.setattr(log_write, "LOCK_SECONDS", 0.1)
    with log.path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LogError, match="another process has held it locked"):
            log.append(make(1))
        assert trials(log) == [0]
    log.append(make(1))
    assert trials(log) == [0, 1]


def test_ctrl_c_in_the_middle_of_a_line_takes_it_back(
    log: TuningLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(make(0))
    write, calls = os.write, []

    def interrupted(descriptor: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return write(descriptor, data[:10])

    monkeypatch.setattr(log_write.os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.append(make(1))
    monkeypatch.undo()
    assert log.path.read_bytes() == make(0).to_line()

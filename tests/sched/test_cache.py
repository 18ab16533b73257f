"""The cache of builds: what was built is loaded, by other processes too; what is damaged, full or read-only does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import BuildError, LoopwrightError
from loopwright.sched.runtime import cache, compile
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.kernel import Kernel


@lw.operator
def scaled(N: int, by: int = 3) -> object:
    x = lw.input("x", (N,), "int32")
    return lw.compute("y", (N,), lambda i: x[i] * by)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, made by the first build."""
    monkeypatch.setenv(cache.PLACE, str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_said", [])
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What LLVM has compiled."""
    names: list[str] = []
    original = compile.compile_module

    def noted(parts: list[tuple[object, object]], *rest: object) -> object:
        names.extend(signature.name for _, signature in parts)  # type: ignore[attr-defined]
        return original(parts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(compile, "compile_module", noted)
    return names


def check(kernel: Kernel, by: int = 3) -> None:
    x = np.arange(kernel.signature.inputs[0].extents[0], dtype="int32")
    np.testing.assert_array_equal(kernel(x), x * by)


def test_the_second_build_is_loaded(place: Path, compiled: list[str], tmp_path: Path) -> None:
    work = scaled(5)
    first = lw.build(work)
    second = lw.build(work, schedule=first.schedule)
    assert compiled == ["scaled"]
    assert [path.suffix for path in place.iterdir()] == [".so"]
    assert place.stat().st_mode & 0o077 == 0
    check(first)
    check(second)
    assert second.schedule == first.schedule
    assert second.signature == first.signature
    assert second.provenance == "a schedule given by the caller"
    # What the file does not have is compiled again where it is asked for.
    assert second.source() == first.source()
    assert "define" in second.source("llvm")
    assert lw.load(second.export(tmp_path / "scaled.so")).provenance == second.provenance
    assert second.export_c(tmp_path / "scaled.a").exists()
    assert compiled == ["scaled"] * 2


def test_whatever_decides_the_code_is_in_the_key(
    place: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = scaled(64)
    here = lw.Target.parse("cpu")
    builds = [
        lambda: lw.build(work),
        lambda: lw.build(scaled(64, 4)),
        lambda: lw.build(scaled(65)),
        lambda: lw.build(work, schedule=work.schedule().vectorize("y.i", 4)),
        lambda: lw.build(
            work, target=lw.Target("cpu", here.mcpu, here.cores + 1, here.features, here.caches)
        ),
        lambda: lw.build(
            work, target=lw.Target("cpu", here.mcpu, here.cores, here.features, (1 << 14, 1 << 18, 1 << 20))
        ),
    ]
    for build in builds * 2:
        build()
    assert len(compiled) == len(builds)
    monkeypatch.setattr(cache, "code_digest", lambda: "changed")
    lw.build(work)
    assert len(compiled) == len(builds) + 1


def test_names_are_the_caller_s(place: Path, compiled: list[str]) -> None:
    """Equal workloads have one key whatever things are called, but kernels speak in names."""
    kernels = []
    for name in ("x", "z"):
        x = lw.input(name, (4,), "int32")
        kernels.append(lw.build(lw.Workload("w", {}, [x], [lw.compute("y", (4,), lambda i, x=x: x[i] + 1)])))
    assert [kernel.signature.inputs[0].name for kernel in kernels] == ["x", "z"]
    assert len(compiled) == 2


PROGRAM = """
import numpy as np, loopwright as lw
x = lw.input("x", (2000,), "float32")
kernel = lw.build(lw.Workload("root", {}, [x], [lw.compute("y", (2000,), lambda i: lw.sqrt(x[i]))]))
given = np.arange(2000, dtype="float32")
np.testing.assert_allclose(kernel(given), np.sqrt(given), rtol=1e-6)
"""


def test_other_processes(place: Path, compiled: list[str]) -> None:
    """Two build the same at once; what they leave is used here."""
    both = [subprocess.Popen([sys.executable, "-c", PROGRAM]) for _ in range(2)]
    assert [process.wait(200) for process in both] == [0, 0]
    assert len(list(place.iterdir())) == 1
    exec(PROGRAM, {})
    assert not compiled


def test_a_damaged_file_is_built_anew(place: Path, compiled: list[str]) -> None:
    work = scaled(5)
    check(lw.build(work))
    (path,) = place.iterdir()
    whole = path.read_bytes()
    damages = [b"", whole[:1000], whole[:-1], whole[:3000] + bytes([whole[3000] ^ 1]) + whole[3001:]]
    for n, data in enumerate(damages, 2):
        path.unlink()
        path.write_bytes(data)
        check(lw.build(work))
        assert len(compiled) == n
        assert path.stat().st_size == len(whole)


def test_a_file_under_another_s_key_is_not_used(place: Path, compiled: list[str]) -> None:
    check(lw.build(scaled(5)), 3)
    (five,) = place.iterdir()
    check(lw.build(scaled(5, 4)), 4)
    (four,) = set(place.iterdir()) - {five}
    four.unlink()
    five.rename(four)
    check(lw.build(scaled(5, 4)), 4)
    assert len(compiled) == 3


def test_what_was_not_used_for_longest_goes(
    place: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    for by in (1, 2, 3):
        lw.build(scaled(5, by))
    for age, file in enumerate(cache.kept(place)):
        os.utime(file.path, (0, time.time() - 100 * age - 100))
    lw.build(scaled(5, 1))  # the oldest is used
    (place / ".half.so.abc").mkdir()
    os.utime(place / ".half.so.abc", (0, 0))
    size = max(file.size for file in cache.kept(place))
    monkeypatch.setenv(cache.SIZE, str(int(3.5 * size)))
    lw.build(scaled(5, 4))
    assert len(cache.kept(place)) == 3
    assert not (place / ".half.so.abc").exists()
    assert len(compiled) == 4
    for by in (1, 4):
        check(lw.build(scaled(5, by)), by)
    assert len(compiled) == 4
    check(lw.build(scaled(5, 2)), 2)
    assert len(compiled) == 5
    monkeypatch.setenv(cache.SIZE, "0")
    check(lw.build(scaled(5, 5)), 5)
    assert not cache.kept(place)


def test_it_is_looked_through_now_and_then() -> None:
    """Every file that is written would cost time for all that are there."""
    keys = [sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(2000)]
    looked = sum(cache._draws(key, 1000, 1_000_000) for key in keys)
    assert 150 < looked < 250  # of 2,000 files of a thousandth, each hundredth
    assert all(cache._draws(key, 10_000, 1_000_000) for key in keys)
    assert all(cache._draws(key, 10, 0) for key in keys)


@pytest.mark.parametrize("reason", ["a file", "no compiler", "size"])
def test_without_a_cache_it_goes_on(place: Path, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    if reason == "a file":
        place.write_text("dear diary")
    elif reason == "no compiler":
        monkeypatch.setenv("CC", "nosuchcc")
    else:
        monkeypatch.setenv(cache.SIZE, "much")
    with pytest.warns(
        lw.CacheWarning, match="builds are not kept in the cache: .*LOOPWRIGHT_CACHE=off turns it off"
    ):
        check(lw.build(scaled(5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(lw.build(scaled(6)))


def test_a_full_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "export", full)
    with pytest.warns(lw.CacheWarning, match="No space left on device"):
        check(lw.build(scaled(5)))


def test_a_cache_that_may_only_be_read(
    place: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lw.build(scaled(5))

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache.os, "utime", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(lw.build(scaled(5)))
    assert len(compiled) == 1


def test_turned_off(place: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]) -> None:
    lw.build(scaled(5), cache=False)
    for word in ("off", "OFF", "0"):
        monkeypatch.setenv(cache.PLACE, word)
        lw.build(scaled(5))
    assert len(compiled) == 4
    assert not place.exists()


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(cache.PLACE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.folder() == tmp_path / ".cache" / "loopwright"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache.folder() == tmp_path / "x" / "loopwright"
    monkeypatch.setenv(cache.PLACE, "~/mine")
    assert cache.folder() == tmp_path / "mine"
    for text, size in (("", 1 << 30), ("500M", 500 << 20), ("2g", 2 << 30), ("12345", 12345)):
        monkeypatch.setenv(cache.SIZE, text)
        assert cache.limit() == size
    for text in ("much", "-1", "1.5G", "G"):
        monkeypatch.setenv(cache.SIZE, text)
        with pytest.raises(LoopwrightError, match="is no size; write it as 500M or 2G"):
            cache.limit()


def test_what_the_schedule_does_not_say_is_not_kept(place: Path) -> None:
    work = scaled(5)
    assert cache.key_of(work.schedule(), DeviceTarget("cuda", "sm_80"), work) is None
    x = lw.input("x", (4,), "float64")
    cosine = lw.extern("cos", takes=("float64",), returns="float64", numpy=np.cos)
    lw.build(lw.Workload("w", {}, [x], [lw.compute("y", (4,), lambda i: cosine(x[i]))]))
    assert not place.exists()
    with pytest.raises(BuildError, match="was loaded from a library"):
        lw.load(lw.build(scaled(5), cache=False).export(place.with_suffix(".so"))).source()

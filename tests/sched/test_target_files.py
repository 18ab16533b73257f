"""Target files: those that come with Loopwright, the form, what is refused, and what is written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from loopwright.sched.errors import TargetError
from loopwright.sched.runtime import hardware, targetfile, triples
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target

NAMES = targetfile.names()


def parsed_again(target: Target, folder: Path) -> Target:
    path = folder / "written.toml"
    path.write_text(targetfile.written(target, 'a "machine" \\ of mine'))
    return Target.parse(path)


@pytest.mark.parametrize("name", NAMES)
def test_those_that_come_along(name: str, tmp_path: Path) -> None:
    target = Target.parse(name)
    assert Target.parse(targetfile.FOLDER / f"{name}.toml") == target
    assert Target.from_json(target.to_json()) == target
    again = parsed_again(target, tmp_path)
    assert (again, again.caches) == (target, target.caches)
    assert target.l1 <= target.l2 <= target.l3
    text = targetfile.find(name).read_text()
    assert targetfile.about(name)
    figures = re.findall(r"^(?:cores|l1|l2|l3|threads|block|shared) = .*$", text, re.MULTILINE)
    assert all("#" in line for line in figures), "each figure has its source"


def test_all_that_were_promised_are_there() -> None:
    kinds = {name: Target.parse(name) for name in NAMES}
    assert {"haswell", "zen3", "zen4", "skylake-avx512", "icelake-server", "sapphirerapids"} <= set(kinds)
    assert {t.triple for t in kinds.values() if t.kind == "cpu"} == set(triples.TRIPLES)
    assert {t.mcpu for t in kinds.values() if t.kind == "cuda"} == {
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_89",
        "sm_90",
    }
    widths = {name: kinds[name].vector_bytes for name in ("haswell", "zen4", "rpi4", "spacemit-k1")}
    assert widths == {"haswell": 32, "zen4": 64, "rpi4": 16, "spacemit-k1": 32}


def test_this_machine_s_own(tmp_path: Path) -> None:
    host = Target.parse("cpu")
    again = parsed_again(host, tmp_path)
    assert (again, again.caches) == (host, host.caches)


def test_a_device_s_own(tmp_path: Path) -> None:
    device = DeviceTarget("opencl", "Big GPU", 60, threads=512, block=(512, 512, 64), shared=65536)
    assert parsed_again(device, tmp_path) == device


REFUSED = [
    ('name = "x"', "unknown key 'name'"),
    ("core = 4", "unknown key 'core' (did you mean 'cores'?); known: kind, triple, mcpu"),
    ('kind = "cuda"\nshard = 1', "unknown key 'shard' (did you mean 'shared'?)"),
    ('cores = "4"', "cores must be a whole number above 0, got '4'"),
    ("l2 = 1.5", "l2 must be a whole number above 0, got 1.5"),
    ('about = 3', "about must be a text, got 3"),
    ('triple = "armv7-linux-gnueabihf"', "unknown triple 'armv7-linux-gnueabihf'; known: x86_64-linux-gnu"),
    ("triple = 64", "unknown triple 64"),
    ('triple = "aarch64-linux-gnu"\nmcpu = "cortex-a77x"', "LLVM knows no CPU 'cortex-a77x'; nearest names: cortex-a77"),
    ('triple = "x86_64-linux-gnu"\nmcpu = "cortex-a72"', "no CPU 'cortex-a72'; triple = \"aarch64-linux-gnu\" has one"),
    ('triple = "aarch64-linux-gnu"\nfeatures = ["avx2"]', "unknown CPU feature 'avx2'; known: bf16, dotprod"),
    ('triple = "aarch64-linux-gnu"\nfeatures = ["dotprods"]', "(did you mean 'dotprod'?)"),
    ('triple = "riscv64-linux-gnu"\nfeatures = ["m", "a", "v"]', "riscv64-linux-gnu without c, d, f runs no Linux"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(TargetError) as caught:
        Target.parse(path)
    assert f"target file {path}: " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_that_nobody_knows() -> None:
    with pytest.raises(TargetError, match=r"unknown target 'rpi6' \(did you mean 'rpi[45]'\?\)"):
        Target.parse("rpi6")
    with pytest.raises(
        TargetError, match="No such file.*; for the one that comes with Loopwright, say 'rpi5'"
    ):
        Target.parse("nowhere/rpi5.toml")


def test_targets_of_tvm_say_the_same() -> None:
    theirs = {"kind": "llvm", "mtriple": "aarch64-unknown-linux-gnu", "mcpu": "cortex-a76", "num-cores": 4}
    assert Target.parse(theirs) == Target.parse("rpi5")
    less = Target.parse({**theirs, "mattr": ["-dotprod"]})
    assert less.features == ("fullfp16", "neon")
    assert [str(a) for a in less.to_tvm().attrs["mattr"]] == ["-dotprod"]


def test_another_kind_of_machine_runs_nothing_of_ours() -> None:
    here, there = Target.parse("cpu"), Target.parse("riscv64-v")
    assert not there.compatible_with(here)
    assert not here.compatible_with(there)
    assert there.missing_on(here) == ("the instruction set riscv64",)
    assert Target.parse("riscv64").compatible_with(there)
    assert not there.compatible_with(Target.parse("riscv64"))
    assert Target.parse("apple-m1").missing_on(Target.parse("rpi5")) == (
        "the instruction set aarch64 under macOS",
    )


def test_a_triple_stands_in_the_log_only_where_it_is_news() -> None:
    """Records of x86-64 are what they were before there were others."""
    assert "triple" not in Target.parse("haswell").to_json()
    assert Target.parse("rpi4").to_json()["triple"] == "aarch64-linux-gnu"


def test_features_by_linux_s_names() -> None:
    assert hardware.features_in("processor : 0\n") == frozenset()
    assert hardware.features_in("flags\t\t: fma sse4_2 abm sha_ni\n") == {"fma", "sse4.2", "lzcnt"}
    assert hardware.features_in("Features\t: fp asimd sve i8mm\n") == {"neon", "sve", "i8mm"}
    assert hardware.features_in("isa\t: rv64imafdcv_zicond_zbb\n") == {*"mafdcv", "zicond", "zbb"}


def test_what_runs_here_is_of_this_triple() -> None:
    assert Target.parse("cpu").triple == triples.host_triple()
    assert replace(Target.parse("cpu"), triple=triples.RISCV).missing_on(Target.parse("cpu"))

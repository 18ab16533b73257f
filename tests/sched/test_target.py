"""Targets: what may be written, what they tell, what goes together."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.sched.errors import TargetError
from loopwright.sched.runtime import hardware
from loopwright.sched.runtime.target import Target, host_facts
from tests.sched.programs import run

FEATURES = st.sets(st.sampled_from(sorted(hardware.TRACKED)))
TARGETS = st.builds(
    Target,
    kind=st.just("cpu"),
    mcpu=st.sampled_from(["znver3", "skylake-avx512", "generic"]),
    cores=st.integers(1, 512),
    features=FEATURES.map(lambda names: tuple(sorted(names))),
)


def test_this_host() -> None:
    import tvm

    target = Target.parse("cpu")
    assert target.mcpu == tvm.get_global_func("target.llvm_get_system_cpu")()
    assert target.cores == len(os.sched_getaffinity(0))
    assert target.features == host_facts().features
    assert Target.parse(target) is target
    assert target.compatible_with(host_facts())
    assert target.l1 <= target.l2 <= target.l3
    assert target.describe() == str(target)
    assert target.mcpu in str(target)


def test_features_of_this_host_are_those_llvm_finds() -> None:
    import tvm

    found = {str(name) for name in tvm.get_global_func("tvm.codegen.llvm.GetHostCPUFeatures")()}
    assert hardware.cpu_features() <= found


def test_code_for_this_host_uses_no_feature_it_lacks() -> None:
    """A virtual machine may hide what its CPU's name implies."""
    host = Target.parse("cpu")
    hidden = replace(host, features=tuple(f for f in host.features if f not in ("avx2", "fma")))
    attributes = [str(a) for a in dict(hidden.to_tvm().attrs).get("mattr", [])]
    assert ("-avx2" in attributes) == ("avx2" in host.features)


@given(target=TARGETS)
def test_targets_survive_json(target: Target) -> None:
    assert Target.from_json(target.to_json()) == target


@given(a=TARGETS, b=TARGETS)
def test_what_runs_where(a: Target, b: Target) -> None:
    assert a.compatible_with(b) == (set(a.features) <= set(b.features))
    assert a.compatible_with(replace(a, cores=b.cores))
    assert not a.missing_on(a)
    assert set(a.missing_on(b)) | set(b.features) == set(a.features) | set(b.features)


@pytest.mark.parametrize(
    ("features", "size", "registers"),
    [(("avx512f", "avx2"), 64, 32), (("avx", "avx2"), 32, 16), (("sse4.2",), 16, 16), (("neon",), 16, 32)],
)
def test_vector_facts(features: tuple[str, ...], size: int, registers: int) -> None:
    target = Target(features=features)
    assert (target.vector_bytes, target.registers) == (size, registers)


def test_dicts_of_ours_and_of_tvm() -> None:
    import tvm

    ours = Target.parse({"kind": "cpu", "mcpu": "skylake-avx512", "cores": 8, "l2": 1 << 20})
    assert (ours.mcpu, ours.cores, ours.l2, ours.vector_bytes) == ("skylake-avx512", 8, 1 << 20, 64)
    theirs = {"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 8}
    assert Target.parse(theirs) == ours
    assert Target.parse(tvm.target.Target(theirs)) == ours
    less = Target.parse({**theirs, "mattr": ["-avx512f"]})
    assert "avx512f" not in less.features
    assert "avx2" in less.features
    assert Target.parse({"features": ["avx"]}).features == ("avx",)
    assert Target.parse({"cores": 3}) == replace(Target.parse("cpu"), cores=3)


def test_target_files(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('kind = "cpu"\nmcpu = "icelake-server"\ncores = 32\nl3 = 50331648\n')
    target = Target.parse(str(file))
    assert (target.mcpu, target.cores, target.l3) == ("icelake-server", 32, 48 << 20)
    assert Target.parse(file) == target


REFUSED: list[tuple[Any, str]] = [
    ("gpu", "unknown target 'gpu'; known: 'cpu'"),
    ({"kind": "fpga"}, "unknown kind 'fpga'; known: cpu"),
    ({"kind": "cuda", "arch": "gfx90a"}, "arch 'gfx90a' is no architecture of NVIDIA's"),
    ({"kind": "cuda", "arch": 90}, "arch must be a name, got 90"),
    ({"kind": "cuda", "warp": 32}, "unknown key 'warp'; known: kind, device"),
    ({"kind": "opencl", "threads": 0}, "threads must be a whole number above 0, got 0"),
    ({"kind": "metal", "block": 256}, "block takes the most threads of each axis"),
    ({"kind": "webgpu", "shared": "16K"}, "shared must be a whole number above 0, got '16K'"),
    ({"mcpu": "znver33"}, "LLVM knows no CPU 'znver33'; nearest names: znver3"),
    ({"cpu": "znver3"}, "unknown key 'cpu' (did you mean 'mcpu'?); known: kind, triple, mcpu"),
    ({"cores": 0}, "cores must be a whole number above 0, got 0"),
    ({"cores": "two"}, "cores must be a whole number above 0, got 'two'"),
    ({"cores": True}, "cores must be a whole number"),
    ({"features": "avx2"}, "features must be a list of names"),
    ({"features": ["avx3"]}, "unknown CPU feature 'avx3' (did you mean 'avx'?); known: "),
    ("nowhere.toml", "nowhere.toml: No such file"),
    (7, "a target is a name, a dict, a .toml file or a Target; got int"),
    (None, "got NoneType"),
]


@pytest.mark.parametrize(("spec", "words"), REFUSED, ids=[repr(spec) for spec, _ in REFUSED])
def test_a_target_nobody_knows(spec: Any, words: str) -> None:
    with pytest.raises(TargetError) as caught:
        Target.parse(spec)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("kind = cpu")
    with pytest.raises(TargetError, match="not TOML"):
        Target.parse(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(TargetError, match="not TOML"):
        Target.parse(file)


@pytest.mark.parametrize(
    "value", [{}, {"kind": "cpu"}, {"kind": "cpu", "mcpu": "x", "cores": "many"}, [], None, 3]
)
def test_json_that_is_no_target(value: Any) -> None:
    with pytest.raises(TargetError, match="not a target"):
        Target.from_json(value)


def test_reading_targets_loads_no_compiler() -> None:
    program = """
    import json, sys
    from loopwright.sched.runtime.target import Target, host_facts
    logged = Target.from_json({"kind": "cpu", "mcpu": "znver3", "cores": 2, "features": ["avx2"]})
    logged.compatible_with(host_facts()), logged.vector_bytes, logged.describe()
    print(json.dumps(sorted({"tvm", "tvm_ffi", "numpy"} & set(sys.modules))))
    """
    assert run(program) == []


@pytest.mark.parametrize("elsewhere", [False, True])
def test_this_host_is_named_before_tvm_is_imported(elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless TVM was told where its libraries are: then it loads them itself. Kernels are built as ever, after that."""
    if elsewhere:
        found = importlib.util.find_spec("tvm")
        assert found is not None and found.origin is not None
        monkeypatch.setenv("TVM_LIBRARY_PATH", str(Path(found.origin).parent / "lib"))
    program = """
    import json, sys
    import numpy as np
    from loopwright.sched.runtime.target import host
    name, loaded = host().mcpu, "tvm" in sys.modules
    import loopwright as lw
    from loopwright import ops
    right = float(lw.build(ops.relu(X=(2,)))(np.array([-1, 3], "float32"))[1]) == 3.0
    import tvm
    print(json.dumps([name == tvm.get_global_func("target.llvm_get_system_cpu")(), loaded, right]))
    """
    assert run(program) == [True, elsewhere, True]

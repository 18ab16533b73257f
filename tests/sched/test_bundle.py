"""Many kernels in one library: each call goes to the kernel that fits, and what fits none is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import (
    ArgumentError,
    ArgumentTypeError,
    DefinitionError,
    ExportError,
    LoadError,
    TargetError,
)
from loopwright.sched.runtime.kernel import Kernel
from loopwright.sched.runtime.manifest import Manifest


@lw.operator
def scaled(M: int, N: int, by: int = 2, dtype: str = "int32") -> object:
    x = lw.input("x", (M, N), dtype)
    return lw.compute("y", (M, N), lambda i, j: x[i, j] * by)


@lw.operator
def row_sums(M: int, N: int) -> object:
    x = lw.input("x", (M, N), "int32")
    k = lw.reduce_axis("k", N)
    return lw.compute("y", (M,), lambda i: lw.sum(x[i, k], over=k))


def any_rows(by: int, **promises: int) -> Kernel:
    return lw.build(scaled(lw.size("m", **promises), 3, by))


@pytest.fixture(scope="module")
def kernels() -> list[Kernel]:
    """By what they multiply with one can tell which has run."""
    small, large = any_rows(10), any_rows(20)
    small.at, large.at = ({"m": 4}, {"m": 7}), ({"m": 1000},)
    return [any_rows(40), small, large, lw.build(scaled(5, 3, 30)), lw.build(scaled(5, 2, 50)),
            lw.build(scaled(5, 3, 60, "int64"))]  # fmt: skip


@pytest.fixture(scope="module")
def bundle(kernels: list[Kernel], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lw.Bundle([*kernels, lw.build(row_sums(4, 6))]).export(
        tmp_path_factory.mktemp("bundle") / "all.so"
    )


def ran(operator: lw.Dispatch, *shape: int, dtype: str = "int32") -> int:
    """Which kernel has computed this shape, and all of it."""
    x = np.arange(1, 1 + np.prod(shape), dtype=dtype).reshape(shape)
    y = operator(x)
    by = int(y.ravel()[0]) if y.size else 0
    np.testing.assert_array_equal(y, x * by)
    return by


@pytest.mark.parametrize("loaded", [False, True])
def test_each_call_goes_to_the_kernel_that_fits(kernels: list[Kernel], bundle: Path, loaded: bool) -> None:
    operator = lw.load(bundle)["scaled"] if loaded else lw.Dispatch(kernels)
    for _ in range(2):  # found out, and remembered
        assert ran(operator, 5, 3) == 30
        assert ran(operator, 5, 2) == 50
        assert ran(operator, 5, 3, dtype="int64") == 60
        assert [ran(operator, m, 3) for m in (1, 4, 6, 7, 80, 90, 1000, 5000)] == [
            10,
            10,
            10,
            10,
            10,
            20,
            20,
            20,
        ]
        assert ran(operator, 0, 3) == 0
    assert operator.choose(np.zeros((0, 3), "int32")) is operator.kernels[1]
    x = np.ones((5, 3), "int32")
    out = np.empty_like(x)
    assert operator(x=x, out=out) is out
    assert (out == 30).all()


def test_promises_decide_too() -> None:
    operator = lw.Dispatch([any_rows(2, multiple_of=4), any_rows(3, at_most=9)])
    assert [ran(operator, m, 3) for m in (8, 5, 12)] == [2, 3, 2]
    with pytest.raises(ArgumentError, match="has no kernel for x: int32\\[13, 3\\]"):
        operator(np.zeros((13, 3), "int32"))


def test_what_fits_no_kernel(kernels: list[Kernel]) -> None:
    operator = lw.Dispatch(kernels)
    with pytest.raises(ArgumentError) as caught:
        operator(np.zeros((5, 4), "int32"))
    lines = str(caught.value).splitlines()
    assert lines[0] == "scaled has no kernel for x: int32[5, 4]; it has"
    assert lines[1] == "    scaled(x: int32[m, 3]) -> y: int32[m, 3]"
    assert lines[-1] == "    and 2 more"
    with pytest.raises(ArgumentError, match="float32"):
        operator(np.zeros((5, 3), "float32"))
    with pytest.raises(ArgumentTypeError, match="scaled takes 1 array"):
        operator()
    with pytest.raises(ArgumentTypeError, match="argument x is None"):
        operator(None)
    with pytest.raises(ArgumentError, match="strides"):
        operator(np.zeros((3, 5), "int32").T)


def test_other_arrays_are_shared(kernels: list[Kernel]) -> None:
    operator = lw.Dispatch(kernels)
    x = np.arange(15, dtype="int32").reshape(5, 3)
    np.testing.assert_array_equal(operator(memoryview(x)), x * 30)


def test_a_bundle_is_a_mapping(bundle: Path) -> None:
    model = lw.load(bundle)
    assert list(model) == ["scaled", "row_sums"] and len(model.kernels) == 7
    assert repr(model) == "<Bundle of 7 kernels: scaled, row_sums>"
    np.testing.assert_array_equal(model["row_sums"](np.ones((4, 6), "int32")), [6] * 4)
    with pytest.raises(KeyError, match="no operator 'matmul' in this bundle; it has scaled, row_sums"):
        model["matmul"]


def test_a_dispatch_ships_alone(kernels: list[Kernel], tmp_path: Path) -> None:
    loaded = lw.load(lw.Dispatch(kernels[:2]).export(tmp_path / "scaled.so"))
    assert repr(loaded) == "<Dispatch scaled: 2 kernels>"
    assert ran(loaded, 9, 3) == 10
    with pytest.raises(ExportError, match="was loaded from a library, which holds no more of it"):
        loaded.export(tmp_path / "again.so")


def test_the_manifest(kernels: list[Kernel], bundle: Path) -> None:
    manifest = Manifest.read(bundle)
    assert sorted(manifest.versions) == ["loopwright", "tvm"]
    assert len({entry.symbol for entry in manifest.entries}) == 7
    entry, kernel = manifest.entries[3], kernels[3]
    assert kernel.schedule is not None
    assert entry.workload == scaled(5, 3, 30).key
    assert entry.schedule == kernel.schedule.to_json()
    assert (entry.target, entry.provenance) == (kernel.target, kernel.provenance)


def test_kernels_for_other_cpus_are_left_out(kernels: list[Kernel], tmp_path: Path) -> None:
    here, elsewhere = lw.build(scaled(2, 3, 2)), lw.build(scaled(2, 3, 3))
    elsewhere.target = replace(elsewhere.target, features=("sve",))
    loaded = lw.load(lw.Dispatch([elsewhere, here]).export(tmp_path / "fat.so"))
    assert ran(loaded, 2, 3) == 2
    assert len(loaded.kernels) == 1
    path = lw.Bundle([elsewhere, kernels[3], lw.build(row_sums(4, 6))]).export(tmp_path / "bundle.so")
    assert list(lw.load(path)) == ["scaled", "row_sums"]
    path = lw.Bundle([elsewhere, lw.build(row_sums(4, 6))]).export(tmp_path / "other.so")
    with pytest.raises(
        TargetError, match=r"scaled in .*other.so was built for a CPU with sve; this one lacks it"
    ):
        lw.load(path)


def test_a_bundle_that_is_cut_off_or_changed(bundle: Path, tmp_path: Path) -> None:
    data, bad = bundle.read_bytes(), tmp_path / "bad.so"
    bad.write_bytes(data[: len(data) // 2])
    with pytest.raises(LoadError, match="is damaged: it ends too early"):
        lw.load(bad)
    bad.write_bytes(data.replace(b'"symbol":"main_1"', b'"symbol":"main_2"'))
    with pytest.raises(LoadError, match="was changed after it was written: its checksum does not fit"):
        lw.load(bad)


def test_what_does_not_belong_together() -> None:
    for kind in (lw.Dispatch, lw.Bundle):
        with pytest.raises(DefinitionError, match="is made of at least one kernel"):
            kind([])
    with pytest.raises(DefinitionError, match="they are different operators"):
        lw.Dispatch([lw.build(scaled(2, 3)), lw.build(row_sums(2, 3))])

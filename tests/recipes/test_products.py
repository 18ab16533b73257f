"""Products of narrow elements get the instruction that sums several of them, and compute the right thing to the bit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright as lw
from loopwright import ops
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.cache import key_of
from loopwright.sched.runtime.target import Target, host
from loopwright.sched.scheduling.schedule import Schedule

from ..sched.test_tensorize import extremes, product
from .emulated import emulated
from .judging import ONE_CORE, assert_golden, assert_right

AVX2 = pytest.mark.skipif("avx2" not in host().features, reason="the instruction needs AVX2")
BYTES = ("int8", "uint8")


def instruction(schedule: Schedule) -> str | None:
    """The intrinsic that a schedule uses, if it uses one."""
    found = [directive.get("intrinsic") for directive in schedule.directives if directive.kind == "tensorize"]
    return found[0] if found else None


def assert_exact(schedule: Schedule) -> lw.Kernel:
    """The same integers as the reference, with sums that wrap among them."""
    kernel = lw.build(schedule.work, target="cpu", schedule=schedule)
    arrays = extremes(schedule.work)
    np.testing.assert_array_equal(kernel(*arrays), schedule.work.reference(*arrays))
    return kernel


@AVX2
@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
@pytest.mark.parametrize("size", [(13, 43, 11), (6, 16, 8), (2, 3, 4), (5, 9, 3)])
def test_bytes_of_either_sign(left: str, right: str, size: tuple[int, int, int]) -> None:
    schedule = default_schedule(product(*size, left, right), ONE_CORE)
    assert instruction(schedule) == "avx2.dot8x2.i16"
    # Where the CPU has it, LLVM makes one instruction of the products and the addition.
    assert re.search("vpmaddwd|vpdpwssd", str(assert_exact(schedule).source("asm")))
    assert_exact(default_schedule(schedule.work, host()))


@AVX2
@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 20), st.integers(0, 40), st.integers(0, 20), st.sampled_from(BYTES), st.sampled_from(BYTES)
)
def test_any_size(M: int, N: int, K: int, left: str, right: str) -> None:
    work = product(M, N, K, left, right)
    assert_exact(default_schedule(work, host()))


@AVX2
def test_sums_of_the_largest_products_are_exact() -> None:
    """Two of them at once would not fit 16 bits: 2 * 255 * -128 and 2 * -128 * -128 are where vpmaddubsw saturates."""
    for left, right, a, b in (
        ("uint8", "int8", 255, -128),
        ("int8", "int8", -128, -128),
        ("uint8", "uint8", 255, 255),
    ):
        work = product(7, 17, 31, left, right)
        kernel = lw.build(work, target="cpu", schedule=default_schedule(work, host()))
        got = kernel(np.full((7, 31), a, left), np.full((31, 17), b, right))
        np.testing.assert_array_equal(got, np.full((7, 17), 31 * a * b, np.int32))


@AVX2
@pytest.mark.parametrize(
    "options", [{"ta": True}, {"tb": True}, {"ta": True, "tb": True}, {"bias": True, "activation": "relu"},
                {"batch_a": (3,), "batch_b": (3,)}, {"batch_a": (2, 3)}, {"dtype": "uint8"}, {"dtype": "int16"}]
)  # fmt: skip
def test_products_of_the_library(options: dict[str, object]) -> None:
    work = ops.matmul(**{"M": 14, "N": 20, "K": 9, "dtype": "int8", **options})  # type: ignore[arg-type]
    schedule = default_schedule(work, ONE_CORE)
    assert instruction(schedule) == f"avx2.dot8x2.i16{'.u32' if work.stages[-1].dtype == 'uint32' else ''}"
    assert_exact(schedule)


CONVOLUTIONS: dict[str, dict[str, object]] = {
    "padded": {"padding": 1},
    "stride 2": {"stride": 2},
    "three channels": {"C": 3, "padding": 1},
    "vectors that are not full": {"K": 20, "padding": 1},
    "two pictures": {"N": 2, "C": 5, "K": 24},
    "groups": {"groups": 2, "padding": 1},
    "1x1": {"R": 1, "S": 1},
    "channels first": {"layout": "NCHW", "C": 5, "K": 19, "N": 2, "stride": 2, "padding": 1},
    "channels first, 1x1": {"layout": "NCHW", "R": 1, "S": 1},
    "an epilogue": {"padding": 1, "bias": True, "activation": "relu"},
    "bytes of either sign": {"padding": 1, "dtype": ("uint8", "int8")},
}


def convolution(**options: object) -> Workload:
    small = {"N": 1, "H": 7, "W": 9, "C": 8, "K": 16, "R": 3, "S": 3, "dtype": "int8"}
    return ops.conv2d(**{**small, **options})  # type: ignore[arg-type]


@AVX2
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_of_bytes(name: str) -> None:
    work = convolution(**CONVOLUTIONS[name])
    schedule = default_schedule(work, ONE_CORE)
    assert instruction(schedule) == "avx2.dot8x2.i16"
    assert_exact(schedule)
    assert_exact(default_schedule(work, host()))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_convolutions_of_bfloat16(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = convolution(layout=layout, C=5, padding=1, dtype="bfloat16")
    assert_right(default_schedule(work, ONE_CORE))
    schedule = default_schedule(work, cpu("avx512f", "avx512bw", "avx512bf16"))
    assert instruction(schedule) == "avx512.bf16.dot16x2"
    with emulated(monkeypatch):
        assert_right(schedule)


@AVX2
def test_every_candidate_is_right() -> None:
    for work in (product(16, 24, 256), product(13, 43, 11), convolution(K=20), convolution(layout="NCHW")):
        space = SearchSpace(sketches(work, host()), host())
        found = [s for s in map(space.schedule, space.sample(np.random.default_rng(0), 20)) if s is not None]
        assert len(found) >= 19
        assert all(instruction(schedule) for schedule in found)
        for schedule in found[:1]:
            assert_exact(schedule)


def cpu(*features: str) -> Target:
    """A CPU with AVX2 and more."""
    return Target("cpu", "x86-64", 1, ("avx", "avx2", "fma", *features), (32768, 524288, 33554432))


VNNI = cpu("avx512f", "avx512bw", "avx512vnni")
CHOSEN = {
    "AVX-512 VNNI": (VNNI, {"u8i8": "avx512.vnni.dot16x4", "i8u8": "avx512.vnni.dot16x4.i8u8"}, "avx512.vnni.dot16x2.i16"),
    "AVX-VNNI": (cpu("avxvnni"), {"u8i8": "avx.vnni.dot8x4", "i8u8": "avx.vnni.dot8x4.i8u8"}, "avx.vnni.dot8x2.i16"),
    "AVX-512": (cpu("avx512f", "avx512bw"), {}, "avx512.dot16x2.i16"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_schedules_for_other_cpus_run_here_with_their_instruction_emulated(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before that, the implementation of each intrinsic is compared with its definition, in the same emulation."""
    target, special, otherwise = CHOSEN[name]
    for left, right in (("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")):
        work = product(5, 19, 6, left, right)
        schedule = default_schedule(work, target)
        short = f"{left}{right}".replace("uint", "u").replace("int", "i")
        assert instruction(schedule) == special.get(short, otherwise)
        with emulated(monkeypatch):
            assert_exact(schedule)


def test_bytes_of_one_sign_are_stored_with_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where enough rows share what the correction costs: vpdpbusd wants bytes of either sign."""
    for target, work, kind in (
        (VNNI, product(37, 19, 6, "int8", "int8"), "16x4"),
        (VNNI, ops.matmul(M=33, N=13, K=5, dtype="uint8", batch_a=(2,)), "16x4.i8u8.u32"),
        (VNNI, ops.matmul(M=33, N=13, K=5, dtype="int8", weights="B", bias=True, activation="relu"), "16x4"),
        (VNNI, convolution(W=35, C=5, K=13, padding=1, layout="NCHW"), "16x4"),
        (cpu("avxvnni"), product(37, 13, 6, "uint8", "uint8"), "8x4.i8u8"),
    ):
        schedule = default_schedule(work, target)
        assert str(instruction(schedule)).endswith(kind)
        assert any(directive.kind == "offset" for directive in schedule.directives)
        with emulated(monkeypatch):
            assert_exact(schedule)


def test_pairs_of_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among them subnormal numbers, which the instruction takes for zero, as the reference admits."""
    work = ops.matmul(M=5, N=19, K=7, dtype="bfloat16")
    schedule = default_schedule(work, cpu("avx512f", "avx512bw", "avx512bf16"))
    assert instruction(schedule) == "avx512.bf16.dot16x2"
    with emulated(monkeypatch):
        kernel = lw.build(work, target="cpu", schedule=schedule)
    for scale in (1.0, 1e-39):
        a, b = random_inputs(work, seed=1)
        a = (a.astype(np.float32) * np.float32(scale)).astype(a.dtype)
        assert Expected.of(work, [a, b]).check(kernel(a, b)) is None


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn"])
def test_narrow_floats_are_widened_in_the_copies(dtype: str) -> None:
    work = ops.matmul(M=13, N=43, K=11, dtype=dtype)
    schedule = default_schedule(work, ONE_CORE)
    wide = [d.get("dtype") for d in schedule.directives if d.kind == "cache_read"]
    assert wide == ["float32", "float32"]
    assert_right(schedule)


@pytest.mark.parametrize(
    ("mcpu", "left", "right", "instruction"),
    [
        ("cascadelake", "uint8", "int8", "vpdpbusd"),
        ("icelake-server", "int8", "uint8", "vpdpbusd"),
        ("znver4", "int8", "int8", "vpdpbusd"),
        ("znver4", "int16", "int16", "vpdpwssd"),
        ("skylake-avx512", "int8", "int8", "vpmaddwd"),
        ("znver4", "bfloat16", "bfloat16", "vdpbf16ps"),
        ("znver3", "bfloat16", "bfloat16", "vfmadd231ps"),
    ],
)
def test_innermost_loops_hold_nothing_but_loads_and_the_instruction(
    mcpu: str, left: str, right: str, instruction: str
) -> None:
    work = ops.matmul(M=96, N=96, K=96, dtype=left) if left == right else product(96, 96, 96, left, right)
    target = Target.parse({"kind": "cpu", "mcpu": mcpu, "cores": 1})
    kernel = lw.build(work, target=target, schedule=default_schedule(work, target))
    blocks = [
        block.splitlines() for block in re.split(r"\n\.LBB|\n\s+j\w+\s[^\n]*", str(kernel.source("asm")))
    ]
    loop = max(blocks, key=lambda lines: sum(instruction in line for line in lines))
    used = {line.split()[0] for line in loop if line.startswith("\t") and not line.startswith("\t.")}
    assert sum(instruction in line for line in loop) >= 12
    assert not any("sp)" in line for line in loop)
    loads = {"vpbroadcastd", "vbroadcastss", "vmovdqu", "vmovdqu64", "vmovups", "vmovaps", "vmovdqa64"}
    assert used - loads <= {instruction, "vpaddd", "addq", "subq", "addl", "incq", "cmpq", "decq"}


def test_bytes_on_aarch64() -> None:
    target = Target.parse({"kind": "cpu", "mcpu": "neoverse-n1", "triple": "aarch64-linux-gnu", "cores": 1})
    for dtype, name in (("int8", "sdot"), ("uint8", "udot")):
        work = product(96, 96, 96, dtype, dtype)
        kernel = lw.build(work, target=target, schedule=default_schedule(work, target))
        assert str(kernel.source("asm")).count(name) >= 12


@AVX2
def test_sizes_that_only_a_call_knows() -> None:
    """Rows and columns may be any number; without the length of the sum, groups of it cannot be laid out."""
    n = lw.size("n")
    for sizes, used in (((n, 20, 9), True), ((9, n, 8), True), ((9, 20, n), False)):
        work: Workload = product(*sizes)
        schedule = default_schedule(work, host())
        assert bool(instruction(schedule)) == used
        kernel = lw.build(work, target="cpu", schedule=schedule)
        for length in (13, 1):
            arrays = extremes(work.at({"n": length}))
            np.testing.assert_array_equal(kernel(*arrays), work.reference(*arrays))


def test_a_cpu_behind_opencl_has_no_single_instructions() -> None:
    target = Target.from_json(
        {
            "kind": "opencl",
            "mcpu": "pocl",
            "cores": 2,
            "threads": 4096,
            "block": [4096] * 3,
            "shared": 32768,
            "cpu_vectors": 32,
        }
    )
    for sketch in sketches(product(24, 32, 18), target):
        assert instruction(sketch.schedule) is None


def test_short_vectors_take_the_next_instruction_that_they_fill() -> None:
    """Eight filters in a group do not fill a vector of 16, and a half of an axis cannot be padded."""
    work = convolution(groups=2, padding=1, dtype=("uint8", "int8"))
    assert instruction(default_schedule(work, VNNI)) == "avx2.dot8x2.i16"
    assert instruction(default_schedule(convolution(groups=4), VNNI)) is None


def test_what_is_not_such_a_product_has_no_intrinsic() -> None:
    """Another accumulator, three factors, a power, a target without the instruction."""
    i, j, k = 16, 32, 8

    def made(value: object, dtype: str) -> Workload:
        @lw.operator
        def other() -> object:
            A, B = lw.input("A", (i, k), "int8"), lw.input("B", (k, j), "int8")
            r = lw.reduce_axis("r", k)
            return lw.compute("C", (i, j), lambda y, x: lw.sum(value(A[y, r], B[r, x]), over=r, dtype=dtype))  # type: ignore[operator]

        return other()

    assert instruction(default_schedule(made(lambda a, b: a * b, "int32"), ONE_CORE))
    for work in (
        made(lambda a, b: lw.cast("int64", a) * lw.cast("int64", b), "int64"),
        made(lambda a, b: lw.cast("int32", a) + lw.cast("int32", b), "int32"),
        made(lambda a, b: lw.cast("int32", a) * lw.cast("int32", b) * 3, "int32"),
        made(
            lambda a, b: lw.cast("int32", lw.cast("int8", lw.cast("int32", a) * 3)) * lw.cast("int32", b),
            "int32",
        ),
    ):
        assert instruction(default_schedule(work, ONE_CORE)) is None
    assert instruction(default_schedule(product(i, j, k), Target("cpu", "x86-64", 1, ("sse2",)))) is None


def test_the_nest() -> None:
    assert_golden("matmul_int8_avx2", default_schedule(product(50, 40, 31), ONE_CORE))


@AVX2
def test_forms() -> None:
    work = product(13, 43, 11)
    schedule = default_schedule(work, host())
    assert Schedule.from_json(work, schedule.to_json()) == schedule
    names: dict[str, object] = {"work": work, "lw": lw}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule
    assert key_of(schedule, host(), work) is not None


@AVX2
def test_tuning_keeps_the_instruction_in_the_log(tmp_path: Path) -> None:
    work, log = ops.matmul(M=24, N=20, K=18, dtype="int8"), tmp_path / "log.jsonl"
    result = lw.tune(work, target="cpu", trials=3, log=log, seed=0)
    assert result.best is not None
    kernel = lw.build(work, target="cpu", log=log)
    arrays = extremes(work)
    np.testing.assert_array_equal(kernel(*arrays), work.reference(*arrays))
    assert str(kernel.provenance).startswith("matmul")
    assert instruction(kernel.schedule) == instruction(default_schedule(work, host()))

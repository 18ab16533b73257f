"""tensorize: an intrinsic stands where its definition would, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import host
from loopwright.sched.scheduling.schedule import Schedule

HOST = set(host().features)
X86 = pytest.mark.skipif("avx2" not in HOST, reason="the intrinsic needs AVX2")

GEMV = """
define void @gemv_update(ptr %out, ptr %a, ptr %b, i64 %so, i64 %sa, i64 %sbi, i64 %sbk) {
entry:
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i1, %done ]
  %io = mul i64 %i, %so
  %op = getelementptr float, ptr %out, i64 %io
  %o0 = load float, ptr %op
  br label %terms
terms:
  %k = phi i64 [ 0, %rows ], [ %k1, %terms ]
  %s = phi float [ %o0, %rows ], [ %s1, %terms ]
  %ka = mul i64 %k, %sa
  %ap = getelementptr float, ptr %a, i64 %ka
  %av = load float, ptr %ap
  %ib = mul i64 %i, %sbi
  %kb = mul i64 %k, %sbk
  %ikb = add i64 %ib, %kb
  %bp = getelementptr float, ptr %b, i64 %ikb
  %bv = load float, ptr %bp
  %m = fmul float %av, %bv
  %s1 = fadd float %s, %m
  %k1 = add i64 %k, 1
  %kd = icmp eq i64 %k1, 4
  br i1 %kd, label %done, label %terms
done:
  store float %s1, ptr %op
  %i1 = add i64 %i, 1
  %id = icmp eq i64 %i1, 8
  br i1 %id, label %end, label %rows
end:
  ret void
}
"""


@lw.operator
def product(M: int, N: int, K: int, left: str = "int8", right: str = "int8") -> Any:
    A, B = lw.input("A", (M, K), left), lw.input("B", (K, N), right)
    k = lw.reduce_axis("k", K)
    return lw.compute(
        "C", (M, N), lambda i, j: lw.sum(lw.cast("int32", A[i, k]) * lw.cast("int32", B[k, j]), over=k)
    )


@lw.operator
def product_of_rows(M: int, N: int, K: int) -> Any:
    A, B = lw.input("A", (M, K)), lw.input("B", (N, K))
    k = lw.reduce_axis("k", K)
    return lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[j, k], over=k))


def packed(work: Workload, outputs: int, terms: int, rows: int = 4) -> Schedule:
    return (
        work.schedule()
        .tile("C", i=("io", "ii", rows), j=("jo", "ji", outputs), k=("ko", "ki", terms))
        .reorder("C", "io jo ko ii ji ki")
        .cache_read("B", name="Bp")
        .tile("Bp", k=("ko", "ki", terms), j=("jo", "ji", outputs))
        .reorder("Bp", "jo ko ji ki")
        .transform_layout("Bp", "jo ko ji ki")
        .unroll("C.ii")
    )


def extremes(work: Workload, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    found = []
    for t in work.inputs:
        if np.issubdtype(t.dtype, np.integer):
            limits = np.iinfo(t.dtype)
            values = rng.integers(limits.min, limits.max, t.shape, t.dtype, endpoint=True)
            ends = rng.choice(np.array([limits.min, limits.max], t.dtype), t.shape)
            found.append(np.where(rng.random(t.shape) < 0.5, ends, values))
        else:
            found.append(rng.integers(-4, 5, t.shape).astype(t.dtype))
    return found


def computes(schedule: Schedule, target: str = "cpu") -> lw.Kernel:
    kernel = lw.build(schedule.work, target=target, schedule=schedule)
    arrays = extremes(schedule.work)
    np.testing.assert_array_equal(kernel(*arrays), schedule.work.reference(*arrays))
    return kernel


@X86
@pytest.mark.parametrize(
    ("name", "left", "right"),
    [("i16", "int16", "int16"), ("i8", "int8", "int8"), ("u8i8", "uint8", "int8")],
)
@pytest.mark.parametrize("size", [(16, 32, 8), (13, 43, 11), (5, 9, 3), (1, 8, 2), (4, 17, 1)])
def test_dot_products_of_pairs(name: str, left: str, right: str, size: tuple[int, int, int]) -> None:
    """Sums wrap, as they do in the definition; tails are ordinary code."""
    schedule = packed(product(*size, left, right), 8, 2)
    if size[2] == 1:
        with pytest.raises(lw.ScheduleError, match="the loops from there inwards are"):
            schedule.tensorize("C.ji", f"avx2.dot8x2.{name}")
        return
    kernel = computes(schedule.tensorize("C.ji", f"avx2.dot8x2.{name}"))
    # Where the CPU has it, LLVM makes one instruction of the products and the addition.
    assert re.search("vpmaddwd|vpdpwssd", kernel.source("asm"))


@X86
def test_products_written_without_casts() -> None:
    """int8 * int8 is widened by the sum; uint8 * int8 meets in int16 first, which loses nothing."""

    @lw.operator
    def bare(M: int, N: int, K: int, left: str) -> Any:
        A, B = lw.input("A", (M, K), left), lw.input("B", (K, N), "int8")
        k = lw.reduce_axis("k", K)
        return lw.compute("C", (M, N), lambda i, j: lw.sum(B[k, j] * A[i, k], over=k))

    computes(packed(bare(6, 24, 10, "int8"), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8"))
    computes(packed(bare(6, 24, 10, "uint8"), 8, 2).tensorize("C.ji", "avx2.dot8x2.u8i8"))


@X86
@pytest.mark.parametrize("at", [None, "C.io", "C.jo"])
def test_other_schedules_around_it(at: str | None) -> None:
    base = packed(product(13, 43, 22), 8, 2)
    schedule = base if at is None else base.compute_at("Bp", at)
    computes(schedule.tensorize("C.ji", "avx2.dot8x2.i8").parallel("C.io"))
    computes(schedule.reorder("C", "ko io jo").tensorize("C.ji", "avx2.dot8x2.i8"))
    computes(schedule.tensorize("C.ji", "avx2.dot8x2.i8").cache_write("C", at="C.jo"))
    turned = base.reorder("C", "ki ji").tensorize("C.ki", "avx2.dot8x2.i8")
    computes(turned)


@X86
def test_an_epilogue_follows_it() -> None:
    @lw.operator
    def quantised(M: int, N: int, K: int) -> Any:
        A, B = lw.input("A", (M, K), "int8"), lw.input("B", (K, N), "int8")
        k = lw.reduce_axis("k", K)
        return lw.compute("C", (M, N), lambda i, j: lw.max(lw.sum(A[i, k] * B[k, j], over=k) // 16, 0))

    computes(packed(quantised(13, 43, 22), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8"))


@pytest.mark.parametrize(
    ("name", "mcpu", "instruction", "outputs", "terms", "left"),
    [
        ("avx512.vnni.dot16x4", "cascadelake", "vpdpbusd", 16, 4, "uint8"),
        ("avx512.vnni.dot16x4", "icelake-server", "vpdpbusd", 16, 4, "uint8"),
        ("avx512.dot16x2.i8", "skylake-avx512", "vpmaddwd", 16, 2, "int8"),
        ("avx.vnni.dot8x4", "alderlake", "vpdpbusd", 8, 4, "uint8"),
    ],
)
def test_instructions_of_other_cpus(
    name: str, mcpu: str, instruction: str, outputs: int, terms: int, left: str
) -> None:
    work = product(13, 43, 22, left, "int8")
    schedule = packed(work, outputs, terms).tensorize("C.ji", name)
    target = {"kind": "cpu", "mcpu": mcpu}
    assert instruction in lw.build(work, target=target, schedule=schedule).source("asm")
    if lw.Target.parse(target).compatible_with(host()):
        computes(schedule)
    generic = {"kind": "cpu", "mcpu": "x86-64"}
    with pytest.raises(lw.TargetError, match=f"the intrinsic '{name}' needs avx"):
        lw.build(work, target=generic, schedule=schedule)


def rows_times_row() -> Any:
    a, b = lw.input("a", (4,)), lw.input("b", (8, 4))
    k = lw.reduce_axis("k", 4)
    return lw.compute("out", (8,), lambda i: lw.sum(a[k] * b[i, k], over=k))


def test_a_function_in_llvms_assembly() -> None:
    """TE's tutorial calls a C function for a small matrix-vector product; strides let it read unpacked rows."""
    lw.intrinsic("gemv", rows_times_row, lw.LlvmFunction("gemv_update", GEMV, strides=True))
    base = (
        product_of_rows(9, 30, 22)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 8), k=("ko", "ki", 4))
        .reorder("C", "io jo ko ii ji ki")
    )
    computes(base.tensorize("C.ji", "gemv"))
    computes(base.unroll("C.ii").tensorize("C.ji", "gemv"))
    computes(base.reorder("C", "jo io ko ii").tensorize("C.ji", "gemv").parallel("C.jo"))


# The same, with sums that begin anew.
GEMV_NEW = GEMV.replace("@gemv_update", "@gemv_new").replace("load float, ptr %op", "fadd float 0.0, 0.0")


@pytest.mark.parametrize("steps", [4, 12])
@pytest.mark.parametrize("rows", ["C.i", "C.ji"])
def test_a_function_that_can_begin_sums(steps: int, rows: str) -> None:
    """Where it has all their terms, nothing sets them up before, and they stand in the stage's own array."""
    both = lw.LlvmFunction("gemv_update", GEMV + GEMV_NEW, strides=True, begins="gemv_new")
    lw.intrinsic("gemv2", rows_times_row, both)
    base = (
        product_of_rows(9, 32, steps)
        .schedule()
        .tile("C", j=("jo", "ji", 8), k=("ko", "ki", 4))
        .reorder("C", "i jo ko ji ki" if rows == "C.i" else "jo i ko ji ki")
    )
    kernel = computes(base.tensorize("C.ji", "gemv2"))
    assert ("gemv_new" in str(kernel.source("tir")).replace("@gemv_new", "")) == (steps == 4)
    assert "C_acc" not in str(kernel.source("tir"))


def test_a_function_that_begins_sums_wrongly_is_found() -> None:
    wrong = GEMV_NEW.replace("fadd float 0.0, 0.0", "fadd float 0.0, 1.0")
    lw.intrinsic(
        "gemv3",
        rows_times_row,
        lw.LlvmFunction("gemv_update", GEMV + wrong, strides=True, begins="gemv_new"),
    )
    base = product_of_rows(9, 32, 4).schedule().tile("C", j=("jo", "ji", 8), k=("ko", "ki", 4))
    with pytest.raises(lw.BuildError, match="the intrinsic 'gemv3' does not do what its definition says"):
        lw.build(base.work, schedule=base.reorder("C", "i jo ko ji ki").tensorize("C.ji", "gemv3"))


def test_a_function_on_vectors() -> None:
    from tvm import tirx

    def definition() -> Any:
        a, x = lw.input("a", ()), lw.input("x", (8,))
        return lw.compute("y", (8,), lambda i: a[()] * x[i] + 1)

    lw.intrinsic(
        "scale", definition, lambda a, x: tirx.Broadcast(a, 8) * x + tirx.Broadcast(tirx.const(1.0), 8)
    )

    @lw.operator
    def scaled(M: int, N: int) -> Any:
        x, s = lw.input("x", (M, N)), lw.input("s", (M,))
        return lw.compute("y", (M, N), lambda i, j: x[i, j] * s[i] + 1)

    schedule = scaled(5, 21).schedule().split("y.j", ("jo", "ji"), 8).tensorize("y.ji", "scale")
    computes(schedule)
    assert "scale" in lw.intrinsics()


def test_a_wrong_implementation_is_found_before_a_kernel_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tvm import tirx

    def definition() -> Any:
        x = lw.input("x", (8,), "int32")
        return lw.compute("y", (8,), lambda i: x[i] + 1)

    @lw.operator
    def next_ones(N: int) -> Any:
        x = lw.input("x", (N,), "int32")
        return lw.compute("y", (N,), lambda i: x[i] + 1)

    work = next_ones(16)
    for wrong, said in (
        (lambda x: x + tirx.Broadcast(tirx.const(2, "int32"), 8), "does not do what its definition says;\ny: "),
        (lambda x: tirx.Cast("float32x8", x), "its implementation gives float32x8, and its definition is int32x8"),
        (lambda x: 5, "its implementation gives int, and its definition is int32x8"),
    ):  # fmt: skip
        lw.intrinsic("next", definition, wrong)
        schedule = work.schedule().split("y.i", ("io", "ii"), 8).tensorize("y.ii", "next")
        with pytest.raises(lw.BuildError, match=said):
            lw.build(work, target="cpu", schedule=schedule)


@X86
def test_forms_and_translation() -> None:
    @lw.operator
    def other(P: int, Q: int, R: int) -> Any:
        X, Y = lw.input("X", (P, R), "int8"), lw.input("Y", (R, Q), "int8")
        i = lw.reduce_axis("i", R)
        return lw.compute(
            "D", (P, Q), lambda k, j: lw.sum(lw.cast("int32", X[k, i]) * lw.cast("int32", Y[i, j]), over=i)
        )

    work = product(13, 43, 22)
    schedule = packed(work, 8, 2).tensorize("C.ji", lw.knob("with", ["avx2.dot8x2.i8", "avx2.dot8x2.i16"]))
    assert schedule.valid_size == 1
    schedule = schedule.fill({"with": "avx2.dot8x2.i8"})
    assert Schedule.from_json(work, schedule.to_json()) == schedule
    names: dict[str, Any] = {"work": work, "lw": lw}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule
    computes(Schedule.from_json(other(13, 43, 22), schedule.to_json(), work.names))


@X86
def test_the_tuner_takes_it(tmp_path: Path) -> None:
    work = product(16, 32, 16)
    space = packed(work, 8, 2, lw.knob("rows", [2, 4])).tensorize("C.ji", "avx2.dot8x2.i8")  # type: ignore[arg-type]
    result = lw.tune(work, target="cpu", space=space, trials=2, log=tmp_path / "log.jsonl", seed=0)
    assert result.best is not None
    assert str(space) and space.fill(rows=4).explain()


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (lambda: lw.compute("y", (8,), lambda i: lw.cast("float32", i)), "an axis stands outside of an index"),
        (lambda: lw.compute("y", (8,), lambda i: lw.input("x", (16,))[i]), r"not all of x\[16\] is read"),
        (lambda: lw.compute("y", (8,), lambda i: lw.input("x", (8,), "bool")[i]), "numbers are needed"),
        (lambda: lw.compute("y", (8,), lambda i: lw.input("x", (4,))[i // 2]), "is not linear in the axes"),
    ],
)  # fmt: skip
def test_what_no_intrinsic_can_be(definition: Any, said: str) -> None:
    with pytest.raises(lw.DefinitionError, match=f"intrinsic 'odd': .*{said}"):
        lw.intrinsic("odd", definition, lambda x: x)


@X86
def test_an_intrinsic_may_have_all_the_loops_of_a_reduction() -> None:
    """No loop of the reduction is left outside: the sums begin right before it."""
    schedule = (
        product(6, 32, 2, "int16", "int16")
        .schedule()
        .split("C.j", ("jo", "ji"), 8)
        .reorder("C", "i jo ji k")
        .cache_read("B", name="Bp")
        .split("Bp.j", ("jo", "ji"), 8)
        .reorder("Bp", "jo ji k")
        .transform_layout("Bp", "jo ji k")
    )
    computes(schedule.tensorize("C.ji", "avx2.dot8x2.i16"))


@X86
def test_an_intrinsic_that_would_never_run_is_refused() -> None:
    """There are fewer columns than it computes: all of them are the tail, and that is ordinary code."""
    schedule = packed(product(4, 5, 6, "int16", "int16"), 8, 2)
    with pytest.raises(lw.ScheduleError, match="the loops from there inwards are ji in 5"):
        schedule.tensorize("C.ji", "avx2.dot8x2.i16")

"""Libraries for other kinds of machines: the right answers under emulation, and what is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import ExportError, TargetError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.manifest import Manifest
from loopwright.sched.runtime.triples import ARM
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.crossing import check, need_tools
from tests.sched.test_tensorize import packed, product

# Name of a target -> the processor that the emulator plays.
BOARDS = {
    "graviton3": ["-cpu", "max"],
    "riscv64": [],
    "riscv64-v": ["-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0"],
}
SOFTMAX = ops.softmax(7, 53)


def functions(dtype: str) -> Workload:
    """What is computed as vector arithmetic in place of the C library's functions."""
    x = lw.input("x", (37,), dtype)
    names = ("exp", "exp2", "tanh", "sin", "erf", "sigmoid", "atan", "round")
    made = [lw.compute(f"{n}_x", (37,), lambda i, n=n: getattr(lw, n)(x[i] * 0.75)) for n in names]
    made.append(lw.compute("logs", (37,), lambda i: lw.log(lw.abs(x[i]) + 0.25) + lw.sqrt(lw.abs(x[i]))))
    made.append(lw.compute("powers", (37,), lambda i: lw.pow(lw.abs(x[i]) + 0.5, x[i] * 0.5)))
    return Workload("functions", {}, [x], made)


def integers() -> Workload:
    """What C leaves undefined, or CPUs do differently."""
    shape = (6, 19)
    a, b = lw.input("a", shape, "int16"), lw.input("b", shape, "int16")
    return Workload("integers", {}, [a, b], [
        lw.compute("down", shape, lambda i, j: a[i, j] // (b[i, j] | 1) + a[i, j] % (b[i, j] | 1)),
        lw.compute("full", shape, lambda i, j: lw.saturating_add(a[i, j] * 9000, b[i, j] * 9000)),
        lw.compute("bits", shape, lambda i, j: lw.popcount(a[i, j]) + lw.clz(b[i, j] & 255)),
    ])  # fmt: skip


def rounded() -> Workload:
    """Where RISC-V's vectors ask how to round."""
    shape = (6, 19)
    a, b, f = lw.input("a", shape, "int16"), lw.input("b", shape, "int16"), lw.input("f", shape)
    half = lw.compute("half", shape, lambda i, j: lw.rounding_halving_add(a[i, j], b[i, j]))
    near = lw.compute("near", shape, lambda i, j: lw.saturating_cast("int8", f[i, j] * 100.0))
    return Workload("rounded", {}, [a, b, f], [half, near])


def narrow(dtype: str) -> Workload:
    x, k = lw.input("x", (5, 33), dtype), lw.reduce_axis("k", 33)
    scaled = lw.compute("scaled", (5, 33), lambda i, j: x[i, j] * 1.5 + x[i, 0])
    return Workload("narrow", {}, [x], [scaled, lw.compute("total", (5,), lambda i: lw.sum(x[i, k], over=k))])


def blurred() -> Workload:
    image = lw.input("image", (23, 31), "uint8")
    edge = lw.repeat_edge(image)
    sums = lw.compute(
        "sums", (23, 31), lambda y, x: sum(lw.cast("uint16", edge[y + d, x]) for d in (-1, 0, 1))
    )
    out = lw.compute("out", (23, 31), lambda y, x: lw.cast("uint8", sums[y, x] // 3))
    return Workload("blurred", {}, [image], [out])


def tiled() -> Schedule:
    """As a tuner would write it: tiles with tails, vectors, registers, threads."""
    tiles = ops.matmul(M=37, N=43, K=21).schedule().tile("C", i=("io", "ii", 5), j=("jo", "ji", 16))
    return tiles.reorder("C", "io jo k ii ji").vectorize("C.ji").unroll("C.ii").parallel("C.io")


def streamed() -> Schedule:
    a = lw.input("a", (9, 70))
    work = Workload("streamed", {}, [a], [lw.compute("y", (9, 70), lambda i, j: a[i, j] + 1.0)])
    return work.schedule().vectorize("y.j", 16).parallel("y.i").stream("y")


WORKS: list[Callable[[], Workload | Schedule]] = [
    lambda: ops.matmul(M=17, N=35, K=40, dtype="int8"),
    lambda: SOFTMAX,
    lambda: functions("float32"),
    integers,
    lambda: narrow("bfloat16"),
    tiled,
]


@pytest.mark.parametrize("name", BOARDS)
def test_what_they_compute(name: str, tmp_path: Path) -> None:
    target = lw.Target.parse(name)
    need_tools(target.triple)
    made = [make() for make in WORKS]
    if target.triple == ARM:
        made += [narrow("float16"), functions("float64"), blurred(), streamed()]
    if "v" not in target.features:  # QEMU 7.2 stops at the instruction that sets how vectors are rounded
        made.append(rounded())
    schedules = [m if isinstance(m, Schedule) else lw.default_schedule(m, target) for m in made]
    kernels = [lw.build(s.work, target=target, schedule=s) for s in schedules]
    check(kernels, BOARDS[name], tmp_path)


def test_intrinsics_of_theirs(tmp_path: Path) -> None:
    target = lw.Target.parse("rpi5")
    need_tools(target.triple)
    kernels = []
    for sign, dtype, instruction in (("i", "int8", "sdot"), ("u", "uint8", "udot")):
        schedule = packed(product(13, 43, 22, dtype, dtype), 4, 4).tensorize("C.ji", f"neon.dot4x4.{sign}8")
        kernels.append(lw.build(schedule.work, target=target, schedule=schedule))
        assert instruction in kernels[-1].source("asm")
    check(kernels, ["-cpu", "max"], tmp_path)
    with pytest.raises(TargetError, match="needs dotprod, which cpu cortex-a72 does not have"):
        lw.build(schedule.work, target="rpi4", schedule=schedule)


def test_float16_needs_instructions_on_risc_v() -> None:
    for name, missing in (("riscv64", "zfh"), ("riscv64-v", "zfh, zvfh")):
        with pytest.raises(
            TargetError, match=f"narrow: float16 needs {missing}, which cpu generic-rv64 does not"
        ):
            lw.build(narrow("float16"), target=name)
    kernel = lw.build(narrow("float16"), target="spacemit-k1")
    assert "vle16.v" in kernel.source("asm")
    assert "vscale" not in kernel.source("llvm"), "vectors are as long as the schedule says"


def test_intrinsics_of_ours_stay_here() -> None:
    schedule = packed(product(16, 32, 8, "int8", "int8"), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8")
    for name in ("rpi5", "riscv64-v"):
        with pytest.raises(TargetError, match="the intrinsic 'avx2.dot8x2.i8' needs avx2, which cpu "):
            lw.build(schedule.work, target=name, schedule=schedule)


def test_a_board_without_what_the_kernel_uses(tmp_path: Path) -> None:
    """The library says so; it does not end the program by an illegal instruction."""
    for name, cpu in (("graviton3", ["-cpu", "cortex-a72"]), ("riscv64-v", ["-cpu", "rv64,v=false"])):
        need_tools(lw.Target.parse(name).triple)
        with pytest.raises(
            AssertionError, match="this CPU lacks an instruction set that the kernel was built for"
        ):
            check([lw.build(SOFTMAX, target=name)], cpu, tmp_path)


def test_a_library_for_python(tmp_path: Path) -> None:
    kernel = lw.build(SOFTMAX, target="rpi5")
    need_tools(kernel.target.triple)
    path = lw.Bundle([kernel, lw.build(ops.relu((4,)), target="rpi4")]).export(tmp_path / "two.so")
    assert [entry.target for entry in Manifest.read(path).entries] == [kernel.target, lw.Target.parse("rpi4")]
    with pytest.raises(
        TargetError, match="was built for a CPU with the instruction set aarch64; this one lacks it"
    ):
        lw.load(path)
    with pytest.raises(TargetError, match="was built for a CPU with the instruction set aarch64"):
        kernel(np.zeros((7, 53), "float32"))


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A static library comes with its C parts as sources; a shared one is refused."""
    kernel = lw.build(SOFTMAX, target="rpi4")
    need_tools(kernel.target.triple)
    monkeypatch.setenv("CC_aarch64_linux_gnu", "nosuchcc")
    with pytest.raises(ExportError, match="needs a C compiler for aarch64-linux-gnu") as caught:
        kernel.export(tmp_path / "softmax.so")
    assert "looked for CC_aarch64_linux_gnu=nosuchcc" in str(caught.value)
    assert "Install gcc-aarch64-linux-gnu, or set CC_aarch64_linux_gnu" in str(caught.value)
    (tmp_path / "softmax.c").write_text("int mine;")
    with pytest.raises(ExportError, match=r"softmax\.c: it is there already, and Loopwright did not make it"):
        kernel.export_c(tmp_path / "softmax.a")
    (tmp_path / "softmax.c").unlink()
    library = kernel.export_c(tmp_path / "softmax.a")
    assert (
        "compile softmax.c and loopwright_runtime.c along with the program"
        in library.with_suffix(".h").read_text()
    )
    main = tmp_path / "main.c"
    main.write_text('#include "softmax.h"\nint main(void) { return softmax(0, 0) - LOOPWRIGHT_BAD_ARRAY; }\n')
    sources = [main, tmp_path / "softmax.c", tmp_path / "loopwright_runtime.c", library]
    command = ["aarch64-linux-gnu-gcc", "-static", "-o", tmp_path / "main", *sources, "-lm", "-lpthread"]
    subprocess.run(list(map(str, command)), check=True)
    subprocess.run(["qemu-aarch64", str(tmp_path / "main")], check=True)


def test_apple_s_get_objects_and_sources(tmp_path: Path) -> None:
    kernel = lw.build(SOFTMAX, target="apple-m1")
    library = kernel.export_c(tmp_path / "softmax.a")
    assert b"\xcf\xfa\xed\xfe" in library.read_bytes(), "Mach-O"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "loopwright_runtime.c",
        "softmax.a",
        "softmax.c",
        "softmax.h",
    ]
    with pytest.raises(
        ExportError, match="ELF files, which macOS does not load; export_c makes a static one"
    ):
        kernel.export(tmp_path / "softmax.so")


def test_one_library_is_for_one_kind_of_machine(tmp_path: Path) -> None:
    both = lw.Bundle([lw.build(SOFTMAX), lw.build(ops.relu((4,)), target="rpi4")])
    with pytest.raises(
        ExportError, match="kernels for one kind of machine, and these are for .*, aarch64-linux-gnu"
    ):
        both.export(tmp_path / "both.so")

"""Stages that one call of a C function computes whole: between others, scheduled around, tuned, exported; failures are named."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import BuildError, DefinitionError, ExternError
from loopwright.sched.scheduling.schedule import Schedule

SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Each row of x, sorted. Another shape of y is failure 2, a number in x below -1000 failure -3. */
int lw_test_sort(const int32_t *x, int32_t *y, int64_t rows, int64_t n, int64_t out_rows, int64_t out_n) {
    if (rows != out_rows || n != out_n) return 2;
    for (int64_t i = 0; i < rows * n; i++) {
        if (x[i] < -1000) return -3;
        y[i] = x[i];
    }
    for (int64_t i = 0; i < rows; i++) qsort(y + i * n, n, sizeof *y, ascending);
    return 0;
}

/* The discrete Fourier transform of a real signal. */
int lw_test_dft(const double *x, double *re, double *im, int64_t n, int64_t half) {
    for (int64_t k = 0; k < half; k++) {
        re[k] = im[k] = 0;
        for (int64_t t = 0; t < n; t++) {
            re[k] += x[t] * cos(6.283185307179586 * k * t / n);
            im[k] -= x[t] * sin(6.283185307179586 * k * t / n);
        }
    }
    return 0;
}

static int calls;
int lw_test_calls(void) { int n = calls; calls = 0; return n; }

/* Counts its calls; y is x. */
int lw_test_copy(const uint8_t *x, uint8_t *y, int64_t n, int64_t m) {
    calls++;
    for (int64_t i = 0; i < m; i++) y[i] = x[i];
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library of routines."""
    folder = tmp_path_factory.mktemp("routines")
    source, made = folder / "routines.c", folder / "libroutines.so"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(made), str(source), "-lm"], check=True)
    return made


def sorted_rows(library: Path) -> lw.Operator:
    """Each row of ``2 * x`` sorted, and ranked by a stage that reads its neighbours."""

    @lw.operator
    def ranks(M: int, N: int) -> Any:
        x = lw.input("x", (M, N), "int32")
        twice = lw.compute("twice", (M, N), lambda i, j: x[i, j] * 2)
        y = lw.extern_stage("y", (M, N), "lw_test_sort", [twice], numpy=np.sort, library=library)
        return lw.compute("gap", (M, N), lambda i, j: y[i, lw.min(j + 1, N - 1)] - y[i, j])

    return ranks


def gaps(x: np.ndarray) -> np.ndarray:
    y = np.sort(x * 2)
    return np.diff(y, axis=1, append=y[:, -1:])


@pytest.mark.parametrize(("rows", "columns"), [(7, 37), (1, 1), (3, 0), (1, 64), (16, 16)])
def test_between_two_stages(library: Path, rows: int, columns: int) -> None:
    work = sorted_rows(library)(M=rows, N=columns)
    x = np.random.default_rng(0).integers(0, 1000, (rows, columns), dtype="int32")
    assert work.reference(x).tolist() == gaps(x).tolist()
    kernels = [lw.build(work, target="cpu"), lw.build(work, target="cpu", schedule=work.schedule())]
    assert [kernel(x).tolist() for kernel in kernels] == [gaps(x).tolist()] * 2


SCHEDULES: dict[str, Callable[[Schedule], Schedule]] = {
    "producer and consumer in vectors and in parallel": lambda s: (
        s.vectorize("twice.j", 8).parallel("twice.i").vectorize("gap.j", 8).parallel("gap.i")
    ),
    "a copy of the producer for the function": lambda s: s.cache_read(
        "twice", consumers=["y"], name="flat"
    ).storage_align("twice", "i", 32),
    "another layout behind a copy": lambda s: (
        s.cache_read("twice", consumers=["y"], name="flat")
        .split("twice.j", ("jo", "ji"), 8)
        .transform_layout("twice", "jo i ji")
    ),
    "its values copied where they are read": lambda s: s.cache_read("y", at="gap.i", name="row"),
    "computed twice": lambda s: s.clone("y", ["gap"]),
    "written to a buffer first": lambda s: s.cache_write("gap", "local", at="gap.i"),
    "on the stack": lambda s: s.set_scope("y", "local").set_scope("twice", "local"),
    "at root, said again": lambda s: s.compute_root("y"),
    "its own buffer, copied": lambda s: s.cache_write("y", "global", name="y_copy"),
    "fetched ahead": lambda s: s.prefetch("y", at="gap.i", distance=2),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_around_it_is_scheduled_freely(library: Path, name: str) -> None:
    work = sorted_rows(library)(M=7, N=37)
    x = np.random.default_rng(1).integers(0, 1000, (7, 37), dtype="int32")
    schedule = SCHEDULES[name](work.schedule())
    assert lw.build(work, target="cpu", schedule=schedule)(x).tolist() == gaps(x).tolist()
    again = Schedule.from_json(work, schedule.to_json())
    assert str(again) == str(schedule)
    assert schedule.explain() is not None
    assert "y = extern lw_test_sort(" in str(schedule)
    assert "<svg" in schedule.draw().svg
    assert "<svg" in work.draw().svg


def test_the_printed_nest(library: Path) -> None:
    work = sorted_rows(library)(M=7, N=37)
    assert str(work.schedule().vectorize("gap.j", 8)).splitlines()[1:] == [
        "buffer twice: int32[7, 37] global",
        "for twice.i in 7",
        "  for twice.j in 37",
        "    twice[i, j] = x[i, j] * 2",
        "buffer y: int32[7, 37] global",
        "y = extern lw_test_sort(twice)",
        "for gap.i in 7",
        "  for gap.j in 5  # 8 at a time, tail 5",
        "    vectorize gap.j.v in 8",
        "      gap[i, j] = y[i, min(j + 1, 36)] - y[i, j]",
    ]


def spectrum(library: Path) -> lw.Operator:
    """The power of each frequency of a signal, which a window is laid over first."""

    @lw.operator
    def power(N: int) -> Any:
        x = lw.input("x", (N,), "float64")
        w = lw.compute("w", (N,), lambda t: x[t] * (N - t))
        re, im = lw.extern_stage(
            "F", (N // 2 + 1,), "lw_test_dft", [w],
            dtype=("float64", "float64"), numpy=lambda w: (np.fft.rfft(w).real, np.fft.rfft(w).imag), library=library,
        )  # fmt: skip
        return lw.compute("p", (N // 2 + 1,), lambda k: re[k] * re[k] + im[k] * im[k]), im

    return power


def test_several_parts(library: Path) -> None:
    work = spectrum(library)(N=45)
    x = np.random.default_rng(2).standard_normal(45)
    transformed = np.fft.rfft(x * (45 - np.arange(45)))
    power, imaginary = lw.build(work, target="cpu")(x)
    np.testing.assert_allclose(power, np.abs(transformed) ** 2, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(imaginary, transformed.imag, atol=1e-9)
    assert "F = extern lw_test_dft(w)" in str(work.schedule())


def test_symbolic_sizes(library: Path) -> None:
    n = lw.size("n", at_most=200)
    x = lw.input("x", (3, n), "int32")
    twice = lw.compute("twice", (3, n), lambda i, j: x[i, j] * 2)
    y = lw.extern_stage("y", (3, n), "lw_test_sort", [twice], numpy=np.sort, library=library)
    work = lw.Workload("any", {}, [x], [lw.compute("z", (3, n), lambda i, j: y[i, j] + 1)])
    for schedule in (None, work.schedule(), work.schedule().vectorize("z.j", 8).parallel("twice.i")):
        kernel = lw.build(work, target="cpu", schedule=schedule)
        for size in (0, 1, 5, 64, 199):
            a = np.random.default_rng(size).integers(0, 99, (3, size), dtype="int32")
            assert kernel(a).tolist() == (np.sort(a * 2) + 1).tolist()
            assert work.reference(a).tolist() == (np.sort(a * 2) + 1).tolist()


def test_updates_go_on_from_it(library: Path) -> None:
    t = lw.reduce_axis("t", 5)
    x = lw.input("x", (2, 9), "int32")
    y = lw.extern_stage("y", (2, 9), "lw_test_sort", [x], numpy=np.sort, library=library)
    y = y.update(lambda i: ((i, t + 1), y[i, t] + y[i, t + 1]), over=t)
    work = lw.Workload("scan", {}, [x], [y])
    a = np.random.default_rng(3).integers(0, 99, (2, 9), dtype="int32")
    want = np.sort(a)
    for step in range(5):
        want[:, step + 1] += want[:, step]
    assert lw.build(work, target="cpu")(a).tolist() == work.reference(a).tolist() == want.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float8_e5m2"])
def test_bytes(library: Path, dtype: str) -> None:
    x = lw.input("x", (9,), dtype)
    y = lw.extern_stage("y", (9,), "lw_test_copy", [x], numpy=lambda a: a, library=library)
    work = lw.Workload("bytes", {}, [x], [y])
    a = np.random.default_rng(4).integers(0, 2, 9).astype(lw.sched.dtypes.numpy_dtype(dtype))
    assert lw.build(work, target="cpu")(a).tolist() == a.tolist()


def test_json_and_key(library: Path) -> None:
    work = sorted_rows(library)(M=7, N=37)
    again = lw.Workload.from_json(work.to_json())
    assert again.key == work.key
    assert again.to_json() == work.to_json()
    x = np.random.default_rng(5).integers(0, 1000, (7, 37), dtype="int32")
    assert lw.build(again, target="cpu")(x).tolist() == gaps(x).tolist()
    with pytest.raises(DefinitionError, match="extern lw_test_sort: give it numpy="):
        again.reference(x)
    copy = lw.input("x", (4,), "int32")
    keys = {
        lw.Workload("w", {}, [copy], [lw.extern_stage("y", shape, symbol, [copy], numpy=np.sort, dtype=kind)]).key
        for shape, symbol, kind in [((4,), "f", None), ((4,), "g", None), ((5,), "f", None), ((4,), "f", "int64")]
    }  # fmt: skip
    assert len(keys) == 4


def test_failure_is_an_exception(library: Path, tmp_path: Path) -> None:
    work = sorted_rows(library)(M=2, N=3)
    kernel = lw.build(work, target="cpu")
    good, bad = np.array([[3, 1, 2], [6, 5, 4]], "int32"), np.array([[3, 1, 2], [6, -5000, 4]], "int32")
    loaded = lw.load(kernel.export(tmp_path / "kernel.so"))
    for one in (kernel, loaded):
        assert one(good).tolist() == gaps(good).tolist()
        with pytest.raises(
            ExternError, match="^ranks: lw_test_sort, which computes y, returned -3; what the outp"
        ):
            one(bad)
        out = np.full((2, 3), 7, "int32")
        with pytest.raises(ExternError):
            one(bad, out=out)
        assert (out == 7).all()  # what follows the call was not done
        assert one(good).tolist() == gaps(good).tolist()


def test_it_is_called_once(library: Path) -> None:
    x = lw.input("x", (9,), "uint8")
    y = lw.extern_stage("y", (9,), "lw_test_copy", [x], numpy=lambda a: a, library=library)
    z = lw.compute("z", (9,), lambda i: y[i] + y[8 - i])
    kernel = lw.build(lw.Workload("once", {}, [x], [z]), target="cpu")
    counter = ctypes.CDLL(str(library)).lw_test_calls
    counter()
    a = np.arange(9, dtype="uint8")
    assert kernel(a).tolist() == (a + a[::-1]).tolist()
    assert counter() == 1
    frozen = np.arange(9, dtype="uint8")
    frozen.flags.writeable = False
    assert kernel(frozen).tolist() == (a + a[::-1]).tolist()
    assert counter() == 1


def test_special_cases(library: Path) -> None:
    n = lw.size("n")
    x = lw.input("x", (1, n), "int32")
    y = lw.extern_stage("y", (1, n), "lw_test_sort", [x], numpy=np.sort, library=library)
    work = lw.Workload("any", {}, [x], [lw.compute("z", (1, n), lambda i, j: y[i, j] + 1)])
    kernel = lw.build(
        work, target="cpu", schedule=work.schedule().specialize("n == 8", lambda s: s.vectorize("z.j", 8))
    )
    for size in (8, 9):
        a = np.random.default_rng(size).integers(0, 99, (1, size), dtype="int32")
        assert kernel(a).tolist() == (np.sort(a) + 1).tolist()
    with pytest.raises(ExternError, match="returned -3"):
        kernel(np.full((1, 8), -5000, "int32"))


def test_profile(library: Path) -> None:
    work = sorted_rows(library)(M=7, N=37)
    x = np.random.default_rng(6).integers(0, 1000, (7, 37), dtype="int32")
    found = lw.build(work, target="cpu", schedule=work.schedule()).profile(x)
    assert [stage.name for stage in found.stages] == ["twice", "y", "gap"]


def test_tuning(library: Path, tmp_path: Path) -> None:
    for work in (sorted_rows(library)(M=7, N=37), spectrum(library)(N=45)):
        result = lw.tune(work, target="cpu", trials=4, log=tmp_path / "log.jsonl", seed=0)
        assert result.best is not None
        x = np.random.default_rng(7).integers(0, 9, work.inputs[0].shape).astype(work.inputs[0].dtype)
        got, want = lw.build(work, target="cpu", log=tmp_path / "log.jsonl")(x), work.reference(x)
        for one, other in zip(np.atleast_1d(got), np.atleast_1d(want), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6)


def test_a_failure_is_a_record(library: Path, tmp_path: Path) -> None:
    x = lw.input("x", (2, 64), "int32")
    y = lw.extern_stage("y", (1, 64), "lw_test_sort", [x], numpy=lambda a: a[:1], library=library)
    result = lw.tune(lw.Workload("w", {}, [x], [y]), target="cpu", trials=1, log=tmp_path / "log.jsonl")
    assert result.best is None
    assert (
        "a C function that it calls returned 2 for the tuner's inputs" in (tmp_path / "log.jsonl").read_text()
    )


def test_a_wrong_routine_is_found_out(library: Path, tmp_path: Path) -> None:
    x = lw.input("x", (1, 64), "int32")
    y = lw.extern_stage(
        "y", (1, 64), "lw_test_sort", [x], numpy=lambda a: np.sort(a)[:, ::-1], library=library
    )
    result = lw.tune(lw.Workload("w", {}, [x], [y]), target="cpu", trials=2, log=tmp_path / "log.jsonl")
    assert result.best is None


def test_what_is_refused(library: Path) -> None:
    x = lw.input("x", (4,), "int32")
    with pytest.raises(
        DefinitionError, match="numpy= is a function of arrays that computes the same, not None"
    ):
        lw.extern_stage("y", (4,), "f", [x], numpy=None)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match="3 is no tensor; a C function reads inputs and stages whole"):
        lw.extern_stage("y", (4,), "f", [3], numpy=np.sort)  # type: ignore[list-item]
    with pytest.raises(DefinitionError, match=r"the inputs are a list of tensors, such as \[x\]"):
        lw.extern_stage("y", (4,), "f", x, numpy=np.sort)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match="it reads nothing whose dtype it could have; say dtype="):
        lw.extern_stage("y", (4,), "f", [], numpy=lambda: np.zeros(4))
    with pytest.raises(DefinitionError, match="a C function's name has letters"):
        lw.extern_stage("y", (4,), "f g", [x], numpy=np.sort)
    nowhere = lw.Workload("w", {}, [x], [lw.extern_stage("y", (4,), "lw_nowhere", [x], numpy=np.sort)])
    with pytest.raises(
        BuildError, match="has no function 'lw_nowhere'; give lw.extern_stage the shared library"
    ):
        lw.build(nowhere, target="cpu")
    short = lw.Workload("w", {}, [x], [lw.extern_stage("y", (4,), "f", [x], numpy=lambda a: a[:2])])
    with pytest.raises(DefinitionError, match=r"gives arrays of shape \(2,\), and the stage has 1 of \(4,\)"):
        short.reference(np.zeros(4, "int32"))


def test_the_default_schedule_leaves_it_alone(library: Path) -> None:
    work = sorted_rows(library)(M=64, N=512)
    schedule = lw.default_schedule(work, target="cpu")
    assert "y = extern lw_test_sort(twice)" in str(schedule)
    assert "vectorize" in str(schedule)


def test_numbers_go_in_as_arrays_without_dimensions(tmp_path: Path) -> None:
    source, made = tmp_path / "scale.c", tmp_path / "libscale.so"
    source.write_text(
        "#include <stdint.h>\n"
        "int lw_test_scale(const float *by, const float *x, float *y, int64_t n, int64_t m)\n"
        "{ for (int64_t i = 0; i < n; i++) y[i] = *by * x[i]; return n != m; }\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    by, x = lw.input("by", ()), lw.input("x", (9,))
    y = lw.extern_stage("y", (9,), "lw_test_scale", [by, x], numpy=lambda b, x: b * x, library=made)
    work = lw.Workload("scale", {}, [by, x], [lw.compute("z", (9,), lambda i: y[i] + 1)])
    a, b = np.arange(9, dtype="float32"), np.array(3, "float32")
    assert (
        lw.build(work, target="cpu")(b, a).tolist() == work.reference(b, a).tolist() == (a * 3 + 1).tolist()
    )

"""Kernels as static libraries for C: what their functions compute, and what they refuse.

The archives are linked into shared libraries here and called through ctypes; examples/c has whole programs.
"""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import ExportError
from loopwright.sched.runtime.c_entry import BAD_ARRAY, BAD_CPU, BAD_SIZE, CALL_FAILED, DONE
from loopwright.sched.runtime.c_library import RUNTIME
from loopwright.sched.runtime.c_source import identifier

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def linked(*archives: Path) -> ctypes.CDLL:
    """The functions of static libraries, linked together."""
    made = archives[0].with_suffix(".test.so")
    whole = ["-Wl,--whole-archive", str(archives[0]), "-Wl,--no-whole-archive"]
    others = [text for path in archives[1:] for text in (f"-Wl,--undefined={path.stem}", str(path))]
    subprocess.run(["cc", "-shared", "-o", str(made), *whole, *others, "-lm", "-lpthread"], check=True)
    return ctypes.CDLL(str(made))


def called(function: Any, *arguments: Any) -> int:
    """Call a C function with sizes and arrays."""
    plain = [
        a.ctypes.data_as(ctypes.c_void_p)
        if isinstance(a, np.ndarray)
        else ctypes.c_int64(a)
        if a is not None
        else None
        for a in arguments
    ]
    return int(function(*plain))


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """``y[i, j] = 2 x[i, j] + 2 x[i, 0]`` with symbolic sizes, a parallel loop and a buffer."""
    rows, columns = lw.size("rows", at_most=4096), lw.size("columns", at_least=1, multiple_of=4)
    x = lw.input("x", (rows, columns))
    twice = lw.compute("twice", (rows, columns), lambda i, j: x[i, j] * 2)
    y = lw.compute("y", (rows, columns), lambda i, j: twice[i, j] + twice[i, 0])
    schedule = lw.Workload("shifted", {}, [x], [y]).schedule().parallel("y.i")
    kernel = lw.build(schedule.work, schedule=schedule)
    assert kernel.parallel
    return linked(kernel.export_c(tmp_path_factory.mktemp("c") / "shifted.a"))


@pytest.mark.parametrize(("rows", "columns"), [(0, 4), (1, 4), (7, 8), (129, 36), (4096, 64)])
def test_symbolic_sizes(shifted: ctypes.CDLL, rng: np.random.Generator, rows: int, columns: int) -> None:
    x = rng.standard_normal((rows, columns), dtype="f")
    y = np.full_like(x, np.nan)
    assert called(shifted.shifted, rows, columns, x, y) == DONE
    np.testing.assert_array_equal(y, x * 2 + x[:, :1] * 2)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(-1, 4), (4097, 4), (3, 5), (3, 0), (3, -4), (3, 1 << 40), (1 << 62, 4), (4096, 1 << 20)],
)
def test_sizes_that_are_refused(shifted: ctypes.CDLL, rows: int, columns: int) -> None:
    x, y = np.ones((2, 16), "f")
    assert called(shifted.shifted, rows, columns, x, y) == BAD_SIZE
    assert (y == 1).all()


def test_arrays_that_are_refused(shifted: ctypes.CDLL) -> None:
    x, y, raw = np.ones((8, 4), "f"), np.ones((8, 4), "f"), np.zeros(8 * 4 * 4 + 2, "u1")
    both = np.zeros(8 * 4 * 2 - 1, "f")
    for arrays in (
        (None, y),
        (x, None),
        (x, raw[2:]),
        (raw[2:], y),
        (x, x),
        (both[-32:], both),
        (both, both[-32:]),
    ):
        assert called(shifted.shifted, 8, 4, *arrays) == BAD_ARRAY
    assert (y == 1).all()
    assert called(shifted.shifted, 0, 4, None, None) == DONE, (
        "an array without elements may be a null pointer"
    )


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "bool"])
def test_element_types(tmp_path: Path, dtype: str) -> None:
    x = lw.input("x", (5, 3), dtype)
    kernel = lw.build(lw.Workload("copy", {}, [x], [lw.compute("y", (3, 5), lambda i, j: x[j, i])]))
    given = np.arange(15).reshape(5, 3).astype(kernel.signature.inputs[0].numpy)
    got = np.zeros((3, 5), given.dtype)
    assert called(linked(kernel.export_c(tmp_path / "copy.a")).copy, given, got) == DONE
    np.testing.assert_array_equal(got.view("u1"), np.ascontiguousarray(given.T).view("u1"))


def test_two_libraries_in_one_program(tmp_path: Path, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 64, 64), dtype="f")
    first = lw.build(ops.matmul(M=64, N=64, K=64)).export_c(tmp_path / "first.a", name="first")
    second = lw.build(ops.softmax(64, 64)).export_c(tmp_path / "second.a", name="second")
    both = linked(first, second)
    c, d = np.zeros((2, 64, 64), "f")
    assert called(both.first, a, b, c) == DONE
    assert called(both.second, a, d) == DONE
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(d, np.exp(a) / np.exp(a).sum(1, keepdims=True), rtol=1e-5)
    status_text = both.loopwright_status_text
    status_text.restype = ctypes.c_char_p
    assert status_text(BAD_SIZE) == b"a size is out of its bounds; nothing was computed"
    assert status_text(99) == b"no status of Loopwright's"


@pytest.mark.parametrize("threads", [True, False])
def test_threads(tmp_path: Path, rng: np.random.Generator, threads: bool) -> None:
    kernel = lw.build(ops.matmul(M=96, N=96, K=96))
    library = kernel.export_c(tmp_path / "product.a", name="product", threads=threads)
    names = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    assert ("pthread_create" in names) == threads
    c_functions = linked(library)
    a, b = rng.standard_normal((2, 96, 96), dtype="f")
    for count in (3, 1, 2):
        c_functions.loopwright_set_threads(count)
        c = np.zeros_like(a)
        assert called(c_functions.product, a, b, c) == DONE
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_a_cpu_without_a_feature_is_refused(tmp_path: Path) -> None:
    kernel = lw.build(ops.softmax(4, 8))
    kernel.target = replace(kernel.target, features=(*kernel.target.features, "sve-of-tomorrow"))
    x, y = np.ones((2, 4, 8), "f")
    library = linked(kernel.export_c(tmp_path / "softmax.a"))
    for _ in range(2):
        assert called(library.softmax, x, y) == BAD_CPU
    assert (y == 1).all()


def test_a_c_function_that_fails(tmp_path: Path) -> None:
    source, routines = tmp_path / "routines.c", tmp_path / "libroutines.so"
    source.write_text(
        "#include <stdint.h>\n"
        "int lw_test_negate(const int32_t *x, int32_t *y, int64_t n, int64_t m)\n"
        "{ for (int64_t i = 0; i < m; ++i) y[i] = -x[i]; return n && x[0] == 7 ? 3 : 0; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(routines), str(source)], check=True)
    x = lw.input("x", (4,), "int32")
    y = lw.extern_stage("y", (4,), "lw_test_negate", [x], numpy=np.negative, library=routines)
    work = lw.Workload("negated", {}, [x], [lw.compute("z", (4,), lambda i: y[i] * 10)])
    library = lw.build(work).export_c(tmp_path / "negated.a")
    assert "Calls lw_test_negate." in library.with_suffix(".h").read_text()
    function = linked(library, routines).negated
    got = np.zeros(4, "int32")
    assert called(function, np.arange(4, dtype="int32"), got) == DONE
    assert got.tolist() == [0, -10, -20, -30]
    assert called(function, np.full(4, 7, "int32"), got) == CALL_FAILED


def test_the_header_reads_well(tmp_path: Path) -> None:
    n = lw.size("n", at_most=100, multiple_of=2)
    x, int_ = lw.input("double", (n, 3), "float16"), lw.input("x", (n,), "bool")
    work = lw.Workload("2 of*/ n", {}, [x, int_], [lw.compute("n_", (n,), lambda i: x[i, 0])])
    path = lw.build(work).export_c(tmp_path / "odd name.a").with_suffix(".h")
    text = path.read_text()
    assert "int _2_of___n(int64_t n, const uint16_t *double_, const uint8_t *x, uint16_t *n_);" in text
    assert "   n: 0 to 100, a multiple of 2\n" in text
    assert "   double_: input, float16[n, 3], as bits in uint16_t\n" in text
    (tmp_path / "main.c").write_text(
        f'#include "{path.name}"\n#include "{path.name}"\nint main(void) {{ return 0; }}\n'
    )
    for compiler in (["gcc", "-std=c99"], ["g++", "-x", "c++", "-std=c++11"]):
        command = [*compiler, *STRICT, "-fsyntax-only", str(tmp_path / "main.c")]
        subprocess.run(command, check=True)


def test_names_that_are_taken(tmp_path: Path) -> None:
    """By the C library, whose function a program would no longer get; by what the generated code itself calls things."""
    names = ("status", "known", "needs", "INTERNAL")
    inputs = [lw.input(name, (3,)) for name in names]
    total = lw.compute("answer", (3,), lambda i: sum(x[i] for x in inputs))
    kernel = lw.build(lw.Workload("exp", {}, inputs, [total]))
    library = kernel.export_c(tmp_path / "exp.a")
    got = np.zeros(3, "f")
    assert called(linked(library)["exp_"], *np.ones((4, 3), "f"), got) == DONE
    assert got.tolist() == [4, 4, 4]
    with pytest.raises(ExportError, match="name='exp': the C library has a function of that name"):
        kernel.export_c(tmp_path / "exp.a", name="exp")


def test_names_are_c_s() -> None:
    assert [identifier(name) for name in ("int", "A", "größe", "9", "uint_t", "")] == [
        "int_", "A", "gr__e", "_9", "uint_t_", "_"
    ]  # fmt: skip


def test_the_runtime_compiles_without_a_warning(tmp_path: Path) -> None:
    for options in ([], ["-DLOOPWRIGHT_SERIAL"]):
        command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", *options, "-c", str(RUNTIME)]
        subprocess.run([*command, "-o", str(tmp_path / "runtime.o")], check=True)


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = lw.build(ops.softmax(2, 3))
    with pytest.raises(ExportError, match="a static library is called NAME.a"):
        kernel.export_c(tmp_path / "softmax.so")
    for name in ("", "two words", "int", "größe", 3):
        with pytest.raises(ExportError, match="is no name for a C function"):
            kernel.export_c(tmp_path / "softmax.a", name=name)  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="there is no folder"):
        kernel.export_c(tmp_path / "no" / "softmax.a")
    with pytest.raises(ExportError, match="was loaded from a library"):
        lw.load(kernel.export(tmp_path / "softmax.so")).export_c(tmp_path / "softmax.a")
    (tmp_path / "mine.h").write_text("/* dear diary */")
    with pytest.raises(ExportError, match="mine.h: it is there already, and Loopwright did not make it"):
        kernel.export_c(tmp_path / "mine.a")
    monkeypatch.setenv("AR", "nosuchar")
    with pytest.raises(ExportError, match="AR=nosuchar"):
        kernel.export_c(tmp_path / "softmax.a")
    monkeypatch.setenv("AR", "false")
    with pytest.raises(ExportError, match="false could not link the library"):
        kernel.export_c(tmp_path / "softmax.a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.h", "softmax.so"]

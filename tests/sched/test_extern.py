"""C functions of the user's own: called for each element, tuned, exported; missing ones are named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import BuildError, DefinitionError
from tests.sched.scalars import computed, elementwise

hypotf = lw.extern("hypotf", takes=("float32", "float32"), returns="float32", numpy=np.hypot)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library with functions of several types."""
    folder = tmp_path_factory.mktemp("library")
    source, made = folder / "mine.c", folder / "libmine.so"
    source.write_text(
        "#include <stdint.h>\n"
        "double lw_test_mix(int64_t a, float b) { return a * 0.5 + b; }\n"
        "uint32_t lw_test_twist(uint32_t x) { return (x >> 3 | x << 29) ^ 7; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made


def twist(library: Path) -> Any:
    return lw.extern(
        "lw_test_twist",
        takes=("uint32",),
        returns="uint32",
        numpy=lambda x: (x >> 3 | x << 29) ^ 7,
        library=library,
    )


def test_a_function_of_the_c_library() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 77)).astype("float32")
    work = elementwise(lambda x, y: hypotf(x, y) * 2 + hypotf(x, 1.0), ["float32", "float32"], 77)
    for schedule in (work.schedule(), work.schedule().vectorize("y.i", 16), work.schedule().parallel("y.i")):
        got = lw.build(work, target="cpu", schedule=schedule)(a, b)
        np.testing.assert_allclose(got, np.hypot(a, b) * 2 + np.hypot(a, np.float32(1)), rtol=1e-6)
    np.testing.assert_allclose(work.reference(a, b), got, rtol=1e-6)


def test_functions_of_other_types(library: Path) -> None:
    mix = lw.extern(
        "lw_test_mix",
        takes=("int64", "float32"),
        returns="float64",
        numpy=lambda a, b: a * 0.5 + b,
        library=library,
    )
    a, b = np.arange(-20, 20), np.linspace(0, 1, 40, dtype="float32")
    assert computed(mix, a, b).tolist() == (a * 0.5 + b).tolist()
    x = np.arange(40, dtype="uint32") * 100_000_007
    assert computed(twist(library), x).tolist() == ((x >> 3 | x << 29) ^ 7).tolist()


def test_inside_a_reduction() -> None:
    @lw.operator
    def total(M: int, N: int) -> Any:
        A, k = lw.input("A", (M, N)), lw.reduce_axis("k", N)
        return lw.compute("y", (M,), lambda i: lw.sum(hypotf(A[i, k], 1.0), over=k))

    a = np.random.default_rng(1).standard_normal((5, 33)).astype("float32")
    got = lw.build(total(M=5, N=33), target="cpu")(a)
    np.testing.assert_allclose(got, np.hypot(a, np.float32(1)).sum(axis=1), rtol=1e-5)


def test_json_and_key(library: Path) -> None:
    work = elementwise(twist(library), ["uint32"], 16)
    again = lw.Workload.from_json(work.to_json())
    assert again.key == work.key
    assert (
        elementwise(hypotf, ["float32", "float32"], 16).key
        != elementwise(lw.hypot, ["float32", "float32"], 16).key
    )
    x = np.arange(16, dtype="uint32")
    assert lw.build(again, target="cpu")(x).tolist() == work.reference(x).tolist()
    with pytest.raises(DefinitionError, match="extern lw_test_twist: give it numpy="):
        again.reference(x)
    assert "libraries" not in elementwise(hypotf, ["float32", "float32"], 16).to_json()


def test_export(library: Path, tmp_path: Path) -> None:
    x = np.arange(16, dtype="uint32")
    work = elementwise(twist(library), ["uint32"], 16)
    loaded = lw.load(lw.build(work, target="cpu").export(tmp_path / "kernel.so"))
    assert loaded(x).tolist() == work.reference(x).tolist()


def test_a_library_that_is_gone_is_found_out_when_the_kernel_is_loaded(tmp_path: Path) -> None:
    source, copy = tmp_path / "gone.c", tmp_path / "libgone.so"
    source.write_text("unsigned lw_gone_twist(unsigned x) { return x + 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(copy), str(source)], check=True)
    gone = lw.extern("lw_gone_twist", takes=("uint32",), returns="uint32", library=copy)
    kernel = lw.build(elementwise(gone, ["uint32"], 16), target="cpu").export(tmp_path / "kernel.so")
    copy.unlink()
    program = (
        "import sys, loopwright as lw\ntry: lw.load(sys.argv[1])\nexcept lw.LoadError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(kernel)], capture_output=True, text=True, timeout=60
    )
    assert "libgone.so" in done.stdout, done.stderr


def test_tuning(library: Path, tmp_path: Path) -> None:
    work = elementwise(lambda x: twist(library)(x) + 1, ["uint32"], 64)
    result = lw.tune(work, target="cpu", trials=2, log=tmp_path / "log.jsonl", seed=0)
    assert result.best is not None


def test_what_is_refused() -> None:
    nowhere = lw.extern("lw_test_nowhere", takes=("float32",), returns="float32")
    with pytest.raises(
        BuildError, match="has no function 'lw_test_nowhere'; give lw.extern the shared library"
    ):
        lw.build(elementwise(nowhere, ["float32"], 4), target="cpu")
    missing = lw.extern("f", takes=("float32",), returns="float32", library="no/such.so")
    with pytest.raises(BuildError, match="the library of extern f cannot be opened"):
        lw.build(elementwise(missing, ["float32"], 4), target="cpu")
    with pytest.raises(DefinitionError, match="extern hypotf takes 2 arguments, 1 were given"):
        elementwise(hypotf, ["float32"], 4)
    with pytest.raises(DefinitionError, match=r"`x0\[i\]` is float64; it takes float32"):
        elementwise(hypotf, ["float64", "float32"], 4)
    with pytest.raises(DefinitionError, match="bfloat16 is not passed to C functions"):
        lw.extern("f", takes=("bfloat16",), returns="float32")
    with pytest.raises(DefinitionError, match="a C function's name has letters"):
        lw.extern("a b", takes=("float32",), returns="float32")

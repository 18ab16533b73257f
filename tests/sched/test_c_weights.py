"""Kernels with weights in static libraries: one function packs a block of memory, the other takes it."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.runtime.build import build_schedule
from loopwright.sched.runtime.c_entry import BAD_ARRAY, DONE
from loopwright.sched.runtime.kernel import Kernel
from loopwright.sched.runtime.target import host
from tests.sched.test_c_library import STRICT, called, linked
from tests.sched.test_weights import offset_product, packed_in_panels

ROWS = lw.size("rows")


def block_for(header: Path) -> np.ndarray[Any, Any]:
    """Memory of the size that a header says, at a multiple of 64."""
    size = re.search(r"_PACKED_BYTES INT64_C\((\d+)\)", header.read_text())
    assert size is not None
    whole = np.full(int(size[1]) + 64, 0xA5, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + int(size[1])]


def exported(kernel: Kernel, path: Path) -> tuple[ctypes.CDLL, np.ndarray[Any, Any]]:
    """The functions of a kernel, and memory for its weights."""
    library = linked(kernel.export_c(path))
    return library, block_for(path.with_suffix(".h"))


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, np.ndarray[Any, Any]]:
    work = ops.matmul(M=ROWS, N=18, K=6, weights="B")
    kernel = build_schedule(packed_in_panels(work), host())
    return exported(kernel, tmp_path_factory.mktemp("c") / "product.a")


def test_packed_once(product: tuple[ctypes.CDLL, np.ndarray[Any, Any]], rng: np.random.Generator) -> None:
    library, packed = product
    a, b = rng.random((9, 6), "f"), rng.random((6, 18), "f")
    assert called(library.matmul_prepack, b, packed) == DONE
    wanted = a @ b
    b[...] = 0
    for rows in (9, 1, 0):
        c = np.full((rows, 18), np.nan, "f")
        assert called(library.matmul, rows, a, packed, c) == DONE
        np.testing.assert_allclose(c, wanted[:rows], rtol=1e-5)


def test_what_is_refused(product: tuple[ctypes.CDLL, np.ndarray[Any, Any]], rng: np.random.Generator) -> None:
    library, packed = product
    a, b, c = rng.random((9, 6), "f"), rng.random((6, 18), "f"), np.full((9, 18), 7, "f")
    never_packed = np.zeros_like(packed)
    for wrong in (None, never_packed, packed[4:]):
        assert called(library.matmul, 9, a, wrong, c) == BAD_ARRAY
    within = packed[64 : 64 + b.nbytes]
    before = packed.copy()
    for weights, block in ((None, packed), (b, None), (b, packed[4:]), (within, packed)):
        assert called(library.matmul_prepack, weights, block) == BAD_ARRAY
    np.testing.assert_array_equal(packed, before)
    assert (c == 7).all()


def test_weights_that_are_read_as_they_are(rng: np.random.Generator, tmp_path: Path) -> None:
    work = offset_product(5, 19, 12)
    a, w = rng.integers(0, 255, (5, 12), "uint8"), rng.integers(-128, 127, (12, 19), "int8")
    scale = rng.random(19, "f")
    right = (a.astype(int) - 7) @ w.astype(int) * scale
    blocks, libraries = [], []
    for name, schedule in (("sums", work.schedule().prepack("sums")), ("plain", work.schedule())):
        library, packed = exported(build_schedule(schedule, host()), tmp_path / f"{name}.a")
        assert called(library.offset_prepack, w, scale, packed) == DONE
        got = np.full((5, 19), np.nan, "f")
        assert called(library.offset, a, packed, got) == DONE
        np.testing.assert_allclose(got, right, rtol=1e-5)
        blocks.append(packed)
        libraries.append(library)
    assert called(libraries[0].offset, a, blocks[1], got) == BAD_ARRAY
    assert called(libraries[1].offset, a, blocks[0], got) == BAD_ARRAY


def test_names_of_inputs_and_of_packed_arrays_may_meet(rng: np.random.Generator, tmp_path: Path) -> None:
    """A schedule made for an equal workload may call a copy as this one calls an input."""

    def product(left: str, right: str) -> lw.Workload:
        a, b, k = lw.input(left, (8, 8)), lw.input(right, (8, 8), weight=True), lw.reduce_axis("k", 8)
        c = lw.compute("C", (8, 8), lambda i, j: lw.sum(a[i, k] * b[k, j], over=k))
        return lw.Workload("product", {}, [a, b], [c])

    theirs, ours = product("A", "B"), product("B_packed", "B")
    schedule = theirs.schedule().transform_layout("B", "j//4 k j%4").prepack("B_packed")
    kernel = build_schedule(schedule, host(), work=ours)
    a, b, c = rng.random((8, 8), "f"), rng.random((8, 8), "f"), np.empty((8, 8), "f")
    np.testing.assert_allclose(kernel(a, kernel.prepack(b)), a @ b, rtol=1e-5)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
    a.setflags(write=False)
    np.testing.assert_allclose(kernel(a, kernel.prepack(b)), a @ b, rtol=1e-5)
    library, packed = exported(kernel, tmp_path / "product.a")
    assert called(library.product_prepack, b, packed) == DONE
    assert called(library.product, a, packed, c) == DONE
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_the_header_is_strict_c(tmp_path: Path) -> None:
    x, w = lw.input("packed", (8,)), lw.input("double", (8,), weight=True)
    y = lw.compute("y", (8,), lambda i: x[i] * w[i])
    kernel = build_schedule(lw.Workload("scaled", {}, [x, w], [y]).schedule(), host())
    kernel.export_c(tmp_path / "scaled.a")
    assert (
        "int scaled(const float *packed, const void *packed_, float *y);"
        in (tmp_path / "scaled.h").read_text()
    )
    program = tmp_path / "main.c"
    program.write_text(
        '#include "scaled.h"\n'
        "static _Alignas(64) char block[SCALED_PACKED_BYTES];\n"
        "int main(void)\n{\n"
        "    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, w[8] = {2, 2, 2, 2, 2, 2, 2, 2}, y[8];\n"
        "    if (scaled_prepack(w, block)) return 1;\n"
        "    w[7] = 0;\n"
        "    return scaled(x, block, y) || y[7] != 16;\n}\n"
    )
    made = tmp_path / "main"
    subprocess.run(
        ["cc", *STRICT, "-o", str(made), str(program), str(tmp_path / "scaled.a"), "-lm", "-lpthread"],
        check=True,
    )
    subprocess.run([str(made)], check=True)

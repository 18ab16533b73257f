"""Sparse products beside SciPy: densities, empty rows, sizes of one and none, dtypes, wrong data; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import loopwright as lw
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from tests.ops.agreement import agree
from tests.ops.cases import CASES, OPERATORS
from tests.ops.cases.sparse import CASES as SPARSE

SHAPES = [(9, 13), (1, 1), (7, 1), (1, 8), (5, 0), (0, 4)]


def stored(M: int, K: int, density: float, block: tuple[int, int], dtype: str, seed: int) -> Any:
    """A random matrix in SciPy's form, rows of blocks unless these are single elements; some rows are empty."""
    rng = np.random.default_rng(seed)
    R, S = block
    pattern = rng.random((M // R, K // S)) < density
    pattern[rng.random(M // R) < 0.3] = False
    whole = np.kron(pattern, np.ones(block, bool)) * rng.integers(1, 9, (M, K))
    found = (
        scipy.sparse.csr_array(whole.astype(dtype))
        if block == (1, 1)
        else scipy.sparse.bsr_array(whole.astype(dtype), blocksize=block)
    )
    found.sort_indices()
    return found


def bound(name: str, matrix: Any, N: int, seed: int) -> tuple[Workload, list[Any], Any]:
    """An operator bound to a matrix, its arguments, and what SciPy gives."""
    (M, K), dtype = matrix.shape, matrix.data.dtype.name
    sizes = {"M": M, "N": N, "K": K, "E": len(matrix.data), "dtype": dtype}
    if matrix.data.ndim == 3:
        sizes |= dict(zip("RS", matrix.data.shape[1:], strict=True))
    taken = {n: v for n, v in sizes.items() if n in OPERATORS[name].signature.parameters}
    dense = np.random.default_rng(seed).integers(-9, 9, (K, N)).astype(dtype)
    dense = dense[:, 0].copy() if name.endswith("matvec") else dense
    wide = "int32" if dtype == "int8" else dtype
    arrays = [matrix.indptr.astype("int32"), matrix.indices.astype("int32"), matrix.data, dense]
    return OPERATORS[name](**taken), arrays, matrix.toarray().astype(wide) @ dense.astype(wide)


@pytest.mark.parametrize("density", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("name", SPARSE)
def test_products_are_scipys(name: str, density: float) -> None:
    for seed, (rows, columns) in enumerate(SHAPES):
        block = (3, 2) if name.startswith("bsr") else (1, 1)
        dtype = ("float32", "int8", "float64")[seed % 3]
        matrix = stored(rows * block[0], columns * block[1], density, block, dtype, seed)
        work, arrays, want = bound(name, matrix, 5, seed)
        agree(work, arrays, build=False)
        np.testing.assert_array_equal(work.reference(*arrays), want)


@pytest.mark.parametrize("name", SPARSE)
def test_kernels_multiply_as_scipy_does(name: str) -> None:
    block = (3, 2) if name.startswith("bsr") else (1, 1)
    for seed, dtype in enumerate(("float32", "int8")):
        matrix = stored(12, 14, 0.3, block, dtype, seed)
        work, arrays, want = bound(name, matrix, 19, seed)
        np.testing.assert_array_equal(lw.build(work, target="cpu")(*arrays), want)


@pytest.mark.parametrize("name", SPARSE)
def test_kernels_of_random_and_of_wrong_data(name: str) -> None:
    work = OPERATORS[name](**CASES[name][0])
    kernel = lw.build(work, target="cpu")
    for seed in range(3):
        arrays = random_inputs(work, seed)
        if seed:
            for array in arrays[:2]:
                array[...] = np.random.default_rng(seed).integers(-(2**31), 2**31 - 1, array.shape)
        expected = Expected.of(work, arrays)
        assert work.numpy is not None
        assert expected.check(work.numpy(*arrays)) is None
        assert expected.check(kernel(*arrays)) is None


@pytest.mark.parametrize("name", SPARSE)
def test_float16_is_summed_in_float32(name: str) -> None:
    work = OPERATORS[name](**CASES[name][0], dtype="float16")
    agree(work, build=False)
    assert work.outputs[0].dtype == "float32"


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("csr_matvec", {"K": 0}, "K=0 columns hold none of E=41 stored elements"),
        ("csr_matmul", {"dtype": "bool"}, "it takes arrays of numbers; got dtype='bool'"),
        ("bsr_matvec", {"R": 5}, "blocks of R=5 do not divide M=12"),
        ("bsr_matmul", {"S": 0}, "blocks of S=0 do not divide K=20"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**CASES[name][0] | options)
    assert str(caught.value) == f"{name}: {words}"


def test_names() -> None:
    for name, output in (("csr_matvec", "Y"), ("csr_matmul", "C"), ("bsr_matvec", "Y"), ("bsr_matmul", "C")):
        work = OPERATORS[name](**CASES[name][0])
        assert [stage.name for stage in work.stages[:3]] == ["row", "row.u0", "row.u1"]
        assert work.outputs[0].label == output

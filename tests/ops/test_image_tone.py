"""Tones, recursive blurs, mosaics, bilateral grids and local Laplacians: beside SciPy, and by what they must keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage, signal

from loopwright import ops
from loopwright.ops.image_demosaic import PATTERNS
from loopwright.sched.errors import DefinitionError
from tests.ops.cases import OPERATORS
from tests.ops.images import computed, picture

DTYPES = ("uint8", "uint16", "float32", "float64")


# --- tones -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_luma_is_a_product(dtype: str) -> None:
    x = picture((7, 19, 3), dtype)
    want = x.astype("float64") @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(
        computed(ops.luma(X=x.shape, dtype=dtype), x), want, rtol=1e-6, atol=0.501 * (x.max() > 1)
    )


@pytest.mark.parametrize(("dtype", "shape"), [("uint8", (23, 37)), ("uint8", (1, 2)), ("uint16", (9, 11))])
def test_equalized_pixels_are_their_ranks(dtype: str, shape: tuple[int, int]) -> None:
    x = picture(shape, dtype, 4) // 3 + 7
    ranks = np.sort(x, axis=None).searchsorted(x, "right")
    most = np.iinfo(dtype).max
    want = np.floor(most * (ranks - ranks.min()) / (x.size - ranks.min()) + 0.5)
    np.testing.assert_array_equal(computed(ops.equalize_histogram(X=shape, dtype=dtype), x), want)


def test_one_tone_stays() -> None:
    x = np.full((5, 6), 93, "uint8")
    np.testing.assert_array_equal(computed(ops.equalize_histogram(X=x.shape), x), x)


# --- recursive blurs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype", "alpha"),
    [
        ((13, 21), "uint8", 0.5),
        ((7, 9, 3), "float32", 0.2),
        ((1, 5), "float64", 0.9),
        ((6, 1), "uint16", 1.0),
    ],
)
def test_a_recursive_blur_is_scipys_filter(shape: tuple[int, ...], dtype: str, alpha: float) -> None:
    x = picture(shape, dtype)
    want = x.astype("float64")
    for axis in (0, 1):
        for _ in range(2):
            start = (1 - alpha) * want.take([0], axis)
            want, _last = signal.lfilter([alpha], [1, alpha - 1], want, axis, zi=start)
            want = np.flip(want, axis)
    got = computed(ops.iir_blur(X=shape, alpha=alpha, dtype=dtype), x)
    assert got.dtype == ("float64" if dtype == "float64" else "float32")
    np.testing.assert_allclose(got, want, rtol=1e-5)


# --- mosaics ---------------------------------------------------------------------------------------------------------


def interpolated(x: Any, pattern: str) -> Any:
    """Each colour's pixels spread by SciPy over the others, and divided by how much of them arrived."""
    near = {"R": [[1, 2, 1], [2, 4, 2], [1, 2, 1]], "G": [[0, 1, 0], [1, 4, 1], [0, 1, 0]]}
    found = []
    for color in "RGB":
        seen = np.array([*pattern]).reshape(2, 2) == color
        mask = np.tile(seen, (x.shape[0] // 2 + 1, x.shape[1] // 2 + 1))[: x.shape[0], : x.shape[1]]
        weights = near.get(color, near["R"])
        spread, arrived = (
            ndimage.convolve(a.astype(float), weights, mode="mirror") for a in (x * mask, mask)
        )
        found.append(np.where(mask, x, spread / arrived))
    return np.stack(found, axis=-1)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_demosaic_is_interpolation(pattern: str) -> None:
    for shape, dtype in (((9, 12), "uint8"), ((2, 3), "uint16"), ((8, 7), "float32")):
        x = picture(shape, dtype)
        want = interpolated(x, pattern)
        got = computed(ops.demosaic(X=shape, pattern=pattern, dtype=dtype), x)
        np.testing.assert_allclose(got, np.floor(want + 0.5) if dtype[0] == "u" else want, rtol=1e-6)


# --- bilateral grids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "cell", "steps", "dtype"),
    [
        ((17, 22), 4, 10, "uint8"),
        ((9, 7), 3, 1, "uint16"),
        ((5, 5), 8, 5, "float32"),
        ((1, 1), 1, 2, "float64"),
    ],
)
def test_bilateral_grids(shape: tuple[int, int], cell: int, steps: int, dtype: str) -> None:
    work = ops.bilateral_grid(X=shape, cell=cell, steps=steps, dtype=dtype)
    computed(work, picture(shape, dtype))
    plain = np.full(shape, 0.3 if dtype[0] == "f" else 77, dtype)
    np.testing.assert_allclose(work.reference(plain), plain, rtol=1e-5)


def test_a_bilateral_grid_keeps_edges_and_smooths_noise() -> None:
    noise = np.random.default_rng(1).normal(0, 0.02, (48, 40)).astype("float32")
    clean = np.where(np.arange(40) < 20, 0.1, 0.9).astype("float32") + np.zeros_like(noise)
    got = ops.bilateral_grid(X=clean.shape, dtype="float32").reference(clean + noise)
    assert np.abs(got - clean).max() < 0.03
    assert np.abs(got - clean).std() < 0.3 * noise.std()


# --- local Laplacians ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype", "levels"),
    [((13, 10), "uint8", 3), ((9, 11, 3), "uint16", 2), ((1, 1), "float32", 3), ((6, 5), "float64", 1)],
)
def test_without_contrast_added_nothing_changes(shape: tuple[int, ...], dtype: str, levels: int) -> None:
    x = picture(shape, dtype)
    same = ops.local_laplacian(X=shape, alpha=0.0, levels=levels, dtype=dtype)
    np.testing.assert_allclose(same.reference(x), x, rtol=0, atol=1e-5 if dtype[0] == "f" else 0)
    computed(ops.local_laplacian(X=shape, levels=levels, dtype=dtype), x)


def test_detail_gets_contrast_and_large_steps_stay() -> None:
    ripple = np.cos(np.arange(64) * np.pi / 2)[None] * 0.02
    x = (np.where(np.arange(64) < 32, 0.25, 0.75)[None] + ripple + np.zeros((16, 1))).astype("float32")
    got = {a: ops.local_laplacian(X=x.shape, alpha=a, dtype="float32").reference(x) for a in (-0.5, 1.0)}
    assert got[1.0][:, :24].std() > 1.4 * x[:, :24].std()
    assert got[-0.5][:, :24].std() < 0.7 * x[:, :24].std()
    assert abs((got[1.0][:, 48:].mean() - got[1.0][:, :16].mean()) - 0.5) < 0.1


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("luma", {"X": (5, 5)}, "X=(5, 5) is not the shape (H, W, C) of an image"),
        ("luma", {"X": (5, 5, 4)}, "X=(5, 5, 4) has 4 colours, not red, green and blue"),
        ("local_laplacian", {"X": (5, 5, 1)}, "X=(5, 5, 1) has 1 colours"),
        ("local_laplacian", {"tones": 1}, "tones=1 is less than 2"),
        ("local_laplacian", {"levels": 0}, "levels=0 is less than 1"),
        ("equalize_histogram", {"dtype": "float32"}, "pixels are of uint8 or uint16; got dtype='float32'"),
        ("iir_blur", {"alpha": 0.0}, "alpha=0.0 is not above 0 and at most 1"),
        ("iir_blur", {"alpha": 1.5}, "alpha=1.5 is not above 0"),
        ("demosaic", {"pattern": "RGBG"}, "unknown pattern 'RGBG'; there are RGGB, BGGR, GRBG, GBRG"),
        ("demosaic", {"X": (1, 5)}, "a mosaic has 2 rows and 2 columns at least; got X=(1, 5)"),
        ("bilateral_grid", {"cell": 0}, "cell=0 is less than 1"),
        ("bilateral_grid", {"steps": 0}, "steps=0 is less than 1"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**{"X": (5, 5)} | options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# Operator -> its stages with their axes, of a grey image.
STAGES = {
    "equalize_histogram": "hist: v, hist.u0: y x, cdf: v, cdf.u0: t, darkest: u, lut: v, Y: y x",
    "iir_blur": "Y: y x, Y.u0: x t, Y.u1: x t, Y.u2: y t, Y.u3: y t",
    "demosaic": "Y: y x c",
    "bilateral_grid": "grid: c y x z, grid.u0: c y x r s, blur_z: c y x z, blur_x: c y x z, blur_y: c y x z, Y: y x",
    "local_laplacian": (
        "grey0: y x, tones0: k y x, grey1: y x, tones1: k y x, out1: y x k, out0: y x k, Y: y x"
    ),
}


@pytest.mark.parametrize("name", STAGES)
def test_names_are_stable(name: str) -> None:
    work = OPERATORS[name](X=(6, 8), **({"levels": 2} if name == "local_laplacian" else {}))
    stages = {s.name: " ".join(axis.name for axis in s.all_axes) for s in work.stages}
    assert stages == dict(item.split(": ") for item in STAGES[name].split(", "))

"""Attention and norms of images beside NumPy, with every option; and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.reference.numbers import Array
from tests.ops.cases import OPERATORS

SIZES: dict[str, Any] = {"B": 2, "H": 4, "M": 5, "N": 7, "D": 6}
IMAGE: dict[str, Any] = {"N": 2, "H": 3, "W": 5, "C": 6}
FLOATS = ("float32", "float64", "float16", "bfloat16")


def agree(work: Workload, *given: Array) -> Any:
    """The definition, NumPy's counterpart, and the kernel, whose result is returned."""
    arrays = list(given) or random_inputs(work, 1)
    for number, tensor in enumerate(work.inputs):
        if tensor.name == "var":
            arrays[number] = np.abs(arrays[number])
    expected = Expected.of(work, arrays)
    assert work.numpy is not None
    assert expected.check(work.numpy(*arrays)) is None
    got = lw.build(work, target="cpu")(*arrays)
    assert expected.check(got) is None
    return got


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"causal": True},
        {"kv_heads": 2, "causal": True, "mask": "add"},
        {"kv_heads": 1, "mask": "bool", "scale": 0.3},
        {"mask": "bool", "mask_shape": (2, 1, 1, 7)},
        {"mask": "add", "mask_shape": (4, 5, 1)},
    ],
)
def test_attention(options: dict[str, Any], dtype: str) -> None:
    agree(ops.attention(**SIZES, **options, dtype=dtype))


@pytest.mark.parametrize(
    "sizes", [{"B": 1, "H": 1, "M": 1, "N": 1, "D": 1}, {"B": 0}, {"M": 0}, {"N": 0}, {"H": 1}, {"M": 9}]
)
def test_small_sizes(sizes: dict[str, int]) -> None:
    agree(ops.attention(**SIZES | sizes, causal=True))
    agree(ops.attention(**SIZES | sizes, mask="bool"))


def test_attention_by_hand() -> None:
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((2, 3, 5, 4), "f") for _ in "qkv")
    scores = np.where(np.tri(5, dtype="bool"), q @ k.swapaxes(2, 3) / 2, -np.inf)
    got = agree(ops.attention(B=2, H=3, M=5, N=5, D=4, causal=True), q, k, v)
    np.testing.assert_allclose(got, softmax(scores, axis=-1) @ v, rtol=1e-5, atol=1e-6)


def test_grouped_heads_are_as_repeated_ones() -> None:
    rng = np.random.default_rng(3)
    q = rng.standard_normal((1, 6, 5, 4), "f")
    k, v = (rng.standard_normal((1, 2, 5, 4), "f") for _ in "kv")
    grouped = agree(ops.attention(B=1, H=6, M=5, N=5, D=4, kv_heads=2), q, k, v)
    whole = agree(ops.attention(B=1, H=6, M=5, N=5, D=4), q, k.repeat(3, axis=1), v.repeat(3, axis=1))
    np.testing.assert_allclose(grouped, whole, rtol=1e-6)


def test_the_last_query_sees_all_keys() -> None:
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((1, 2, count, 4), "f") for count in (1, 9, 9))
    one = {"B": 1, "H": 2, "M": 1, "N": 9, "D": 4}
    np.testing.assert_array_equal(
        agree(ops.attention(**one, causal=True), q, k, v), agree(ops.attention(**one), q, k, v)
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_a_query_does_not_see_has_no_part_in_it(value: float) -> None:
    sizes = {"B": 1, "H": 1, "M": 40, "N": 45, "D": 8}
    q, k, v = random_inputs(ops.attention(**sizes), 1)
    whole = agree(ops.attention(**sizes, causal=True), q, k, v)
    k[:, :, 25:] = v[:, :, 25:] = value
    np.testing.assert_array_equal(
        agree(ops.attention(**sizes, causal=True), q, k, v)[:, :, :20], whole[:, :, :20]
    )


@pytest.mark.parametrize("kind", ["bool", "add"])
def test_a_query_that_sees_nothing_gets_zeros(kind: str) -> None:
    work = ops.attention(**SIZES, mask=kind)
    arrays = random_inputs(work, 1)
    arrays[3] = np.zeros((5, 7), "bool") if kind == "bool" else np.full((5, 7), -np.inf, "f")
    arrays[3][1:] = kind == "bool"
    got = agree(work, *arrays)
    assert not got[:, :, 0].any()
    assert np.abs(got[:, :, 1:]).min() > 0


def test_large_scores_do_not_overflow() -> None:
    work = ops.attention(**SIZES, scale=1.0)
    arrays = [array * 1000 for array in random_inputs(work, 1)]
    assert np.isfinite(agree(work, *arrays)).all()


def test_open_lengths() -> None:
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((1, 2, count, 4), "f") for count in (3, 9, 9))
    kernel = lw.build(ops.attention(1, 2, lw.size("m"), lw.size("n"), 4, causal=True), target="cpu")
    want = ops.attention(1, 2, 3, 9, 4, causal=True).reference(q, k, v)
    np.testing.assert_allclose(kernel(q, k, v), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_norms_of_images(layout: str, dtype: str) -> None:
    how = {"layout": layout, "dtype": dtype}
    agree(ops.batch_norm(**IMAGE, **how))
    agree(ops.instance_norm(**IMAGE, eps=0.1, **how))
    for groups in (1, 2, 6):
        agree(ops.group_norm(**IMAGE, groups=groups, **how))


@pytest.mark.parametrize("sizes", [{"N": 0}, {"H": 0}, {"N": 1, "H": 1, "W": 1, "C": 1}, {"W": 1, "C": 2}])
def test_norms_of_small_images(sizes: dict[str, int]) -> None:
    agree(ops.batch_norm(**IMAGE | sizes))
    agree(ops.instance_norm(**IMAGE | sizes))
    agree(ops.group_norm(**IMAGE | sizes, groups=1))


def test_a_normalised_group_has_mean_0_and_variance_1() -> None:
    x = np.random.default_rng(6).normal(5, 3, (2, 4, 4, 6)).astype("f")
    got = agree(ops.group_norm(N=2, H=4, W=4, C=6, groups=2), x, np.ones(6, "f"), np.zeros(6, "f"))
    groups = got.reshape(2, 16, 2, 3)
    np.testing.assert_allclose(groups.mean(axis=(1, 3)), 0, atol=1e-6)
    np.testing.assert_allclose(groups.var(axis=(1, 3)), 1, rtol=1e-4)


def axes(work: Workload) -> dict[str, str]:
    return {stage.name: " ".join(axis.name for axis in stage.all_axes) for stage in work.stages}


def test_names_are_stable_under_options() -> None:
    stages = {
        "scores": "b h i j d", "row_max": "b h i k", "exps": "b h i j", "row_sum": "b h i k", "Y": "b h i d k",
    }  # fmt: skip
    for options in ({}, {"causal": True, "kv_heads": 2}, {"mask": "add", "dtype": "float16"}):
        assert axes(ops.attention(**SIZES, **options)) == stages
    for layout, own, over in (("NHWC", "n h w c", "r s k"), ("NCHW", "n c h w", "k r s")):
        assert axes(ops.batch_norm(**IMAGE, layout=layout)) == {"inv_std": "c", "Y": own}
        for work in (
            ops.group_norm(**IMAGE, groups=2, layout=layout),
            ops.instance_norm(**IMAGE, layout=layout),
        ):
            assert axes(work) == {"mean": f"n g {over}", "inv_std": f"n g {over}", "Y": own}


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("attention", {"kv_heads": 3}, "kv_heads=3 does not divide H=4 heads"),
        ("attention", {"mask": "causal"}, "unknown mask 'causal'; there are none, bool, add"),
        (
            "attention",
            {"mask_shape": (5, 7)},
            "mask_shape=(5, 7) without a mask; say mask='bool' or mask='add'",
        ),
        ("attention", {"mask": "add", "mask_shape": (2, 5, 7)}, "do not broadcast: 2 and 4 meet"),
        ("attention", {"mask": "add", "mask_shape": (3, 2, 4, 5, 7)}, "does not broadcast to the scores"),
        ("attention", {"dtype": "int8"}, "it takes arrays of floats; got dtype='int8'"),
        ("attention", {"D": 0}, "D=0; a query and a key have at least 1 element"),
        ("group_norm", {"groups": 4}, "groups=4 does not divide C=6 channels"),
        ("group_norm", {"groups": 2, "layout": "CHWN"}, "unknown layout 'CHWN'; there are NHWC and NCHW"),
        ("batch_norm", {"dtype": "int32"}, "it takes arrays of floats; got dtype='int32'"),
        ("instance_norm", {"layout": "HWC"}, "unknown layout 'HWC'"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**(SIZES if name == "attention" else IMAGE) | options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)

"""The workload sets: the sizes of real networks, and of a real photograph."""

from __future__ import annotations

import math
from importlib import resources

import pytest

from loopwright import ops
from loopwright.sched.errors import DefinitionError


@pytest.mark.parametrize("name", ops.workload_sets())
def test_every_entry_is_a_workload_of_its_own(name: str) -> None:
    found = ops.workload_set(name)
    assert found.name == name
    assert found.title
    assert "arXiv:" in found.source or name == "image-pipeline"
    assert len({entry.workload.key for entry in found}) == len(found)
    assert len({entry.name for entry in found}) == len(found)
    for entry in found:
        assert entry.weight == entry.count >= 1
        assert entry.where
        assert found[entry.name] is entry
        assert entry.workload is entry.workload


def multiplications(name: str, prefix: str = "") -> int:
    """Multiply-adds of the products and convolutions, each as often as the network computes it."""
    return sum(
        entry.count * math.prod(axis.extent for axis in entry.workload.stages[-1].all_axes)
        for entry in ops.workload_set(name)
        if entry.name.startswith(prefix)
        and any(word in entry.operator for word in ("conv", "matmul", "dense"))
    )


@pytest.mark.parametrize("batch", [1, 8])
def test_bert_base_is_whole(batch: int) -> None:
    tokens, hidden, inner, heads, layers = 128 * batch, 768, 3072, 12, 12
    layer = 4 * tokens * hidden * hidden + 2 * tokens * hidden * inner + 2 * batch * heads * 128 * 128 * 64
    assert multiplications("bert-base", f"b{batch}-") == layers * layer + batch * hidden * hidden


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("resnet-50", 4089),  # 4.1 billion, as torchvision counts it
        ("mobilenet-v2", 301),  # 300 million: Sandler et al., table 4
        ("efficientnet-b0", 386),  # 390 million: Tan and Le, table 2
        ("vit-b16", 17_582),
    ],
)
def test_networks_of_images_are_whole(name: str, millions: int) -> None:
    assert abs(multiplications(name) / 1e6 - millions) < 0.005 * millions


def test_resnet_50_has_its_layers() -> None:
    found = ops.workload_set("resnet-50")
    assert sum(entry.count for entry in found if "conv" in entry.operator) == 1 + 3 * (3 + 4 + 6 + 3) + 4


@pytest.mark.parametrize(
    ("name", "tokens", "keys", "width", "inner", "layers", "vocabulary"),
    [
        ("bert-large", 128, 128, 1024, 4096, 24, 1024),  # the pooler in place of a head
        ("gpt-2", 128, 128, 768, 3072, 12, 50257),
    ],
)
def test_transformers_are_whole(
    name: str, tokens: int, keys: int, width: int, inner: int, layers: int, vocabulary: int
) -> None:
    layer = 4 * tokens * width * width + 2 * tokens * width * inner + 2 * tokens * keys * width
    assert multiplications(name) == layers * layer + width * vocabulary


@pytest.mark.parametrize(
    ("name", "tokens", "keys"), [("llama-7b-token", 1, 512), ("llama-7b-prompt", 128, 128)]
)
def test_llama_is_whole(name: str, tokens: int, keys: int) -> None:
    layer = 4 * tokens * 4096**2 + 3 * tokens * 4096 * 11008 + 2 * tokens * keys * 4096
    assert multiplications(name) == 32 * layer + 4096 * 32000


def test_the_photograph_has_the_size_that_is_said() -> None:
    image = pytest.importorskip("matplotlib.image")
    sample = resources.files("matplotlib").joinpath("mpl-data/sample_data/grace_hopper.jpg")
    with sample.open("rb") as file:
        height, width, colours = image.imread(file, format="jpg").shape
    for entry in ops.workload_set("image-pipeline"):
        assert tuple(entry.args["X"]) in ((height, width), (height, width, colours))


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(
        DefinitionError, match="unknown workload set 'vgg'; there are bert-base, bert-large, "
    ):
        ops.workload_set("vgg")
    with pytest.raises(DefinitionError, match="bert-base has no 'b2-ffn'; it has b1-projection, "):
        ops.workload_set("bert-base")["b2-ffn"]

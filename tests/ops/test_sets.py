"""The workload sets: the sizes of real networks."""

from __future__ import annotations

import math

import pytest

from loopwright import ops
from loopwright.sched.errors import DefinitionError


@pytest.mark.parametrize("name", ops.workload_sets())
def test_every_entry_is_a_workload_of_its_own(name: str) -> None:
    found = ops.workload_set(name)
    assert found.name == name
    assert found.title
    assert "arXiv:" in found.source
    assert len({entry.workload.key for entry in found}) == len(found)
    assert len({entry.name for entry in found}) == len(found)
    for entry in found:
        assert entry.weight == entry.count >= 1
        assert entry.where
        assert found[entry.name] is entry
        assert entry.workload is entry.workload


def multiplications(name: str, prefix: str = "") -> int:
    """Multiply-adds of the entries, each as often as the network computes it."""
    total = 0
    for entry in ops.workload_set(name):
        if entry.name.startswith(prefix):
            (stage,) = entry.workload.stages
            total += entry.count * math.prod(axis.extent for axis in stage.all_axes)
    return total


@pytest.mark.parametrize("batch", [1, 8])
def test_bert_base_is_whole(batch: int) -> None:
    tokens, hidden, inner, heads, layers = 128 * batch, 768, 3072, 12, 12
    layer = 4 * tokens * hidden * hidden + 2 * tokens * hidden * inner + 2 * batch * heads * 128 * 128 * 64
    assert multiplications("bert-base", f"b{batch}-") == layers * layer + batch * hidden * hidden


def test_resnet_50_is_whole() -> None:
    found = ops.workload_set("resnet-50")
    assert sum(entry.count for entry in found if entry.name != "dense") == 2 * (3 + 4 + 6 + 3) + 4
    # Of 4.1 billion multiply-adds a forward pass, the 3x3 and 7x7 convolutions take 1.97.
    three = sum(n * (56 // s) ** 2 * (64 * s) ** 2 * 9 for s, n in ((1, 3), (2, 4), (4, 6), (8, 3)))
    seven = 112 * 112 * 64 * 3 * 49
    assert abs(multiplications("resnet-50") + three + seven - 4.09e9) < 0.01e9


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(DefinitionError, match="unknown workload set 'vgg'; there are bert-base, resnet-50"):
        ops.workload_set("vgg")
    with pytest.raises(DefinitionError, match="bert-base has no 'b2-ffn'; it has b1-projection, "):
        ops.workload_set("bert-base")["b2-ffn"]

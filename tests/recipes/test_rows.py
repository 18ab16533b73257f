"""Groups of stages computed row by row: which are found, how they are scheduled, that all candidates are right."""

from __future__ import annotations

from dataclasses import replace

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.graph import inline_all
from loopwright.sched.recipes.groups import groups
from loopwright.sched.recipes.typical import at_numbers
from loopwright.sched.runtime.target import host
from tests.recipes.judging import ONE_CORE, assert_golden, assert_right, assert_space_is_right


@lw.operator
def attention(H: int, L: int, S: int, D: int, causal: bool = False, shared: int = 1) -> Stage:
    """Scores, softmax, values; ``shared`` heads of queries have one of keys and values."""
    q = lw.input("q", (H, L, D))
    k, v = lw.input("k", (H // shared, S, D)), lw.input("v", (H // shared, S, D))
    d, a, b, t = (
        lw.reduce_axis("d", D),
        lw.reduce_axis("a", S),
        lw.reduce_axis("b", S),
        lw.reduce_axis("t", S),
    )
    of = lambda h: h if shared == 1 else h // shared  # noqa: E731
    dots = lw.compute("dots", (H, L, S), lambda h, i, j: lw.sum(q[h, i, d] * k[of(h), j, d], over=d) * 0.125)
    seen = lambda i, j, x: lw.select(j <= i, x, -1e30) if causal else x  # noqa: E731
    scores = lw.compute("scores", (H, L, S), lambda h, i, j: seen(i, j, dots[h, i, j]))
    top = lw.compute("top", (H, L), lambda h, i: lw.max(scores[h, i, a], over=a))
    e = lw.compute("e", (H, L, S), lambda h, i, j: lw.exp(scores[h, i, j] - top[h, i]))
    z = lw.compute("z", (H, L), lambda h, i: lw.sum(e[h, i, b], over=b))
    p = lw.compute("p", (H, L, S), lambda h, i, j: e[h, i, j] / z[h, i])
    return lw.compute("o", (H, L, D), lambda h, i, c: lw.sum(p[h, i, t] * v[of(h), t, c], over=t))


@lw.operator
def group_norm(N: int, G: int, C: int, S: int) -> Stage:
    x, gamma = lw.input("x", (N, G, C, S)), lw.input("gamma", (G, C))
    c, s, d, t = (
        lw.reduce_axis("c", C),
        lw.reduce_axis("s", S),
        lw.reduce_axis("d", C),
        lw.reduce_axis("t", S),
    )
    mean = lw.compute("mean", (N, G), lambda n, g: lw.sum(x[n, g, c, s], over=(c, s)) / (C * S))
    away = lambda n, g, c, s: x[n, g, c, s] - mean[n, g]  # noqa: E731
    inv = lw.compute(
        "inv",
        (N, G),
        lambda n, g: lw.rsqrt(lw.sum(away(n, g, d, t) * away(n, g, d, t), over=(d, t)) / (C * S) + 1e-5),
    )
    return lw.compute("y", (N, G, C, S), lambda n, g, c, s: away(n, g, c, s) * inv[n, g] * gamma[g, c])


@lw.operator
def cross_entropy(M: int, N: int) -> Stage:
    """The logarithm of a row's softmax where its target is, summed with weights: a host that is a reduction itself."""
    x, w = lw.input("x", (2, M, N)), lw.input("w", (2, M, N))
    a, b, c = lw.reduce_axis("a", N), lw.reduce_axis("b", N), lw.reduce_axis("c", N)
    top = lw.compute("top", (2, M), lambda n, i: lw.max(x[n, i, a], over=a))
    z = lw.compute("z", (2, M), lambda n, i: lw.log(lw.sum(lw.exp(x[n, i, b] - top[n, i]), over=b)))
    return lw.compute(
        "loss", (2, M), lambda n, i: lw.sum((x[n, i, c] - top[n, i] - z[n, i]) * w[n, i, c], over=c)
    )


@lw.operator
def masked_softmax(M: int, N: int) -> Stage:
    x, mask = lw.input("x", (M, N)), lw.input("mask", (N,), "bool")
    a, b = lw.reduce_axis("a", N), lw.reduce_axis("b", N)
    seen = lw.compute("seen", (M, N), lambda i, j: lw.select(mask[j], x[i, j], -1e30))
    top = lw.compute("top", (M,), lambda i: lw.max(seen[i, a], over=a))
    e = lw.compute("e", (M, N), lambda i, j: lw.exp(seen[i, j] - top[i]))
    z = lw.compute("z", (M,), lambda i: lw.sum(e[i, b], over=b))
    return lw.compute("y", (M, N), lambda i, j: e[i, j] / z[i])


@lw.operator
def softmax_of_columns(M: int, N: int) -> Stage:
    x = lw.input("x", (M, N))
    a, b = lw.reduce_axis("a", M), lw.reduce_axis("b", M)
    top = lw.compute("top", (N,), lambda j: lw.max(x[a, j], over=a))
    e = lw.compute("e", (M, N), lambda i, j: lw.exp(x[i, j] - top[j]))
    z = lw.compute("z", (N,), lambda j: lw.sum(e[b, j], over=b))
    return lw.compute("y", (M, N), lambda i, j: e[i, j] / z[j])


@lw.operator
def normalised_product(M: int, N: int, K: int) -> Stage:
    """A row is normalised, then multiplied by a matrix: the matrix may be too large to come by for each few rows."""
    x, w = lw.input("x", (M, K)), lw.input("w", (K, N))
    a, k = lw.reduce_axis("a", K), lw.reduce_axis("k", K)
    inv = lw.compute("inv", (M,), lambda i: lw.rsqrt(lw.sum(x[i, a] * x[i, a], over=a) / K + 1e-6))
    y = lw.compute("y", (M, K), lambda i, j: lw.exp(x[i, j] * inv[i]))
    return lw.compute("p", (M, N), lambda i, j: lw.sum(y[i, k] * w[k, j], over=k))


@lw.operator
def with_its_sums(M: int, N: int) -> tuple[Stage, Stage]:
    """The sums are an output too, so they are computed whole."""
    x, k = lw.input("x", (M, N)), lw.reduce_axis("k", N)
    total = lw.compute("total", (M,), lambda i: lw.sum(x[i, k], over=k))
    return lw.compute("y", (M, N), lambda i, j: x[i, j] / total[i]), total


WORKS: dict[str, Workload] = {
    "softmax": ops.softmax(M=7, N=83),
    "softmax, one row": ops.softmax(M=1, N=40),
    "softmax, one column": ops.softmax(M=9, N=1),
    "softmax, few columns": ops.softmax(M=33, N=10),
    "softmax, float64": ops.softmax(M=5, N=61, dtype="float64"),
    "softmax, float16": ops.softmax(M=5, N=61, dtype="float16"),
    "log softmax": ops.log_softmax(M=6, N=100),
    "layer norm": ops.layer_norm(M=5, N=67),
    "RMS norm": ops.rms_norm(M=11, N=48),
    "group norm": group_norm(N=2, G=3, C=5, S=41),
    "cross entropy": cross_entropy(M=6, N=71),
    "masked softmax": masked_softmax(M=6, N=50),
    "softmax of columns": softmax_of_columns(M=40, N=37),
    "normalised product": normalised_product(M=13, N=35, K=40),
    "sums as an output": with_its_sums(M=5, N=60),
    "attention": attention(H=3, L=29, S=37, D=24),
    "attention, causal": attention(H=2, L=19, S=19, D=16, causal=True),
    "attention, one query": attention(H=2, L=1, S=45, D=16),
    "attention, one head": attention(H=1, L=20, S=33, D=8),
    "attention, shared keys": attention(H=4, L=9, S=35, D=32, shared=2),
}


@pytest.mark.parametrize("name", WORKS)
def test_default_and_candidates_are_right(name: str) -> None:
    assert_space_is_right(WORKS[name], built=1)


def grouped(work: Workload) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    found = groups(inline_all(work.schedule()).nests, ONE_CORE)
    return [(group.host, group.members, group.rows) for group in found]


def test_stages_that_wait_for_a_row_are_grouped() -> None:
    assert grouped(WORKS["softmax"]) == [("Y", ("row_max", "exps", "row_sum"), ("i",))]
    assert grouped(WORKS["layer norm"]) == [("Y", ("mean", "inv_std"), ("i",))]
    assert grouped(WORKS["group norm"]) == [("y", ("mean", "inv"), ("n", "g"))]
    assert grouped(WORKS["cross entropy"]) == [("loss", ("top", "z"), ("n", "i"))]
    assert default_schedule(WORKS["cross entropy"], ONE_CORE).nests.place_of("z").kind == "at"
    assert grouped(WORKS["attention"]) == [("o", ("dots", "top", "e", "z", "p"), ("h", "i"))]


def test_what_waits_for_nothing_is_not_grouped() -> None:
    assert grouped(ops.matmul(M=40, N=40, K=40)) == []
    assert grouped(WORKS["softmax of columns"]) == []
    assert grouped(WORKS["sums as an output"]) == []


def test_a_matrix_too_large_for_the_cache_is_multiplied_apart() -> None:
    long = attention(H=2, L=2048, S=2048, D=64)
    assert grouped(long) == [("o", ("dots", "top", "e", "z", "p"), ("h", "i"))]
    assert grouped(normalised_product(M=13, N=35, K=40)) == [("p", ("inv", "y"), ("i",))]
    assert grouped(normalised_product(M=128, N=3072, K=768)) == [("y", ("inv",), ("i",))]


@pytest.mark.parametrize("name", ["softmax", "attention"])
def test_the_nest_of_the_default(name: str) -> None:
    works = {"softmax": ops.softmax(M=128, N=1000), "attention": attention(H=12, L=128, S=128, D=64)}
    assert_golden(f"default_{name}", default_schedule(works[name], ONE_CORE))


def test_rows_of_any_length_share_a_kernel() -> None:
    work = ops.layer_norm(M=lw.size("m"), N=lw.size("n", at_least=1))
    schedule = default_schedule(work, replace(host(), cores=2))
    assert schedule.nests.place_of("mean").kind == "at"
    for sizes in ({"m": 5, "n": 67}, {"m": 1, "n": 1}, {"m": 3, "n": 256}):
        assert_right(at_numbers(schedule, sizes))

"""Attention: each query's mean of the values, weighted by how well the keys match it."""

from __future__ import annotations

import math

import numpy as np

from loopwright.ops.broadcast import Shape, broadcast, checked, element
from loopwright.sched.dtypes import accumulator, greatest
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, compute, input, max, reduce_axis, select, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.extents import same_shape
from loopwright.sched.language.mathfns import exp, rsqrt
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

MASKS = ("none", "bool", "add")


def attention_numpy(
    q: Array, k: Array, v: Array, *masks: Array, causal: bool, mask: str, scale: float, dtype: str
) -> Array:
    """What :func:`attention` computes."""
    wide, groups = accumulator(dtype), k.shape[1]
    B, H, M, D = q.shape
    N = k.shape[2]
    grouped = q.astype(wide).reshape(B, groups, H // groups, M, D)
    scores = np.matmul(grouped, k.astype(wide)[:, :, None].swapaxes(-1, -2)).reshape(B, H, M, N)
    scores *= scale or 1 / math.sqrt(D)
    if mask == "add":
        scores += masks[0]
    seen = masks[0] if mask == "bool" else np.ones((), "bool")
    if causal:
        seen = seen & np.tri(M, N, N - M, dtype="bool")
    scores = np.where(seen, scores, -np.inf)
    scores -= np.maximum(scores.max(axis=-1, keepdims=True, initial=-np.inf), np.finfo(wide).min)
    np.exp(scores, out=scores)
    scores /= np.maximum(scores.sum(axis=-1, keepdims=True), 1)
    weights, values = scores.reshape(B, groups, H // groups, M, N), v.astype(wide)[:, :, None]
    if not causal:
        return np.matmul(weights, values).reshape(B, H, M, D).astype(dtype)
    # What a query does not see has no part in it, be it infinite or NaN.
    found = np.empty((B, groups, H // groups, M, D), wide)
    for i, last in enumerate(np.clip(np.arange(M) + 1 + N - M, 0, N)):
        np.matmul(weights[..., i : i + 1, :last], values[..., :last, :], out=found[..., i : i + 1, :])
    return found.reshape(B, H, M, D).astype(dtype)


def _check(where: str, H: int, kv_heads: int, D: int, mask: str, shape: Shape, whole: Shape) -> None:
    """Refuse what does not fit together.

    Raises:
        DefinitionError: the heads of keys do not divide those of queries, or the mask is none.
    """
    if kv_heads and (kv_heads < 0 or H % kv_heads):
        raise DefinitionError(f"{where}: kv_heads={kv_heads} does not divide H={H} heads")
    if isinstance(D, int) and D < 1:
        raise DefinitionError(f"{where}: D={D}; a query and a key have at least 1 element")
    if mask not in MASKS:
        raise DefinitionError(f"{where}: unknown mask {mask!r}; there are {', '.join(MASKS)}")
    if mask == "none" and shape:
        raise DefinitionError(f"{where}: mask_shape={shape} without a mask; say mask='bool' or mask='add'")
    if not same_shape(broadcast(where, shape, whole), whole):
        raise DefinitionError(
            f"{where}: mask_shape={shape} does not broadcast to the scores, which are {whole}"
        )


@operator(numpy=attention_numpy)
def attention(
    B: int,
    H: int,
    M: int,
    N: int,
    D: int,
    kv_heads: int = 0,
    causal: bool = False,
    mask: str = "none",
    mask_shape: Shape = (),
    scale: float = 0.0,
    dtype: str = "float32",
) -> Stage:
    """``Y[b, h, i, :] = sum over k of softmax over k of (Q[b, h, i, :] . K[b, h, k, :] * scale)[k] * V[b, h, k, :]``.

    Inputs: ``Q`` of (B, H, M, D), M queries for each of H heads; ``K`` and ``V`` of (B, H, N, D), N keys and their values; and
    ``mask``. Stages: ``scores`` of (B, H, M, N) (axes ``b``, ``h``, ``i``, ``j``, reduction ``d``), ``row_max`` (``b``, ``h``,
    ``i``, ``k``), ``exps`` (``b``, ``h``, ``i``, ``j``), ``row_sum`` (``b``, ``h``, ``i``, ``k``), and the output ``Y`` of (B,
    H, M, D) (``b``, ``h``, ``i``, ``d``, ``k``), of the inputs' dtype, which is a float; float16 and bfloat16 are computed in
    float32.

    - ``kv_heads``: heads of ``K`` and ``V``, where there are fewer (grouped-query attention): each serves H / kv_heads heads
      of queries that follow each other. 0 is as many as H.
    - ``causal``: the last query sees all keys, each one before it one key less.
    - ``mask``: ``"bool"`` is an input of bool, true where a key is seen; ``"add"`` one of the inputs' dtype, added to the
      scores. Its shape ``mask_shape`` broadcasts to (B, H, M, N); by default it is (M, N).
    - ``scale``: of the scores; 0 is one over the root of D.

    A query that sees no key gets zeros. Source: Vaswani et al., "Attention Is All You Need", arXiv:1706.03762; Ainslie et
    al., "GQA", arXiv:2305.13245.
    """
    wide = accumulator(checked("attention", "floats", dtype))
    shape = (mask_shape or (M, N)) if mask != "none" else mask_shape
    _check("attention", H, kv_heads, D, mask, shape, (B, H, M, N))
    Q = input("Q", (B, H, M, D), dtype)
    K, V = (input(name, (B, kv_heads or H, N, D), dtype) for name in "KV")
    given = None if mask == "none" else input("mask", shape, "bool" if mask == "bool" else dtype)
    factor = scale or (1 / math.sqrt(D) if isinstance(D, int) else rsqrt(cast(wide, D)))
    d, k = reduce_axis("d", D), reduce_axis("k", N)

    def head(h: Axis) -> Expr:
        return h // (H // kv_heads) if kv_heads else h

    def seen(i: Axis, j: Axis, found: Expr, otherwise: float) -> Expr:
        # Said of all that is made of a score, and not of the score alone: of a triangle only half is computed.
        return select(j <= i + (N - M), found, otherwise) if causal else found

    def score(b: Axis, h: Axis, i: Axis, j: Axis) -> Expr:
        found = sum(Q[b, h, i, d] * K[b, head(h), j, d], over=d) * factor
        if given is not None and mask == "add":
            found = found + element(given, (b, h, i, j))
        if given is not None and mask == "bool":
            found = select(element(given, (b, h, i, j)), found, float("-inf"))
        return seen(i, j, found, float("-inf"))

    scores = compute("scores", (B, H, M, N), score)
    # Where nothing is seen, the greatest is the least number, not -inf: so all weights are 0, and not NaN.
    row_max = compute(
        "row_max",
        (B, H, M),
        lambda b, h, i: max(max(seen(i, k, scores[b, h, i, k], float("-inf")), over=k), -greatest(wide)),
    )
    exps = compute(
        "exps", (B, H, M, N), lambda b, h, i, j: seen(i, j, exp(scores[b, h, i, j] - row_max[b, h, i]), 0.0)
    )
    # A row that sees something sums to 1 at least.
    row_sum = compute(
        "row_sum", (B, H, M), lambda b, h, i: max(sum(seen(i, k, exps[b, h, i, k], 0.0), over=k), 1.0)
    )

    def value(b: Axis, h: Axis, i: Axis, d: Axis) -> Expr:
        weighted = sum(seen(i, k, exps[b, h, i, k] * V[b, head(h), k, d], 0.0), over=k)
        # The sum is 1 at least: its reciprocal is as good, and ten times as fast as dividing by it.
        return cast(dtype, weighted * (1 / row_sum[b, h, i]))

    return compute("Y", (B, H, M, D), value)

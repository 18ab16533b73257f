"""Workloads with updates, each beside what it means in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import loopwright as lw
from loopwright.sched.language.workload import Workload

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A workload, and a function from its inputs to its output."""

    work: Callable[[], Workload]
    numpy: Callable[..., Array]


@lw.operator
def histogram(H: int, W: int, bins: int, dtype: str = "int8") -> Any:
    """Values outside the bins are skipped."""
    img = lw.input("img", (H, W), dtype)
    y, x = lw.reduce_axis("y", H), lw.reduce_axis("x", W)
    hist = lw.compute("hist", (bins,), lambda b: lw.const(0, "int32"))
    return hist.update(lambda old: old + 1, at=img[y, x], over=(y, x))


def histogram_numpy(img: Array, bins: int) -> Array:
    values = img.astype(np.int64).ravel()
    return np.bincount(values[(values >= 0) & (values < bins)], minlength=bins).astype(np.int32)


@lw.operator
def weighted(N: int, bins: int) -> Any:
    at, weight = lw.input("at", (N,), "int64"), lw.input("weight", (N,))
    t = lw.reduce_axis("t", N)
    hist = lw.compute("hist", (bins,), lambda b: 0.5)
    return hist.update(lambda old: weight[t] + old, at=at[t], over=t)


def weighted_numpy(at: Array, weight: Array, bins: int) -> Array:
    out = np.full(bins, 0.5, np.float32)
    for index, value in zip(at, weight, strict=True):
        if 0 <= index < bins:
            out[index] += value
    return out


@lw.operator
def scatter_max(N: int, size: int) -> Any:
    at, a = lw.input("at", (N,), "int32"), lw.input("a", (N,), "int16")
    t = lw.reduce_axis("t", N)
    out = lw.compute("out", (size,), lambda i: lw.const(-3, "int16"))
    return out.update(lambda: (at[t] + 2, lw.max(a[t], out[at[t] + 2])), over=t)


def scatter_max_numpy(at: Array, a: Array, size: int) -> Array:
    out = np.full(size, -3, np.int16)
    for index, value in zip(at + 2, a, strict=True):
        if 0 <= index < size:
            out[index] = max(out[index], value)
    return out


@lw.operator
def scatter_rows(N: int, rows: int, M: int) -> Any:
    """The last row written to a place stays; readers come after."""
    at, a = lw.input("at", (N,), "int32"), lw.input("a", (N, M))
    t = lw.reduce_axis("t", N)
    out = lw.compute("table", (rows, M), lambda i, j: -1.0)
    out = out.update(lambda j: ((at[t], j), a[t, j]), over=t)
    return lw.compute("out", (M, rows), lambda j, i: out[i, j] * 2)


def scatter_rows_numpy(at: Array, a: Array, rows: int) -> Array:
    out = np.full((rows, a.shape[1]), -1, np.float32)
    for index, row in zip(at, a, strict=True):
        if 0 <= index < rows:
            out[index] = row
    return 2 * out.T


@lw.operator
def cumsum(R: int, N: int, axis: int, dtype: str = "float32") -> Any:
    A = lw.input("A", (R, N), dtype)
    t = lw.reduce_axis("t", (R, N)[axis])
    s = lw.compute("s", (R, N), lambda r, i: A[r, i])
    if axis == 0:
        return s.update(lambda i: ((t, i), s[t, i] + s[t - 1, i]), over=t, where=t > 0)
    return s.update(lambda r: ((r, t), s[r, t] + s[r, t - 1]), over=t, where=t > 0)


@lw.operator
def filtered(R: int, N: int) -> Any:
    """A recursive filter along each row, forwards and then backwards, computed where another stage reads it."""
    A = lw.input("A", (R, N))
    t, u = lw.reduce_axis("t", N), lw.reduce_axis("u", N)
    y = lw.compute("y", (R, N), lambda r, i: A[r, i])
    y = y.update(lambda r: ((r, t), y[r, t] + 0.5 * y[r, t - 1]), over=t, where=t >= 1)
    y = y.update(lambda r: ((r, N - 1 - u), y[r, N - 1 - u] + 0.25 * y[r, N - u]), over=u, where=u >= 1)
    return lw.compute("out", (R, N), lambda r, i: y[r, i] + A[r, i])


def filtered_numpy(A: Array) -> Array:
    y = A.copy()
    for t in range(1, A.shape[1]):
        y[:, t] += np.float32(0.5) * y[:, t - 1]
    for t in range(A.shape[1] - 2, -1, -1):
        y[:, t] += np.float32(0.25) * y[:, t + 1]
    return y + A


@lw.operator
def triangular_solve(N: int, M: int) -> Any:
    """Forward substitution with ones on the diagonal, for every column."""
    L, b = lw.input("L", (N, N)), lw.input("b", (N, M))
    i, k = lw.reduce_axis("i", N), lw.reduce_axis("k", N)
    x = lw.compute("x", (N, M), lambda r, j: b[r, j])
    return x.update(lambda j: ((i, j), x[i, j] - L[i, k] * x[k, j]), over=(i, k), where=k < i)


def triangular_solve_numpy(L: Array, b: Array) -> Array:
    x = b.copy()
    for i in range(len(b)):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
    return x


@lw.operator
def upper_sum(N: int, M: int) -> Any:
    A = lw.input("A", (N, M))
    k = lw.reduce_axis("k", M)
    s = lw.compute("s", (N,), lambda i: 0.0)
    return s.update(lambda i: (i, s[i] + A[i, k]), over=k, where=lambda i: k >= i)


@lw.operator
def life(T: int, H: int, W: int) -> Any:
    """Each step reads the one before it; the rim is dead."""
    start = lw.input("start", (H, W), "int8")
    t, y, x = lw.reduce_axis("t", T), lw.reduce_axis("y", H - 2), lw.reduce_axis("x", W - 2)
    s = lw.compute("s", (T + 1, H, W), lambda n, i, j: lw.select(n == 0, start[i, j] & 1, 0))
    near = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]

    def alive() -> Any:
        count = sum((s[t, y + 1 + dy, x + 1 + dx] for dy, dx in near[1:]), start=s[t, y, x])
        return (t + 1, y + 1, x + 1), lw.cast("int8", (count | s[t, y + 1, x + 1]) == 3)

    return s.update(alive, over=(t, y, x))


def life_numpy(start: Array, T: int) -> Array:
    s = np.zeros((T + 1, *start.shape), np.int8)
    s[0] = start & 1
    for t in range(T):
        n = sum(
            s[t, 1 + dy : s.shape[1] - 1 + dy, 1 + dx : s.shape[2] - 1 + dx]
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if dy or dx
        )
        s[t + 1, 1:-1, 1:-1] = (n | s[t, 1:-1, 1:-1]) == 3
    return s


@lw.operator
def edit_distance(N: int, M: int) -> Any:
    a, b = lw.input("a", (N,), "int32"), lw.input("b", (M,), "int32")
    i, j = lw.reduce_axis("i", N + 1), lw.reduce_axis("j", M + 1)
    d = lw.compute("d", (N + 1, M + 1), lambda y, x: lw.max(y, x))

    def step() -> Any:
        other = d[i - 1, j - 1] + lw.select(a[i - 1] == b[j - 1], 0, 1)
        return (i, j), lw.min(lw.min(d[i - 1, j], d[i, j - 1]) + 1, other)

    return d.update(step, over=(i, j), where=(i > 0) & (j > 0))


def edit_distance_numpy(a: Array, b: Array) -> Array:
    d = np.maximum.outer(np.arange(len(a) + 1), np.arange(len(b) + 1)).astype(np.int32)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            other = d[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, other)
    return d


@lw.operator
def sorted_ranks(N: int) -> Any:
    """Sorting by counting what is less: a reduction inside an update is a stage of its own."""
    a = lw.input("a", (N,), "int32")
    t, k = lw.reduce_axis("t", N), lw.reduce_axis("k", N)
    before = (a[k] < a[t]) | ((a[k] == a[t]) & (k < t))
    out = lw.compute("out", (N,), lambda i: lw.const(0, "int32"))
    return out.update(lambda: (lw.sum(lw.cast("int32", before), over=k), a[t]), over=t)


@lw.operator
def product_and_scan(M: int, N: int, K: int) -> Any:
    """Running sums down the rows of a product: the definition is a reduction."""
    A, B = lw.input("A", (M, K)), lw.input("B", (K, N))
    k, t = lw.reduce_axis("k", K), lw.reduce_axis("t", M)
    C = lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k))
    C = C.update(lambda j: ((t, j), C[t, j] + C[t - 1, j]), over=t, where=t > 0)
    return lw.compute("out", (M, N), lambda i, j: lw.max(C[i, j], 0))


@lw.operator
def row_histograms(R: int, N: int, bins: int) -> Any:
    """A histogram of each row, and of each its running sum: two updates, of which each row is apart."""
    img = lw.input("img", (R, N), "uint8")
    t, b = lw.reduce_axis("t", N), lw.reduce_axis("b", bins)
    hist = lw.compute("hist", (R, bins), lambda r, i: lw.const(0, "int32"))
    hist = hist.update(
        lambda r: ((r, lw.cast("int32", img[r, t])), hist[r, lw.cast("int32", img[r, t])] + 1), over=t
    )
    hist = hist.update(lambda r: ((r, b), hist[r, b] + hist[r, b - 1]), over=b, where=b > 0)
    return lw.compute("out", (bins, R), lambda i, r: lw.cast("float32", hist[r, i]) / 8)


def row_histograms_numpy(img: Array, bins: int) -> Array:
    return np.stack([np.cumsum(histogram_numpy(row, bins)) for row in img], axis=1).astype(np.float32) / 8


@lw.operator
def best_of_each(N: int, keys: int) -> Any:
    """For each key the greatest value and where it stands: tuples, updated together."""
    key, a = lw.input("key", (N,), "int32"), lw.input("a", (N,))
    t = lw.reduce_axis("t", N)
    value, place = lw.compute("best", (keys,), lambda i: (-100.0, -1))
    value, place = lw.update(
        (value, place),
        lambda v, p: (lw.max(v, a[t]), lw.select(a[t] > v, t, p)),
        at=key[t],
        over=t,
    )
    return lw.compute("out", (keys,), lambda i: value[i] * 64 + lw.cast("float32", place[i]))


def best_of_each_numpy(key: Array, a: Array, keys: int) -> Array:
    out = np.full(keys, -100 * 64 - 1, np.float32)
    for k in range(keys):
        (places,) = np.nonzero(key == k)
        if len(places):
            first = places[np.argmax(a[places])]
            out[k] = a[first] * 64 + first
    return out


@lw.operator
def keyed_sums(R: int, N: int, keys: int) -> Any:
    """One update reads what another has made, by way of a stage: running sums, and their sums by key."""
    A, key = lw.input("A", (R, N)), lw.input("key", (N,), "int32")
    t, u = lw.reduce_axis("t", N), lw.reduce_axis("u", N)
    s = lw.compute("s", (R, N), lambda r, i: A[r, i])
    s = s.update(lambda r: ((r, t), s[r, t] + s[r, t - 1]), over=t, where=t > 0)
    half = lw.compute("half", (R, N), lambda r, i: s[r, i] * 0.5)
    h = lw.compute("h", (R, keys), lambda r, k: 0.0)
    h = h.update(lambda r: ((r, key[u]), h[r, key[u]] + half[r, u]), over=u, where=lambda r: r < u)
    return lw.compute("out", (R, keys), lambda r, k: h[r, k] - 1)


def keyed_sums_numpy(A: Array, key: Array, keys: int) -> Array:
    out = np.full((len(A), keys), -1, np.float32)
    for r, row in enumerate(np.cumsum(A, 1, dtype=np.float32) / 2):
        for u, k in enumerate(key):
            if r < u and 0 <= k < keys:
                out[r, k] += row[u]
    return out


@lw.operator
def rotations(N: int, M: int) -> Any:
    """Pairs that change places at each step: both are computed from the old ones."""
    x = lw.input("x", (M,))
    t = lw.reduce_axis("t", N)
    a, b = lw.compute("pair", (M,), lambda i: (x[i], 1.0))
    a, b = lw.update((a, b), lambda i: (i, (b[i] + 1, a[i])), over=t, where=t % 3 != 1)
    return lw.compute("sum", (M,), lambda i: a[i] * 3 - b[i])


def rotations_numpy(x: Array, N: int) -> Array:
    a, b = x.copy(), np.ones_like(x)
    for t in range(N):
        if t % 3 != 1:
            a, b = b + 1, a
    return 3 * a - b


CASES: dict[str, Case] = {
    "best of each": Case(lambda: best_of_each(21, 4), lambda key, a: best_of_each_numpy(key, a, 4)),
    "keyed sums": Case(lambda: keyed_sums(5, 9, 4), lambda a, key: keyed_sums_numpy(a, key, 4)),
    "rotations": Case(lambda: rotations(7, 13), lambda x: rotations_numpy(x, 7)),
    "histogram": Case(lambda: histogram(7, 9, 5), lambda img: histogram_numpy(img, 5)),
    "histogram uint8": Case(lambda: histogram(5, 4, 256, "uint8"), lambda img: histogram_numpy(img, 256)),
    "histogram of nothing": Case(lambda: histogram(0, 4, 3), lambda img: histogram_numpy(img, 3)),
    "histogram of one": Case(lambda: histogram(1, 1, 1), lambda img: histogram_numpy(img, 1)),
    "weighted": Case(lambda: weighted(23, 4), lambda at, w: weighted_numpy(at, w, 4)),
    "scatter max": Case(lambda: scatter_max(19, 6), lambda at, a: scatter_max_numpy(at, a, 6)),
    "scatter rows": Case(lambda: scatter_rows(9, 4, 11), lambda at, a: scatter_rows_numpy(at, a, 4)),
    "cumsum 0": Case(lambda: cumsum(9, 21, 0), lambda a: np.cumsum(a, 0, dtype=np.float32)),
    "cumsum 1": Case(lambda: cumsum(6, 13, 1), lambda a: np.cumsum(a, 1, dtype=np.float32)),
    "cumsum int16": Case(lambda: cumsum(5, 1, 0, "int16"), lambda a: np.cumsum(a, 0, dtype=np.int16)),
    "cumsum of nothing": Case(lambda: cumsum(0, 3, 1), lambda a: np.cumsum(a, 1, dtype=np.float32)),
    "filtered": Case(lambda: filtered(6, 11), filtered_numpy),
    "triangular solve": Case(lambda: triangular_solve(5, 9), triangular_solve_numpy),
    "upper sum": Case(lambda: upper_sum(9, 7), lambda a: np.triu(a).sum(1)),
    "life": Case(lambda: life(3, 7, 12), lambda start: life_numpy(start, 3)),
    "edit distance": Case(lambda: edit_distance(5, 7), edit_distance_numpy),
    "sorted ranks": Case(lambda: sorted_ranks(11), np.sort),
    "product and scan": Case(
        lambda: product_and_scan(7, 18, 5), lambda a, b: np.maximum(np.cumsum(a @ b, 0, dtype=np.float32), 0)
    ),
    "row histograms": Case(lambda: row_histograms(5, 9, 10), lambda img: row_histograms_numpy(img, 10)),
}

"""Formulas that are no operator of the library: what the automatic space finds, beside the best schedules written by hand.

Run: ``python -m benchmarks.formulas``, with ``--only PATTERN`` for some. Each has one template by hand or two, whose knobs are
tuned too (every point of them), so that the hand is not beaten by a badly chosen number. The bar: 0.8 of the best by hand.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from typing import Any

import loopwright as lw
from loopwright.bench.compare import spread
from loopwright.bench.machine import facts
from loopwright.bench.peer import Peer
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

TRIALS, MINUTES = 200, 2.0
ROUNDS, BURST, REST = 15, 0.05, 0.2
LEAST = 0.8


@lw.operator
def grouped_softmax(G: int, M: int, N: int, K: int) -> Any:
    """The softmax of each row of several products: ``softmax(a[g] @ b[g])``."""
    a, b = lw.input("a", (G, M, K)), lw.input("b", (G, K, N))
    k, t, s = lw.reduce_axis("k", K), lw.reduce_axis("t", N), lw.reduce_axis("s", N)
    z = lw.compute("z", (G, M, N), lambda g, i, j: lw.sum(a[g, i, k] * b[g, k, j], over=k))
    top = lw.compute("top", (G, M), lambda g, i: lw.max(z[g, i, t], over=t))
    e = lw.compute("e", (G, M, N), lambda g, i, j: lw.exp(z[g, i, j] - top[g, i]))
    total = lw.compute("total", (G, M), lambda g, i: lw.sum(e[g, i, s], over=s))
    return lw.compute("y", (G, M, N), lambda g, i, j: e[g, i, j] / total[g, i])


@lw.operator
def roughness(H: int, W: int) -> Any:
    """How much a smoothed image changes along each row: a stencil, differences of it, and their squares summed."""
    img = lw.input("img", (H + 2, W + 4))
    x = lw.reduce_axis("x", W)
    mean = lw.compute(
        "mean", (H, W + 2), lambda y, x: sum(img[y + j, x + i] for j in range(3) for i in range(3)) * (1 / 9)
    )
    slope = lw.compute("slope", (H, W), lambda y, x: mean[y, x + 2] - mean[y, x])
    return lw.compute("rough", (H,), lambda y: lw.sum(slope[y, x] * slope[y, x], over=x))


@lw.operator
def bilinear_form(N: int, O: int, P: int, Q: int) -> Any:  # noqa: E741 - the formula's letters
    """``y[n, o] = x[n]' w[o] z[n]``, as in a bilinear layer."""
    x, w, z = lw.input("x", (N, P)), lw.input("w", (O, P, Q)), lw.input("z", (N, Q))
    p, q = lw.reduce_axis("p", P), lw.reduce_axis("q", Q)
    return lw.compute("y", (N, O), lambda n, o: lw.sum(x[n, p] * w[o, p, q] * z[n, q], over=(p, q)))


@lw.operator
def masked_cumprod(M: int, N: int) -> Any:
    """The running product along each row of those elements that a mask selects."""
    x, m = lw.input("x", (M, N)), lw.input("m", (M, N), "bool")
    t = lw.reduce_axis("t", N)
    f = lw.compute("f", (M, N), lambda i, j: lw.select(m[i, j], x[i, j], 1.0))
    return f.update(lambda i: ((i, t), f[i, t] * f[i, t - 1]), over=t, where=t > 0)


@lw.operator
def four_operands(B: int, I: int, J: int, K: int) -> Any:  # noqa: E741 - the formula's letters
    """An einsum over four arrays, two of them shared by the batch."""
    a, b, c, d = (
        lw.input("a", (B, I, K)),
        lw.input("b", (B, K, J)),
        lw.input("c", (I, J)),
        lw.input("d", (J,)),
    )
    return lw.einsum("y[n, i] += A[n, i, k] * B[n, k, j] * C[i, j] * D[j]", A=a, B=b, C=c, D=d)


def softmax_by_hand(work: Workload) -> Schedule:
    """Blocks of rows: their product in register tiles from packed columns, then the softmax while they are in the cache."""
    columns = lw.knob("columns", [16, 32])
    schedule = (
        work.schedule()
        .split("y.i", ("io", "ii"), lw.knob("block", [12, 24, 48]))
        .reorder("y", "g io ii j")
        .compute_at("total", "y.io")
        .compute_at("e", "y.io")
        .compute_at("top", "y.io")
        .compute_at("z", "y.io")
        .parallel("y.g")
        .cache_read("b", at="y.g", name="packed")
        .split("packed.j", ("jo", "ji"), columns)
        .reorder("packed", "g jo k ji")
        .transform_layout("packed", "g jo k ji")
        .vectorize("packed.ji")
        .split("z.j", ("jo", "ji"), columns)
        .split("z.i", ("io", "ii"), lw.knob("rows", [3, 4, 6]))
        .reorder("z", "jo io k ii ji")
        .vectorize("z.ji")
        .unroll("z.ii")
        .vectorize("e.j", 16)
        .vectorize("y.j", 16)
    )
    for stage, over in (("top", "t"), ("total", "s")):
        schedule = (
            schedule.split(f"{stage}.{over}", ("over", "lane"), 32)
            .rfactor(f"{stage}.lane", f"{stage}_lanes")
            .compute_at(f"{stage}_lanes", f"{stage}.i")
            .vectorize(f"{stage}_lanes.lane")
            .unroll(f"{stage}.lane")
        )
    return schedule


def roughness_by_hand(work: Workload) -> Schedule:
    """A row of means at a time, then its differences, summed in lanes."""
    lanes = lw.knob("lanes", [8, 16, 32])
    return (
        work.schedule()
        .compute_inline("slope")
        .split("rough.y", ("yo", "yi"), lw.knob("rows", [1, 4, 16]))
        .split("rough.x", ("xo", "lane"), lanes)
        .rfactor("rough.lane", "sums")
        .compute_at("sums", "rough.yi")
        .vectorize("sums.lane")
        .unroll("rough.lane")
        .compute_at("mean", "rough.yi")
        .vectorize("mean.x", lanes)
        .parallel("rough.yo")
    )


def bilinear_in_columns(work: Workload) -> Schedule:
    """Register tiles of ``n`` by ``o``; the weights packed so that ``o`` is innermost."""
    return (
        work.schedule()
        .split("y.o", ("oo", "oi"), 16)
        .split("y.n", ("no", "ni"), lw.knob("rows", [2, 4, 6]))
        .split("y.q", ("qo", "qi"), lw.knob("unrolled", [1, 2, 4]))
        .reorder("y", "oo no p qo qi ni oi")
        .vectorize("y.oi")
        .unroll("y.ni")
        .unroll("y.qi")
        .cache_read("w", name="packed", at="y.oo")
        .split("packed.o", ("oo", "oi"), 16)
        .reorder("packed", "oo p q oi")
        .transform_layout("packed", "oo p q oi")
        .vectorize("packed.oi")
        .parallel("y.oo")
    )


def bilinear_in_lanes(work: Workload) -> Schedule:
    """Partial sums over lanes of ``q``, which lie side by side in both operands: no packing."""
    return (
        work.schedule()
        .split("y.q", ("qo", "lane"), lw.knob("lanes", [8, 16]))
        .rfactor("y.lane", "partial")
        .split("y.n", ("no", "ni"), lw.knob("rows", [2, 4]))
        .split("y.o", ("oo", "oi"), lw.knob("columns", [1, 2, 4]))
        .reorder("y", "no oo ni oi lane")
        .compute_at("partial", "y.oo")
        .reorder("partial", "qo p n o lane")
        .vectorize("partial.lane")
        .unroll("partial.n")
        .unroll("partial.o")
        .parallel("y.no")
    )


def cumprod_by_hand(work: Workload) -> Schedule:
    """Several rows side by side: each is a chain of products, and one chain leaves the multiplier idle."""
    return (
        work.schedule()
        .parallel("f.i")
        .vectorize("f.j", lw.knob("lanes", [8, 16, 32]))
        .split("f.u0.i", ("io", "ii"), lw.knob("rows", [2, 4, 8, 16]))
        .reorder("f.u0", "io t ii")
        .unroll("f.u0.ii")
        .parallel("f.u0.io")
    )


def four_in_lanes(work: Workload) -> Schedule:
    """Partial sums over lanes of ``j``; what does not depend on ``k`` stays in registers."""
    return (
        work.schedule()
        .split("y.j", ("jo", "lane"), lw.knob("lanes", [8, 16, 32]))
        .rfactor("y.lane", "partial")
        .split("y.i", ("io", "ii"), lw.knob("rows", [1, 2, 4]))
        .reorder("y", "n io ii lane")
        .fuse("y.n", "y.io", name="rows")
        .parallel("y.rows")
        .compute_at("partial", "y.rows")
        .reorder("partial", lw.knob("order", ["jo k i lane", "k jo i lane"]))
        .vectorize("partial.lane")
        .unroll("partial.i")
    )


@dataclass(frozen=True)
class Formula:
    """A workload, and templates for it that were written by hand."""

    name: str
    work: Callable[[], Workload]
    by_hand: tuple[Callable[[Workload], Schedule], ...]


FORMULAS = (
    Formula("grouped product, softmax", lambda: grouped_softmax(G=8, M=128, N=256, K=64), (softmax_by_hand,)),
    Formula("stencil, reduction", lambda: roughness(H=1024, W=2048), (roughness_by_hand,)),
    Formula(
        "bilinear form",
        lambda: bilinear_form(N=64, O=32, P=128, Q=128),
        (bilinear_in_columns, bilinear_in_lanes),
    ),
    Formula("masked cumulative product", lambda: masked_cumprod(M=512, N=2048), (cumprod_by_hand,)),
    Formula("einsum of four operands", lambda: four_operands(B=4, I=128, J=128, K=128), (four_in_lanes,)),
)


def measure(formula: Formula, target: Target, seed: int, folder: Path) -> dict[str, list[float]]:
    """Tune the automatic space and each template, then time the best of each in turns: seconds, by contender."""
    times: dict[str, list[float]] = {}
    with ExitStack() as stack:
        work, logs = formula.work(), {"automatic": folder / "automatic.jsonl"}
        lw.tune(work, target, trials=TRIALS, minutes=MINUTES, log=logs["automatic"], seed=seed)
        for template in formula.by_hand:
            space = template(work)
            logs[template.__name__] = folder / f"{template.__name__}.jsonl"
            lw.tune(
                work, target, space=space, trials=space.valid_size, search="grid", log=logs[template.__name__]
            )
        bursts = {}
        for contender, log in logs.items():
            process = stack.enter_context(Peer(target.cores))
            process.ask("kernels", workload=work.to_json(), target=target.to_json(), log=str(log))
            bursts[contender] = process
        for _ in range(ROUNDS):
            for contender, process in bursts.items():
                time.sleep(REST)
                answer = process.ask("burst", name="tuned", seconds=BURST)["times"]
                times.setdefault(contender, []).append(median(answer))
    return times


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*", help="formulas whose name matches, such as '*product*'")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    print(f"{'':27}{'ours, us':>10}{'hand, us':>10}{'ratio':>7}  (quartiles; at least {LEAST})")
    for formula in FORMULAS:
        if not fnmatch(formula.name, options.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            times = measure(formula, target, options.seed, Path(folder))
        ours = times.pop("automatic")
        best = min(times, key=lambda name: median(times[name]))
        low, middle, high = spread([a / b for a, b in zip(times[best], ours, strict=True)])
        print(
            f"{formula.name:27}{median(ours) * 1e6:10.1f}{median(times[best]) * 1e6:10.1f}{middle:7.2f}"
            f"  ({low:.2f}-{high:.2f})  {best}",
            flush=True,
        )


if __name__ == "__main__":
    main()

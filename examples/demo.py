"""Tune a matrix multiplication of BERT-base for this machine, and show what that gained. `make demo` runs this."""

from __future__ import annotations

from pathlib import Path

import loopwright as lw
from loopwright import ops
from loopwright.bench.compare import Item, compare
from loopwright.cli.watch import Watch

SIZES = {"M": 128, "N": 3072, "K": 768}  # a sentence of 128 words enters the first feed-forward layer
MINUTES = 1.25
LOG = Path("demo.jsonl")


def main() -> None:
    work = ops.matmul(**SIZES)
    print(f"Tuning {work} for this machine. What is found goes into {LOG}; a second run goes on from there.")
    with Watch(MINUTES, workloads=1) as progress_bar:
        lw.tune(work, target="cpu", minutes=MINUTES, log=LOG, seed=0, progress=progress_bar)

    print("\nSide by side, in turns, with the same number of threads:\n")
    source = ("ops.matmul", *(f"{name}={size}" for name, size in SIZES.items()))
    (result,) = compare([Item(work, source)], lw.Target.parse("cpu"), LOG)
    print(f"{'':10}{'microseconds':>14}{'GFLOP/s':>10}")
    for name, title in {"default": "default", "tuned": "tuned", "numpy": "NumPy"}.items():
        seconds = result.seconds(name)
        print(f"{title:10}{seconds * 1e6:14.0f}{result.operations / seconds / 1e9:10.1f}")

    print("\nTo deploy it:\n")
    print(f"work = ops.matmul({', '.join(source[1:])})")
    print(f'kernel = lw.build(work, target="cpu", log="{LOG}")')


if __name__ == "__main__":
    main()

"""How long a deployment waits for the first answer of a large log: 10,000 records of 200 workloads, 2 KB each."""

from __future__ import annotations

import hashlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from loopwright.autotune.record import Record

RECORDS, WORKLOADS = 10_000, 200
TARGET: dict[str, Any] = {
    "kind": "cpu",
    "mcpu": "znver3",
    "cores": 2,
    "features": ["avx2", "bmi2", "f16c", "fma"],
}

# Run in a fresh interpreter each time: nothing is imported, compiled or cached beforehand but the file's pages.
_CHILD = """
import json, sys, time
start = time.perf_counter()
from loopwright.autotune.lookup import lookup
imported = time.perf_counter()
answer = lookup(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), name="matmul", args={"M": 7, "N": 7, "K": 7})
done = time.perf_counter()
print(json.dumps([answer.hit, imported - start, done - imported]))
"""


def key_of(number: int) -> str:
    """Return the key of the n-th workload of the log."""
    return hashlib.sha256(f"workload {number}".encode()).hexdigest()


def make_record(number: int, workloads: int = WORKLOADS) -> Record:
    """Return a record like those of a tuning run: about 2 KB, one in ten failed."""
    rng = random.Random(number)
    which = number % workloads
    failed = rng.random() < 0.1
    seconds = rng.uniform(1e-3, 5e-3)
    chosen = {f"{axis}{level}": 2 ** rng.randrange(6) for axis in "ijk" for level in range(3)}
    directives: list[Any] = [
        ["split", {"loop": f"C.{axis}{level}", "names": [f"{axis}{level}o", f"{axis}{level}i"],
                   "factor": chosen[f"{axis}{level}"], "tail": "auto"}]
        for axis in "ijk" for level in range(3)
    ]  # fmt: skip
    order = " ".join(f"{axis}{level}{half}" for level in range(3) for axis in "ijk" for half in "oi")
    directives += [
        ["reorder", {"stage": "C", "order": order}],
        ["cache_read", {"tensor": "B", "name": "B_packed"}],
        ["transform_layout", {"stage": "B_packed", "order": "jo k ji"}],
        ["vectorize", {"loop": "C.j2i"}],
        ["unroll", {"loop": "C.i2i"}],
        ["parallel", {"loop": "C.i0o"}],
    ]
    return Record(
        workload=key_of(which),
        target=TARGET,
        status="error" if failed else "ok",
        cause="run-timeout" if failed else None,
        message="stopped after 1.0 s" if failed else None,
        seconds=None if failed else seconds,
        screen=None if failed else seconds * 1.9,
        verified=not failed and rng.random() < 0.7,
        chosen=chosen,
        schedule={"v": 1, "directives": directives, "knobs": {}, "chosen": chosen},
        names={"i0": "A", "i1": "B", "s0": "C", "s0.a0": "i", "s0.a1": "j", "s0.r0": "k"},
        name="matmul",
        args={"M": 64 + which, "N": 512, "K": 512},
        device="AMD EPYC-Milan Processor",
        versions={"loopwright": "0.1.0", "tvm": "0.27.0.post1"},
        time="2026-01-01T00:00:00+00:00",
        seed=0,
        trial=number // workloads,
    )


def write_log(path: Path, records: int = RECORDS, workloads: int = WORKLOADS) -> None:
    """Write a large log at once."""
    path.write_bytes(b"".join(make_record(number, workloads).to_line() for number in range(records)))


def measure_log_lookup(repeats: int = 7) -> dict[str, float]:
    """Measure the first lookup in a log of 10,000 records, each time in a new process.

    Returns:
        ``hit_ms``, ``miss_ms``: opening the log and answering, for a workload that it has and one it has not;
        ``import_ms``: importing the code for it; ``records``, ``megabytes``: the size of the log. Medians.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl"
        write_log(path)
        hits = [_measure(path, key_of(150), expect_hit=True) for _ in range(repeats)]
        misses = [_measure(path, key_of(-1), expect_hit=False) for _ in range(repeats)]
        size = path.stat().st_size
    return {
        "hit_ms": statistics.median(lookup for _, lookup in hits),
        "miss_ms": statistics.median(lookup for _, lookup in misses),
        "import_ms": statistics.median(imported for imported, _ in hits + misses),
        "records": float(RECORDS),
        "megabytes": size / 1e6,
    }


def _measure(path: Path, key: str, *, expect_hit: bool) -> tuple[float, float]:
    command = [sys.executable, "-c", _CHILD, str(path), key, json.dumps(TARGET)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    hit, imported, looked_up = json.loads(output)
    assert hit == expect_hit, "the lookup gave a wrong answer"
    return 1e3 * imported, 1e3 * looked_up


def main() -> None:
    """Print the measurements."""
    got = measure_log_lookup()
    print(f"a log of {got['records']:.0f} records, {got['megabytes']:.1f} MB, {WORKLOADS} workloads; medians")
    print(f"first lookup, hit   {got['hit_ms']:6.1f} ms   (at most 50)")
    print(f"first lookup, miss  {got['miss_ms']:6.1f} ms")
    print(f"importing lookup    {got['import_ms']:6.1f} ms")


if __name__ == "__main__":
    main()

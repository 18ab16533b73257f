"""What measurements are made of: environments, operations counted, tables."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.bench.compare import Comparison, Item, compare, overall, spread
from loopwright.bench.peer import BenchError, Peer, environment
from loopwright.bench.text import cells, markdown, plain
from loopwright.sched.errors import LogError
from loopwright.sched.language.operations import operations
from loopwright.sched.runtime.target import Target


def test_every_contender_has_the_same_threads() -> None:
    base = {"OMP_NUM_THREADS": "7", "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "1", "HOME": "here"}
    made = environment(2, base)
    threads = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS"]
    assert [made[name] for name in threads] == ["2"] * 4
    assert "OPENBLAS_CORETYPE" not in made
    assert "OPENBLAS_L2_SIZE" not in made
    assert made["HOME"] == "here"


def test_operations_are_those_of_the_formula() -> None:
    assert operations(ops.matmul(M=3, N=5, K=7)) == 2 * 3 * 5 * 7
    assert operations(ops.batch_matmul(B=2, M=3, N=5, K=7, tb=True)) == 2 * 2 * 3 * 5 * 7

    @lw.operator
    def shifted(N: int):  # type: ignore[no-untyped-def]
        x = lw.input("x", (2 * N + 1,))
        return lw.compute("y", (N,), lambda i: lw.exp(x[2 * i + 1]) + 1.0)

    assert operations(shifted(N=10)) == 20  # the exponential and the sum; an index is no operation


def made(name: str = "", numpy_name: str = "NumPy", **rounds: list[float]) -> Comparison:
    work = ops.matmul(M=4 + len(name), N=4, K=4)
    return Comparison(
        Item(work, name=name, where=f"place of {name}"), operations(work), "", numpy_name, rounds
    )


def test_ratios_are_made_pair_by_pair() -> None:
    one = made(default=[4.0, 4.0, 40.0], tuned=[1.0, 2.0, 10.0], numpy=[2.0, 4.0, 20.0])
    assert one.ratios("numpy", "tuned") == [2.0, 2.0, 2.0]
    other = made(default=[1.0], tuned=[1.0], numpy=[8.0])
    assert overall([one, other]) == pytest.approx(4.0)
    assert overall([made(default=[1.0], numpy=[1.0])]) is None
    assert spread([3.0]) == (3.0, 3.0, 3.0)


def test_the_table_has_the_columns_that_it_needs() -> None:
    tuned = made("a", default=[4e-6], tuned=[1e-6], numpy=[2e-6])
    untuned = made("bb", default=[4e-6], numpy=[2e-6])
    headers, rows = cells([tuned, untuned])
    assert headers[:4] == ["name", "workload", "MFLOP", "default us"]
    assert rows[0][headers.index("NumPy/tuned")] == "2.00"
    assert rows[1][headers.index("NumPy/tuned")] == "-"
    headers, _ = cells([untuned])
    assert "tuned us" not in headers
    assert "NumPy/default" in headers


def test_texts_say_on_what_and_with_what() -> None:
    facts = {"machine": "a machine", "threads": "2", "versions": "some"}
    rows = [made(name, default=[4e-6], tuned=[1e-6], numpy=[2e-6]) for name in ("a", "bb")]
    rows.append(made("ccc", "reference", default=[4e-6], tuned=[1e-6], numpy=[1e-3]))
    text = plain(facts, rows)
    assert text.startswith("machine:  a machine\n")
    assert "geometric mean" in text
    assert "1000*" in text
    assert "where marked *, the formula was evaluated" in text
    table = markdown(facts, rows)
    assert "| place of bb |" in table
    assert all(line.count("|") == table.splitlines()[4].count("|") for line in table.splitlines()[4:9])


def test_a_measuring_process_that_dies_is_an_error() -> None:
    with Peer(1) as peer:
        peer._process.kill()
        with pytest.raises(BenchError, match="SIGKILL"):
            peer.ask("burst", name="default", seconds=0.01)


def test_errors_of_a_measuring_process_keep_their_class() -> None:
    work = ops.matmul(M=4, N=4, K=4).to_json()
    with Peer(1) as peer, pytest.raises(LogError, match="there is no tuning log"):
        peer.ask("kernels", workload=work, target="cpu", log="nosuch.jsonl")


def test_a_comparison_end_to_end() -> None:
    item = Item(ops.add(A=(64, 64), B=(64, 64)), ("ops.add", "A=(64,64)", "B=(64,64)"))
    found = next(compare([item], Target.parse("cpu"), rounds=2, burst=0.001))
    assert set(found.rounds) == {"default", "numpy"}
    assert np.isfinite(found.ratios("numpy", "default")).all()
    assert found.numpy_name == "NumPy"


def test_measuring_loads_no_tuner() -> None:
    program = "import sys, loopwright.bench.child; sys.exit('xgboost' in sys.modules or 'tvm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0

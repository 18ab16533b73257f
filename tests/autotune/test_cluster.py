"""Tuning on a Dask cluster, here on loopback: one log, lost workers, nobody there."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.cluster import tune_on_cluster
from loopwright.autotune.events import Finished, Started, Tried
from loopwright.autotune.log import TuningLog
from loopwright.cli import main
from loopwright.sched.errors import TuneError

distributed = pytest.importorskip("distributed", reason="pip install 'loopwright[cluster]'")

WORKS = [ops.softmax(16, 64), ops.relu((64,))]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as started:
        yield started


def test_two_workloads_on_two_workers(cluster: Any, tmp_path: Path) -> None:
    log, told = tmp_path / "tuned.jsonl", list[object]()
    results = tune_on_cluster(
        [*WORKS, WORKS[0]], cluster.scheduler_address, trials=4, log=log, progress=told.append, piece=4
    )
    records = TuningLog(log).records()
    assert [result.measured for result in results] == [4, 4, 4]
    assert results[0] is results[2]
    for work, result in zip(WORKS, results, strict=False):
        mine = [record for record in records if record.workload == work.key]
        assert sorted(record.trial or 0 for record in mine) == list(range(4))
        assert len({record.schedule_json for record in mine}) == 4, "no candidate was measured twice"
        assert result.best is not None
        assert result.best.seconds == min(record.seconds for record in mine if record.seconds)
        assert lw.build(work, log=log).provenance is not None
    assert [type(event) for event in told].count(Tried) == 8
    assert isinstance(told[0], Started)
    assert isinstance(told[-1], Finished)
    again = tune_on_cluster(WORKS, cluster.scheduler_address, trials=4, log=log)
    assert [result.measured for result in again] == [0, 0], "the log has them already"


def test_a_worker_that_is_lost(cluster: Any, tmp_path: Path) -> None:
    """Another one measures what it was about to."""
    with distributed.Client(cluster.scheduler_address) as client:
        processes = list(client.run(os.getpid).values())

    def kill(event: object) -> None:
        if isinstance(event, Tried) and event.measured == 1:
            for process in processes:
                os.kill(process, signal.SIGKILL)

    log = tmp_path / "tuned.jsonl"
    tune_on_cluster(WORKS[:1], cluster.scheduler_address, trials=4, log=log, progress=kill, piece=2)
    assert TuningLog(log).count(WORKS[0].key) == 4


def test_what_a_worker_refuses(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(TuneError, match=r"softmax.*: .*this machine lacks the instruction set riscv64"):
        tune_on_cluster(
            WORKS[:1], cluster.scheduler_address, "riscv64", trials=2, log=tmp_path / "tuned.jsonl"
        )


def test_nobody_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loopwright.autotune.cluster.CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        place = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
    command = [
        "tune",
        "ops.relu",
        "X=(4,)",
        "--trials",
        "1",
        "--log",
        str(tmp_path / "tuned.jsonl"),
        "--cluster",
    ]
    assert main([*command, place]) == 2
    assert f"no Dask scheduler answers at {place}" in capsys.readouterr().err
    assert main([*command, place, "--patience", "3"]) == 2
    assert "--patience and --save-model are for runs on one machine" in capsys.readouterr().err
    with pytest.raises(TuneError, match="expected a scheduler's address, such as tcp://farm:8786"):
        tune_on_cluster(WORKS, "farm", trials=1)
    with pytest.raises(TuneError, match="piece=0: a whole number"):
        tune_on_cluster(WORKS, place, trials=1, piece=0)

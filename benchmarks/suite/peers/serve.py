"""The process of one peer, for one row: it answers requests, a JSON line each, and computes only while it is told to."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.suite.peers.given import Given, Way

LEAST_CALLS, WARM_UP = 3, 0.01
# A call that takes so many seconds needs no company.
LONG_CALL = 0.3
# To choose between ways of the same library: so many turns of each, of so many seconds; one that is so many times as slow as the
# fastest gets no other turn.
TURNS, TURN, HOPELESS = 3, 0.03, 2.0
# Some auto-schedulers do not end: a request that takes so many seconds ends the process.
LONGEST = 900


class Server:
    """What a peer can be asked."""

    def __init__(self) -> None:
        self.ways: dict[str, Way] = {}

    def prepare(
        self, peer: str, kind: str, folder: str, options: dict[str, Any], threads: int
    ) -> dict[str, Any]:
        """Make the ways of a row: ``ways`` by name with their slack, ``failed`` those that raised, and the peer's version.

        ``absent`` says why, where the library cannot be imported.
        """
        try:
            module = importlib.import_module(f"benchmarks.suite.peers.{peer.replace('-', '_')}")
            version = module.start(threads)
        except ImportError as error:
            return {"absent": str(error)}
        if kind not in module.ROWS:
            return {"version": version, "ways": {}, "failed": {}}
        arrays = [np.load(path) for path in sorted(Path(folder).glob("input-*.npy"))]
        failed: dict[str, str] = {}
        self.ways = {}
        for name, make in module.ROWS[kind](Given(arrays, options, threads)).items():
            try:
                way = make()
                way.run()
            except Exception as error:  # a library may raise anything
                failed[name] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            else:
                self.ways[name] = way
        return {"version": version, "ways": {n: way.slack for n, way in self.ways.items()}, "failed": failed}

    def result(self, way: str, path: str) -> dict[str, Any]:
        """Write what a way computes."""
        made = self.ways[way]
        np.save(path, np.ascontiguousarray(made.array(made.run())))
        return {}

    def choose(self, ways: list[str]) -> dict[str, Any]:
        """The fastest of some ways, found in turns."""
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(TURNS):
            if len(ways) > 1:
                for name in ways:
                    times[name].append(min(self.burst(name, TURN)["times"]))
                limit = HOPELESS * min(median(times[name]) for name in ways)
                ways = [name for name in ways if median(times[name]) <= limit]
        return {"way": min(ways, key=lambda name: median(times[name] or [0.0]))}

    def burst(self, name: str, seconds: float) -> dict[str, Any]:
        """Warm up, then time single calls for about so long."""
        run = self.ways[name].run
        start = time.perf_counter()
        run()
        least = LEAST_CALLS if time.perf_counter() - start < LONG_CALL else 1
        while time.perf_counter() - start < WARM_UP:
            run()
        times: list[int] = []
        end = time.perf_counter() + seconds
        while len(times) < least or time.perf_counter() < end:
            before = time.perf_counter_ns()
            run()
            times.append(time.perf_counter_ns() - before)
        return {"times": [t * 1e-9 for t in times]}


def main(server: Server | None = None) -> None:
    """Answer until the requests end. What a library prints goes to stderr, so that stdout holds answers alone."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = server or Server()
    for line in sys.stdin:
        request = json.loads(line)
        signal.alarm(LONGEST)
        try:
            answer = getattr(server, request.pop("do"))(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}", "kind": "BenchError"}
        signal.alarm(0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

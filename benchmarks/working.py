"""(e) No-op jobs a second through a worker: ours, others' under this package, and without it."""

import json
import statistics
import time
from typing import Any

import psutil
import redis

from benchmarks.burst import due, go
from benchmarks.stage import Stage, depth_of, python

EVERY = 3_600_000


def measure(stage: Stage, n: int, rounds: int, ledger: str) -> list[dict[str, Any]]:
    """Measure the kinds in turn, so that what else goes on in the machine meets all of them."""
    # What is not ours meets no ledger: it is measured once.
    kinds = ("tracked", "not ours", "without the package")[: 3 if ledger == "sqlite" else 2]
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            found[kind].append(_one(stage, kind, n, ledger))
    return [
        {
            "what": kind,
            "n": n,
            "ledger": ledger if kind == "tracked" else None,
            "rate": round(statistics.median(rate for rate, _ in each)),
            "cpu_us_each": round(statistics.median(cpu for _, cpu in each), 1),
        }
        for kind, each in found.items()
    ]


def _one(stage: Stage, kind: str, n: int, ledger: str) -> tuple[float, float]:
    url = stage.broker("redis")
    database = stage.database(ledger) if kind == "tracked" else stage.database("sqlite")
    given = {
        "kind": "tsumugi" if kind == "tracked" else "bare batch",
        "n": n,
        "broker": url,
        "folder": str(stage.folder()),
        "ledger": database,
    }
    with depth_of(url) as depth:
        with python("benchmarks/bursting.py", json.dumps(given)) as child:
            assert child.stdout is not None
            child.stdout.readline()
            if kind == "tracked":
                due(database, EVERY)
            else:
                go(child)
            _until(lambda: depth() >= n)
            time.sleep(0.5)
        env = {"BENCH_BROKER": url}
        if kind != "without the package":
            env["BENCH_LEDGER"] = database
        words = (
            "-m",
            "celery",
            "-A",
            "benchmarks.project",
            "worker",
            "-l",
            "ERROR",
            "-c",
            "2",
            "--without-gossip",
            "--without-mingle",
            "-n",
            f"bench{time.time()}@localhost",
        )
        client = redis.Redis.from_url(url)
        with python(*words, **env) as worker:
            process = psutil.Process(worker.pid)
            # Start-up is left out: the clock runs from the tenth part on.
            _until(lambda: depth() <= n * 0.9)
            begin, cpu, left = time.time(), _cpu(process), depth()
            _until(lambda: depth() == 0 and not client.hlen("unacked"))
            end = time.time()
            return left / (end - begin), 1e6 * (_cpu(process) - cpu) / left


def _until(true: Any, limit: float = 120) -> None:
    end = time.time() + limit
    while not true():
        if time.time() > end:
            raise RuntimeError("a worker does not come to its end; BENCH_LOUD=1 shows its words")
        time.sleep(0.01)


def _cpu(process: psutil.Process) -> float:
    family = [process, *process.children(recursive=True)]
    return sum(each.cpu_times().user + each.cpu_times().system for each in family)

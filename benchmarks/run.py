"""Measure this package beside others, in one run on one machine: `make bench`, under ten minutes.

    python benchmarks/run.py [--quick] [--only burst,worker,…]

Prints a table, and writes benchmarks/results/latest.json, .txt and .png. Only ratios of figures of
one run mean anything. Close other programs first.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import burst, idle, lateness, nexttimes, queries, report, tracing, working
from benchmarks.stage import Stage

Rows = Iterator[dict[str, Any]]
PACKAGES = (
    "celery",
    "kombu",
    "sqlalchemy",
    "redis",
    "psycopg",
    "pymysql",
    "croniter",
    "cronsim",
    "celery-redbeat",
    "django-celery-beat",
    "sqlalchemy-celery-beat",
)


def bursts(stage: Stage, *, quick: bool) -> Rows:
    many = 1000 if quick else 10_000
    for _ in range(1 if quick else 3):
        # In turn, so that what else goes on in the machine meets both.
        yield burst.measure(stage, "bare", many)
        yield burst.measure(stage, "tsumugi", many)
    yield burst.measure(stage, "bare batch", many)
    # What two processes that share nothing but the broker reach of one: more is not to be had here.
    yield burst.measure(stage, "bare batch", many, processes=2)
    for kind in (
        "bare",
        "tsumugi",
        "celery",
        "redbeat",
        "django-celery-beat",
        "sqlalchemy-celery-beat",
    ):
        yield burst.measure(stage, kind, 300 if quick else 1000)
    if not quick:
        yield burst.measure(stage, "redbeat", 3000)
        yield burst.measure(stage, "bare", 30_000)
        yield burst.measure(stage, "tsumugi", 30_000)
    if stage.has("postgresql"):
        for _ in range(1 if quick else 3):
            yield burst.measure(stage, "tsumugi", many, ledger="postgresql")
            yield burst.measure(stage, "tsumugi", many, ledger="postgresql", processes=2)
    if stage.has("rabbitmq"):
        some = many // 2
        yield burst.measure(stage, "bare", some, "rabbitmq")
        yield burst.measure(stage, "bare", some, "rabbitmq", confirm=True)
        yield burst.measure(stage, "tsumugi", some, "rabbitmq")
        if stage.has("postgresql"):
            yield burst.measure(stage, "tsumugi", some, "rabbitmq", ledger="postgresql")
        stage.stop("rabbitmq")


def late(stage: Stage, *, quick: bool) -> Rows:
    yield from lateness.measure(stage, 1, 5 if quick else 45)
    yield from lateness.measure(stage, 100, 3 if quick else 10)


def idling(stage: Stage, *, quick: bool) -> Rows:
    for number in (1000,) if quick else (1000, 100_000, 1_000_000):
        yield idle.measure(stage, number, 3 if quick else 10 if number == 1_000_000 else 5)


def worker(stage: Stage, *, quick: bool) -> Rows:
    yield from tracing.measure(stage, 500 if quick else 5000)
    for ledger in ("sqlite", "postgresql"):
        if stage.has(ledger):
            yield from working.measure(stage, 500 if quick else 2500, 1 if quick else 2, ledger)


def asked(stage: Stage, *, quick: bool) -> Rows:
    for kind in ("sqlite", "postgresql", "mariadb"):
        if stage.has(kind):
            yield from queries.measure(stage, kind, 20_000 if quick else 1_000_000)


def times(_stage: Stage, *, quick: bool) -> Rows:  # noqa: ARG001 - as the others
    yield from nexttimes.measure()


PARTS: dict[str, Callable[..., Rows]] = {
    "burst": bursts,
    "late": late,
    "idle": idling,
    "worker": worker,
    "queries": asked,
    "times": times,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    given = parser.parse_args()
    # Ended from outside, it ends what it has started all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begin = time.time()
    seconds: dict[str, int] = {}
    results: dict[str, Any] = {"machine": machine(), "seconds_of": seconds}
    stage = Stage()
    try:
        stage.has("redis")
        for name in given.only.split(","):
            rows = results[name] = []
            since = time.time()
            for row in PARTS[name](stage, quick=given.quick):
                rows.append(row)
                print(
                    name,
                    {key: value for key, value in row.items() if value is not None},
                    flush=True,
                )
            seconds[name] = round(time.time() - since)
    finally:
        stage.close()
    results["bars"] = report.bars(results)
    results["seconds"] = round(time.time() - begin)
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    text = report.table(results)
    (folder / "latest.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "latest.txt").write_text(text)
    report.plot(results, folder / "latest.png")
    print("\n" + text)


def machine() -> dict[str, Any]:
    model = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), "?"
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        **{name: version(name) for name in PACKAGES},
    }


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    main()

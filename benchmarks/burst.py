"""(a) N entries due at one second, and (d) two beats that share them."""

import json
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psutil
import sqlalchemy as sa

from benchmarks.stage import Stage, depth_of, drain, python
from tsumugi_celery.ledger.connect import make_engine, read_url
from tsumugi_celery.ledger.schema import schedule

SCRIPT = "benchmarks/bursting.py"
LIMIT = 150.0
#: The intervals of the schedules in bursting.py, ms.
EVERY, WARM = 3_600_000, 7_200_000


def measure(  # noqa: PLR0917 - read like a sentence where it is called
    stage: Stage,
    kind: str,
    n: int,
    broker: str = "redis",
    ledger: str = "sqlite",
    processes: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """Time from the second (or the beginning, for others) to the first and last message."""
    url = stage.broker(broker)
    ours = kind == "tsumugi"
    # Beats share all entries of one ledger; others have no such thing, and get a part each.
    each = n if ours else n // processes
    given = {"kind": kind, "n": each, "broker": url, "folder": str(stage.folder()), **more}
    if ours:
        given["ledger"] = stage.database(ledger)
    with ExitStack() as stack:
        children = []
        for _ in range(processes):
            child = stack.enter_context(python(SCRIPT, json.dumps(given)))
            children.append((child, psutil.Process(child.pid)))
            _line(child, "ready")
        depth = stack.enter_context(depth_of(url))
        # Ours is told the second; what another scheduler has is due as soon as it begins.
        if ours:
            more["cold_ms"] = round(_warm(given["ledger"], depth, url), 1)
            before = [_cpu(process) for _, process in children]
            begin = due(given["ledger"], EVERY)
        else:
            before = [_cpu(process) for _, process in children]
            for child, _ in children:
                go(child)
            begin = min(_line(child, "begins") for child, _ in children)
        first, last = _watch(depth, begin, n)
        used = sum(_cpu(process) for _, process in children) - sum(before)
    return {
        "what": kind if processes == 1 else f"{kind}, {processes} processes",
        "n": n,
        "broker": broker,
        "ledger": ledger if ours else None,
        "first_ms": None if first is None else round(1000 * (first - begin), 1),
        "last_s": None if last is None else round(last - begin, 3),
        "rate": None if last is None else round(n / (last - begin)),
        "cpu_us_each": round(1e6 * used / n, 1),
        **more,
    }


def go(child: Any) -> None:
    """Have a child of bursting.py begin that is ready."""
    child.stdin.write("go\n")
    child.stdin.flush()


def _line(child: Any, word: str) -> float:
    for line in child.stdout:
        if line.startswith(word):
            return float(line.split()[1])
    raise RuntimeError(f"{SCRIPT} ended before it said {word!r}; BENCH_LOUD=1 shows its words")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def due(ledger: str, every_ms: int) -> float:
    """Make all schedules with an interval due at one second and return it."""
    engine = make_engine(read_url(ledger))
    with engine.begin() as connection:
        # A beat of bursting.py sees it within 0.3 s.
        second = math.ceil(time.time() + 0.6)
        at = second * 1000
        connection.execute(
            sa.update(schedule)
            .where(schedule.c.every_ms == every_ms)
            .values(first_at=at, next_at=at, accounted_until=at - 1)
        )
    engine.dispose()
    time.sleep(max(0.0, second - time.time() - 0.02))
    return float(second)


def _warm(ledger: str, depth: Callable[[], int], broker: str) -> float:
    """Have one schedule sent alone, as in a beat that has been there for a while."""
    begin = due(ledger, WARM)
    sent, _ = _watch(depth, begin, 1)
    drain(broker)
    return 1000 * ((sent or begin + LIMIT) - begin)


def _watch(depth: Any, begin: float, n: int) -> tuple[float | None, float | None]:
    first: float | None = None
    while time.time() < begin + LIMIT:
        found = depth()
        now = time.time()
        if found and first is None:
            first = now
        if found >= n:
            return first, now
        # Rarely enough not to take a core from what is measured.
        time.sleep(0.002 if first is None else 0.01)
    return first, None

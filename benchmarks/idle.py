"""(c) What a beat costs that has nothing to do, by the number of repeats it stores."""

import time
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from benchmarks.stage import Stage, python
from tsumugi_celery.ledger.connect import make_engine, read_url
from tsumugi_celery.ledger.schema import node, schedule

HOUR = 3_600_000
# One repeat that is set through the API is multiplied: what is measured is not how they are set.
SET_ONE = """
from benchmarks.project import repeats
from tsumugi_celery.app import state_of
from benchmarks.project import app
state_of(app).ledger.open()
repeats.set("one", {}, every="1d")
"""


def measure(stage: Stage, number: int, seconds: float) -> dict[str, Any]:
    """Start a real beat over so many repeats, none of them due for an hour."""
    ledger = stage.database("sqlite")
    env = {"BENCH_BROKER": stage.broker("redis"), "BENCH_LEDGER": ledger, "BENCH_REPEATS": "1"}
    with python("-c", SET_ONE, **env) as child:
        if child.wait(60):
            raise RuntimeError("the repeats cannot be set; BENCH_LOUD=1 shows why")
    engine = make_engine(read_url(ledger))
    _multiply(engine, number)
    begin = time.time()
    words = (
        "-m",
        "celery",
        "-A",
        "benchmarks.project",
        "beat",
        "-l",
        "ERROR",
        "--pidfile=",
        "-S",
        "tsumugi_celery:Scheduler",
    )
    with python(*words, **env) as child:
        beats = sa.select(sa.func.count()).where(node.c.role == "beat")
        while True:
            with engine.connect() as connection:
                if connection.execute(beats).scalar_one():
                    break
            if child.poll() is not None:
                raise RuntimeError("the beat ended at once; BENCH_LOUD=1 shows its words")
            time.sleep(0.02)
        started = time.time() - begin
        time.sleep(3)
        process = psutil.Process(child.pid)
        before, at = process.cpu_times(), time.monotonic()
        time.sleep(seconds)
        after, passed = process.cpu_times(), time.monotonic() - at
        used = after.user + after.system - before.user - before.system
        memory = process.memory_info().rss / 2**20
    engine.dispose()
    size = Path(ledger.removeprefix("sqlite:///")).stat().st_size / 2**20
    return {
        "repeats": number,
        "start_s": round(started, 2),
        "cpu_percent": round(100 * used / passed, 2),
        "memory_mb": round(memory, 1),
        "file_mb": round(size, 1),
    }


def _multiply(engine: sa.Engine, number: int) -> None:
    soon = int(time.time() * 1000) + HOUR
    names = [each.name for each in schedule.columns if each.name != "id"]
    given = {
        "name": "printf('account-%07d', n)",
        "next_at": f"{soon} + (n * 7919) % (24 * {HOUR})",
        "first_at": f"{soon} + (n * 7919) % (24 * {HOUR})",
    }
    columns = ", ".join(names)
    values = ", ".join(given.get(each, each) for each in names)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO tsumugi_schedule ({columns}) "
            f"WITH RECURSIVE c(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM c WHERE n < {number}) "
            f"SELECT {values} FROM c, tsumugi_schedule WHERE name = 'one'"
        )
        connection.execute(
            sa.update(schedule).where(schedule.c.name == "one").values(next_at=soon, first_at=soon)
        )

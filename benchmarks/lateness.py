"""(b) How late schedules of one second are, alone and a hundred of them spread over the second."""

import base64
import json
import math
import time
from typing import Any

import redis
import sqlalchemy as sa

from benchmarks.stage import Stage, python
from tsumugi_celery.ledger.connect import make_engine, read_url
from tsumugi_celery.ledger.schema import schedule


def measure(stage: Stage, number: int, seconds: float) -> list[dict[str, Any]]:
    """Measure ours and Celery's own at the same time, each with a queue of its own."""
    urls = {"tsumugi": stage.broker("redis"), "celery": stage.broker("redis")}
    ledger = stage.database("sqlite")
    env = {"BENCH_SECONDLY": str(number)}
    command = ("-m", "celery", "-A", "benchmarks.project", "beat", "-l", "ERROR", "--pidfile=")
    ours = python(
        *command,
        "-S",
        "tsumugi_celery:Scheduler",
        BENCH_BROKER=urls["tsumugi"],
        BENCH_LEDGER=ledger,
        **env,
    )
    own = python(*command, "-s", str(stage.folder() / "own"), BENCH_BROKER=urls["celery"], **env)
    found: dict[str, list[tuple[float, dict[str, Any], list[Any]]]] = {"tsumugi": [], "celery": []}
    with ours, own:
        clients = {kind: redis.Redis.from_url(url) for kind, url in urls.items()}
        for client in clients.values():
            _first(client)
        _spread(ledger, number)
        for client in clients.values():
            client.delete("celery")
        end = time.time() + 4 + seconds
        begin = end - seconds
        while (now := time.time()) < end:
            seen = False
            for kind, client in clients.items():
                raw = client.lpop("celery")
                if raw is not None:
                    seen = True
                    if now >= begin:
                        message = json.loads(raw)
                        args = json.loads(base64.b64decode(message["body"]))[0]
                        found[kind].append((time.time(), message["headers"], args))
            if not seen:
                time.sleep(0.0005)
    late = [at * 1000 - headers["tsumugi"]["at"] for at, headers, _ in found["tsumugi"]]
    return [_row("tsumugi", number, late), _row("celery", number, _own(found["celery"]))]


def _first(client: "redis.Redis") -> None:
    end = time.time() + 30
    while not client.llen("celery"):
        if time.time() > end:
            raise RuntimeError("a beat sends nothing; BENCH_LOUD=1 shows its words")
        time.sleep(0.01)


def _own(messages: list[tuple[float, dict[str, Any], list[Any]]]) -> list[float]:
    """Celery's own has no grid: each run is due a second after the last one of its schedule."""
    last: dict[int, float] = {}
    late = []
    for at, _, (which,) in messages:
        if which in last:
            late.append(1000 * (at - last[which] - 1))
        last[which] = at
    return late


def _spread(ledger: str, number: int) -> None:
    engine = make_engine(read_url(ledger))
    with engine.begin() as connection:
        begin = math.ceil(time.time() + 2) * 1000
        ids = connection.execute(sa.select(schedule.c.id).where(schedule.c.every_ms == 1000))
        for index, each in enumerate(ids.scalars().all()):
            at = begin + index * 1000 // number
            connection.execute(
                sa.update(schedule)
                .where(schedule.c.id == each)
                .values(first_at=at, next_at=at, accounted_until=at - 1)
            )
    engine.dispose()


def _row(kind: str, number: int, late: list[float]) -> dict[str, Any]:
    ordered = sorted(late)
    at = lambda part: round(ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)], 1)  # noqa: E731
    return {
        "what": kind,
        "schedules": number,
        "messages": len(ordered),
        "p50_ms": at(0.5),
        "p99_ms": at(0.99),
        "max_ms": at(1.0),
    }

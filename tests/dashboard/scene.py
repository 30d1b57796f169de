"""A ledger with a past, and the dashboard over it on a real server."""

import threading
import time
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any

from celery.schedules import crontab
from flask import Flask
from sqlalchemy import insert, select, update
from typing_extensions import Self
from werkzeug.serving import make_server

from tests.control.stage import HOUR, MINUTE, TASK, Stage
from tsumugi_celery.engine.clock import Clock
from tsumugi_celery.ledger.schema import attempt, occurrence, schedule, stretch
from tsumugi_celery.web import create_blueprint

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><script>alert(1)</script>"
ROW = {"kind": "job", "target": TASK, "task": TASK, "binding": TASK, "guarantee": "at-least-once"}


class Scene(Stage):
    """An app whose ledger can be given a past; its clock is the real one."""

    def __init__(self, url: str, namespace: str | None = None) -> None:
        super().__init__(url, namespace)
        self.clock = Clock()  # type: ignore[assignment] # nothing here sets it

    @property
    def now(self) -> int:
        return int(time.time() * 1000)

    def ids(self) -> dict[str, int]:
        """The rows of the schedules, by name."""
        with self.tsumugi._state.ledger.begin() as connection:
            query = select(schedule.c.name, schedule.c.id)
            query = query.where(schedule.c.namespace == self.namespace)
            return {row.name: row.id for row in connection.execute(query)}

    def set(self, name: str, **values: Any) -> None:
        """Change the row of a schedule."""
        with self.tsumugi._state.ledger.begin() as connection:
            connection.execute(
                update(schedule)
                .where(schedule.c.namespace == self.namespace, schedule.c.name == name)
                .values(**values)
            )

    def copy(self, name: str, count: int) -> None:
        """Make schedules `<name>-00001` and so on from one; a beat would need long for many."""
        with self.tsumugi._state.ledger.begin() as connection:
            query = select(schedule).where(schedule.c.name == name)
            row = dict(connection.execute(query).one()._mapping)
            del row["id"]
            names = [f"{name}-{number + 1:05}" for number in range(count)]
            rows = [row | {"name": each, "search_text": each} for each in names]
            connection.execute(insert(schedule), rows)

    def occur(self, name: str, at: int, state: str = "COMPLETED", **values: Any) -> str:
        """Write down an execution."""
        identifier = str(values.pop("id", f"{self.namespace}.{name}-{at}"))
        started = None if state in {"QUEUED", "SCHEDULED", "NOT_EXECUTED"} else at + 40
        ended = at + 1_540 if state not in {"QUEUED", "SCHEDULED", "RUNNING"} else None
        row = {
            **ROW,
            "id": identifier,
            "schedule_id": self.ids()[name],
            "namespace": self.namespace,
            "scheduled_at": at,
            "state": state,
            "fired_at": at + 12,
            "started_at": started,
            "ended_at": ended,
            "attempt": 1 if started else 0,
            "worker": "celery@w1" if started else None,
        }
        with self.tsumugi._state.ledger.begin() as connection:
            connection.execute(insert(occurrence).values(row | values))
            if state != "NOT_EXECUTED":
                connection.execute(
                    update(schedule)
                    .where(schedule.c.id == row["schedule_id"])
                    .values(last_run_at=at, last_fired_at=at + 12, last_job_id=identifier)
                )
        return identifier

    def attempt(self, identifier: str, number: int, at: int, state: str, error: str) -> None:
        """Write down an attempt."""
        with self.tsumugi._state.ledger.begin() as connection:
            connection.execute(
                insert(attempt).values(
                    occurrence_id=identifier,
                    attempt=number,
                    state=state,
                    started_at=at,
                    ended_at=at + 700,
                    worker="celery@w1",
                    error=error,
                )
            )

    def miss(self, name: str, first: int, count: int, cause: str, step: int = MINUTE) -> None:
        """Write down times that were not executed."""
        row = self.ids()[name]
        with self.tsumugi._state.ledger.begin() as connection:
            last = first + (count - 1) * step
            connection.execute(
                insert(stretch).values(
                    schedule_id=row,
                    first_at=first,
                    last_at=last,
                    count=count,
                    cause=cause,
                    recorded_at=last,
                )
            )
            column = getattr(schedule.c, f"n_{cause}")
            connection.execute(
                update(schedule)
                .where(schedule.c.id == row)
                .values({column: column + count, "last_skipped_at": last})
            )


def definitions() -> Mapping[str, Any]:
    """Schedules of all kinds."""
    payload = {"binding": TASK, "payload": {"x": 1}}
    return {
        "nightly-report": payload | {"cron": "0 9 * * *", "timeZone": "Asia/Tokyo"},
        "poll-inbox": payload | {"everyMs": 5 * MINUTE},
        "berlin-quarter": payload | {"cron": "*/15 * * * *", "timeZone": "Europe/Berlin"},
        "newfoundland": payload | {"cron": "30 2 * * *", "timeZone": "America/St_Johns"},
        "sync-stock": payload | {"everyMs": 30_000, "maxAttempts": 3},
        HOSTILE: {"task": TASK, "schedule": crontab(minute=0), "args": (1,)},
        "folder/with slash?&#%": {"task": TASK, "schedule": 60.0, "args": (1,)},
    }


def furnish(scene: Scene) -> None:
    """Give the schedules of `definitions` a past."""
    scene.define(definitions())
    scene.beat()
    past = scene.now - scene.now % MINUTE - 30 * HOUR
    for name in definitions():
        scene.set(name, registered_at=past)
    for number in range(29):
        at = past + number * HOUR
        if number == 9:
            scene.occur("nightly-report", at, "FAILED", error="ValueError: no data for today")
        elif number in {14, 15}:
            continue
        else:
            scene.occur("nightly-report", at)
    scene.miss("nightly-report", past + 14 * HOUR, 2, "overlap", HOUR)
    for number in range(12):
        scene.occur("poll-inbox", scene.now - (13 - number) * 5 * MINUTE)
    scene.occur("poll-inbox", scene.now - 20_000, "RUNNING")
    scene.miss("sync-stock", past, 480, "pause", 30_000)
    scene.occur("sync-stock", past + 5 * HOUR, "FAILED", attempt=3, max_attempts=3, error=HOSTILE)
    for number in (1, 2, 3):
        identifier = f"{scene.namespace}.sync-stock-{past + 5 * HOUR}"
        at = past + 5 * HOUR + number * 2000
        scene.attempt(identifier, number, at, "FAILED", "ConnectionError: stock.example refused")
    scene.miss("sync-stock", past + 6 * HOUR, 3, "failure", 30_000)
    scene.set(
        "sync-stock",
        last_error="OperationalError: [Errno 111] Connection refused\nby amqp://broker.example",
        last_error_at=scene.now - HOUR,
    )
    scene.tsumugi.pause("newfoundland")
    scene.occur(HOSTILE, past, "CANCELLED", error=HOSTILE, id=f"{scene.namespace}.img-{past}")


class Served:
    """A Flask app on a real server, in a thread, on a port of its own.

    Werkzeug's server keeps no connection open, so it is gone as soon as it is closed.
    """

    def __init__(self, app: Flask, port: int = 0) -> None:
        self._server = make_server("127.0.0.1", port, app, threaded=True)
        self.port = self._server.port
        self.address = f"http://127.0.0.1:{self.port}"
        serve = partial(self._server.serve_forever, poll_interval=0.05)
        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def mounted(scene: Stage, prefix: str = "/tsumugi", **options: Any) -> Flask:
    """An app with the blueprint alone."""
    app = Flask("dashboard_test")
    app.register_blueprint(create_blueprint(scene.tsumugi, **options), url_prefix=prefix)
    return app

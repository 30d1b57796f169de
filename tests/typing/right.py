"""The public API as a project uses it: both type checkers find nothing wrong here."""

from datetime import datetime, timezone

from celery import Celery, chain, group
from celery.canvas import Signature
from celery.schedules import crontab

from tsumugi_celery import (
    DefinitionError,
    Tsumugi,
    UnknownSchedule,
    define_tsumugi,
    upcoming,
)
from tsumugi_celery.typing import (
    BindingDefinition,
    JobDefinition,
    OccurrenceInfo,
    Schedules,
    payload_for,
)

app = Celery("proj", broker="memory://")


@app.task
def add(x: int, y: int = 0) -> int:
    return x + y


@app.task
def report(day: str) -> None: ...


def of_day(occurrence: OccurrenceInfo) -> dict[str, str]:
    return {"day": occurrence.scheduled_at.date().isoformat()}


def build(value: dict[str, int]) -> "Signature[int]":
    return chain(group(add.s(1, 2), add.s(3, 4)), add.s(value["until"]))


nightly: JobDefinition = {
    "binding": report,
    "payload": of_day,
    "cron": "0 9 * * *",
    "timeZone": "Asia/Tokyo",
    "maxAttempts": 3,
    "backoff": {"kind": "fixed", "delayMs": 500},
}
schedules: Schedules = {
    "nightly": nightly,
    "often": {"binding": add, "payload": payload_for(add, 1, y=2), "every_ms": 60_000},
    "later": {
        "binding": report,
        "payload": lambda o: payload_for(report, day=o.name),
        "everyMs": 60_000,
        "overlap": "overlap",
    },
    "flow": {"flow": "REPORT", "input": {"until": 1}, "everyMs": 60_000, "deadlineMs": 5000},
    "old": {"task": "proj.add", "schedule": crontab(hour=3), "args": (1, 2), "priority": 5},
    "older": {"task": "proj.add", "schedule": 30.0, "kwargs": {"x": 1}},
}
bindings: dict[str, BindingDefinition] = {
    "Sync": {"task": add, "queue": "sync", "shards": 4, "policy": {"perKeyConcurrency": 1}},
}

try:
    tsumugi: Tsumugi = define_tsumugi(
        app,
        schedules=schedules,
        bindings=bindings,
        flows={"REPORT": build},
        database_url="sqlite:///t.sqlite3",
    )
except DefinitionError as error:
    hints: list[str] = [problem.hint for problem in error.problems]
    raise

for view in tsumugi.list(search="night"):
    name: str = view.name
    at: int | None = view.next_run_at
try:
    started: str = tsumugi.trigger("nightly")
except UnknownSchedule as error:
    why: str = str(error)
times: list[datetime] = upcoming(cron="0 9 * * *", after=datetime.now(timezone.utc))

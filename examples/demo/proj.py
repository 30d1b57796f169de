"""The project that `make demo` runs: a broker in a folder, everything else in SQLite."""

import os
import time
from pathlib import Path

from celery import Celery
from celery.schedules import crontab

from tsumugi_celery import define_tsumugi

folder = Path(os.environ.get("DEMO_FOLDER", "demo-data")).absolute()
for name in ("messages", "control"):
    (folder / name).mkdir(parents=True, exist_ok=True)

app = Celery("demo", broker="filesystem://", backend=f"db+sqlite:///{folder}/results.sqlite3")
app.conf.broker_transport_options = {
    "data_folder_in": str(folder / "messages"),
    "data_folder_out": str(folder / "messages"),
    "control_folder": str(folder / "control"),
    "polling_interval": 0.1,
}
app.conf.worker_hijack_root_logger = False
app.conf.broker_connection_retry_on_startup = True


@app.task
def greet(name: str) -> str:
    """Return at once."""
    return f"Hello, {name}"


@app.task
def crawl(pages: int) -> int:
    """Take longer than the interval, so that 'skip' has something to do."""
    time.sleep(2.5)
    return pages


@app.task
def report(since: str) -> str:
    """Get its argument from a function that is called for each execution."""
    return f"everything since {since}"


@app.task
def fragile() -> None:
    """Fail, be tried again, and fail for good."""
    message = "the other side is not there"
    raise ConnectionError(message)


tsumugi = define_tsumugi(
    app,
    database_url=f"sqlite:///{folder}/ledger.sqlite3",
    schedules={
        "quick": {"binding": greet, "payload": ["world"], "everyMs": 1000},
        "slow": {"binding": crawl, "payload": {"pages": 3}, "everyMs": 1000},
        "since": {
            "binding": report,
            "payload": lambda o: {"since": o.scheduled_at.isoformat(timespec="seconds")},
            "everyMs": 3000,
        },
        "fragile": {
            "binding": fragile,
            "payload": {},
            "everyMs": 5000,
            "maxAttempts": 2,
            "backoff": {"kind": "fixed", "delayMs": 500},
        },
        "broken": {"binding": greet, "payload": lambda _o: [1 / 0], "everyMs": 7000},
        "nightly": {
            "binding": greet,
            "payload": ["Tokyo"],
            "cron": "0 9 * * 1-5",
            "timeZone": "Asia/Tokyo",
        },
        # Celery's own form works in the same dict, under the same rules.
        "plain": {"task": greet.name, "schedule": 2.0, "args": ("Celery",)},
        "weekly": {
            "task": greet.name,
            "schedule": crontab(hour=7, minute=30, day_of_week="mon"),
            "args": ("Monday",),
        },
    },
)

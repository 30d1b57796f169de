"""Redis as the broker, PostgreSQL as the ledger; several beats may run at once.

In this folder, with `pip install 'tsumugi-celery[redis,postgres]'`:

    docker compose up --detach                      # or servers of your own, by the variables below
    celery -A proj worker --loglevel INFO
    celery -A proj beat -S tsumugi_celery.Scheduler --loglevel INFO    # once, or once a host
"""

import os
from datetime import timedelta

from celery import Celery
from celery.schedules import crontab

from tsumugi_celery import define_tsumugi

app = Celery(
    "shop",
    broker=os.environ.get("BROKER_URL", "redis://localhost:6379/0"),
    backend=os.environ.get("RESULT_URL", "redis://localhost:6379/1"),
)


@app.task
def open_shop(branch: str) -> str:
    """Run at nine in the morning, Tokyo time, on working days."""
    return f"{branch} is open"


@app.task
def sync_stock(since_ms: int) -> int:
    """Get the time of its own occurrence, so that nothing is read twice or left out."""
    return since_ms


@app.task
def clean_up() -> None:
    """Run by an entry in Celery's own form."""


tsumugi = define_tsumugi(
    app,
    database_url=os.environ.get(
        "LEDGER_URL", "postgresql://postgres:postgres@localhost:5432/postgres"
    ),
    bindings={
        # At most two of these jobs at a time, whatever the number of workers.
        "Stock": {"task": sync_stock.name, "policy": {"concurrency": 2}},
    },
    schedules={
        "open-shop": {
            "binding": open_shop,
            "payload": {"branch": "Ginza"},
            "cron": "0 9 * * 1-5",
            "timeZone": "Asia/Tokyo",
        },
        "sync-stock": {
            "binding": "Stock",
            "payload": lambda o: {"since_ms": o.scheduled_at_ms - 10_000},
            "everyMs": 10_000,
            "maxAttempts": 3,
            "timeoutMs": 8_000,
        },
        "clean-up": {"task": clean_up.name, "schedule": crontab(hour=3, minute=10)},
        "clean-up-often": {"task": clean_up.name, "schedule": timedelta(minutes=30)},
    },
)

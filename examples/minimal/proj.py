"""The smallest project: one task, one schedule, the ledger in a file beside it.

In this folder, each in a terminal of its own:

    celery -A proj worker --loglevel INFO
    celery -A proj beat -S tsumugi_celery.Scheduler --loglevel INFO
"""

import os

from celery import Celery

from tsumugi_celery import define_tsumugi

app = Celery("proj", broker=os.environ.get("BROKER_URL", "redis://localhost:6379/0"))


@app.task
def poll_inbox(folder: str) -> str:
    """Do what has to be done every five seconds."""
    return f"{folder} is empty"


tsumugi = define_tsumugi(
    app,
    schedules={
        "poll-inbox": {"binding": poll_inbox, "payload": {"folder": "INBOX"}, "everyMs": 5000},
    },
)

"""A flow: a chord that is started as one Run, by a schedule or by hand.

In this folder, each in a terminal of its own:

    celery -A proj worker --loglevel INFO
    celery -A proj beat -S tsumugi_celery.Scheduler --loglevel INFO
    celery -A proj tsumugi run $(celery -A proj tsumugi trigger report)
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from celery import Celery, chord

from tsumugi_celery import define_tsumugi

url = os.environ.get("BROKER_URL", "redis://localhost:6379/0")
app = Celery("reports", broker=url, backend=url)  # a chord needs a result backend


@app.task
def fetch(region: str) -> list[int]:
    """Stand for a slow query."""
    return [len(region)]


@app.task
def clean(rows: Sequence[int]) -> int:
    """Take what `fetch` returned."""
    return sum(rows)


@app.task
def publish(totals: Sequence[int], until_ms: int) -> str:
    """Run once, when all regions are done."""
    return f"{sum(totals)} until {until_ms}"


def report(given: Mapping[str, Any]) -> Any:
    """Build the canvas of one Run from its input."""
    parts = [fetch.s(region) | clean.s() for region in given["regions"]]
    return chord(parts, publish.s(until_ms=given["until_ms"]))


tsumugi = define_tsumugi(
    app,
    flows={"REPORT": report},
    schedules={
        "report": {
            "flow": "REPORT",
            "input": lambda o: {"regions": ["eu", "us", "jp"], "until_ms": o.scheduled_at_ms},
            "everyMs": 5000,
            "deadlineMs": 60_000,
        },
    },
)

"""Times as text, and the timing of a Celery-form entry."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from tests.definitions.reading import CELERY, new_app, read

DAY_MS = 86_400_000


def ms(text: str) -> int:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(moment.timestamp() * 1000)


def text(moment_ms: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=moment_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def timing_of(value: Any, **settings: Any) -> Any:
    return read({**CELERY, "schedule": value}, app=new_app(**settings)).timing(0)


def next_times(timing, after, count):
    found, moment = [], ms(after)
    for _ in range(count):
        moment = timing.next_after(moment)
        found.append(text(moment))
    return found

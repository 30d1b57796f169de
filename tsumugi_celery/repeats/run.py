"""What a handler is told about its run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from tsumugi_celery.core.zones import load_zone
from tsumugi_celery.engine.message import HEADER

if TYPE_CHECKING:
    from celery import Task

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Run:
    """One run of a handler.

    Attributes:
        at: when it was due, aware, in the zone of its schedule (UTC for `every`). It stays the
            same for every attempt, and however late the run starts.
        name: of the schedule.
        attempt: 1 for the first.
        occurrence_id: of the run; the Celery task id.
    """

    at: datetime
    name: str
    attempt: int
    occurrence_id: str


def run_of(task: Task, name: str, time_zone: str | None, now: int) -> Run:
    """Return the run that a task's request is about; called by hand it is due now.

    Args:
        task: of the handler.
        name: of its schedule.
        time_zone: of its schedule.
        now: epoch ms.
    """
    request = task.request
    header = request.get(HEADER) or {}
    moment = _EPOCH + timedelta(milliseconds=int(header.get("at", now)))
    zone = timezone.utc if time_zone is None else load_zone(time_zone)
    attempt = int(header.get("base") or 0) + int(request.retries or 0) + 1
    return Run(moment.astimezone(zone), name, attempt, str(request.id or ""))

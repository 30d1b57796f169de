"""The last occurrences of many schedules at once, for a strip of them in the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, union_all

from tsumugi_celery.control.views import Outcome
from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import occurrence as o
from tsumugi_celery.ledger.schema import stretch as s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

#: How many schedules one statement asks about: SQLite joins at most 500 selects.
CHUNK = 100


def recent_of(
    connection: Connection, schedule_ids: Sequence[int], count: int
) -> dict[int, list[Outcome]]:
    """Return the last occurrences of schedules, newest first.

    Each schedule is one walk down an index, so its cost does not grow with the history.

    Args:
        connection: any connection.
        schedule_ids: the schedules.
        count: how many of each at the most; a stretch counts as one.
    """
    found: dict[int, list[Outcome]] = {}
    for start in range(0, len(schedule_ids), CHUNK):
        part = schedule_ids[start : start + CHUNK]
        executed = [
            select(o.c.schedule_id, o.c.id, o.c.scheduled_at, o.c.state, o.c.cause)
            .where(o.c.schedule_id == each)
            .order_by(o.c.scheduled_at.desc())
            .limit(count)
            .subquery()
            for each in part
        ]
        for row in connection.execute(union_all(*(select(each) for each in executed))):
            outcome = Outcome(row.id, row.scheduled_at, 1, row.state, row.cause)
            found.setdefault(row.schedule_id, []).append(outcome)
        skipped = [
            select(s.c.schedule_id, s.c.first_at, s.c.count, s.c.cause)
            .where(s.c.schedule_id == each)
            .order_by(s.c.first_at.desc())
            .limit(count)
            .subquery()
            for each in part
        ]
        for schedule_id, first_at, times, cause in connection.execute(
            union_all(*(select(each) for each in skipped))
        ):
            outcome = Outcome(None, first_at, times, states.NOT_EXECUTED, cause)
            found.setdefault(schedule_id, []).append(outcome)
    return {
        each: sorted(outcomes, key=lambda one: one.scheduled_at, reverse=True)[:count]
        for each, outcomes in found.items()
    }

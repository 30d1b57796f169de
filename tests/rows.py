"""Rows of a ledger that many tests look at."""

from typing import Any

from sqlalchemy import Row, select

from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import occurrence, schedule


def occurrences_of(ledger: Ledger, name: str) -> list[Row[Any]]:
    """The occurrences of a schedule, oldest first."""
    query = (
        select(occurrence)
        .join(schedule, schedule.c.id == occurrence.c.schedule_id)
        .where(schedule.c.name == name)
        .order_by(occurrence.c.scheduled_at)
    )
    with ledger.read() as connection:
        return list(connection.execute(query).all())

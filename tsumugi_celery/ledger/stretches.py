"""Rows of times that were not executed: a long run of them is one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, update

from tsumugi_celery.ledger.schema import stretch as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from tsumugi_celery.core.decide import Skipped


def add(connection: Connection, rows: Sequence[tuple[int, Skipped]], *, at: int) -> None:
    """Record new stretches of (schedule id, times not executed); `at` is the present, epoch ms."""
    if rows:
        connection.execute(
            insert(t),
            [
                {
                    "schedule_id": schedule_id,
                    "first_at": skipped.first,
                    "cause": skipped.cause,
                    "last_at": skipped.last,
                    "count": skipped.count,
                    "recorded_at": at,
                }
                for schedule_id, skipped in rows
            ],
        )


def lengthen(connection: Connection, rows: Sequence[tuple[int, int, Skipped]], *, at: int) -> None:
    """Lengthen stretches: (schedule id, first time of the stretch, the times that come to it)."""
    if rows:
        statement = (
            update(t)
            .where(
                t.c.schedule_id == bindparam("p_schedule"),
                t.c.first_at == bindparam("p_first"),
                t.c.cause == bindparam("p_cause"),
            )
            .values(
                last_at=bindparam("p_last"), count=t.c.count + bindparam("p_count"), recorded_at=at
            )
        )
        connection.execute(
            statement,
            [
                {
                    "p_schedule": schedule_id,
                    "p_first": first,
                    "p_cause": skipped.cause,
                    "p_last": skipped.last,
                    "p_count": skipped.count,
                }
                for schedule_id, first, skipped in rows
            ],
        )

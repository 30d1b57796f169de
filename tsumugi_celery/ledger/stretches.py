"""Rows of times that were not executed: a long run of them is one row."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, update
from sqlalchemy.exc import IntegrityError

from tsumugi_celery.ledger.schema import stretch as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Update

    from tsumugi_celery.core.decide import Skipped


def add(connection: Connection, rows: Sequence[tuple[int, Skipped]], *, at: int) -> None:
    """Record new stretches of (schedule id, times not executed).

    A stretch that is recorded already, as it may be after a clock was set back twice, keeps its
    row: it is made as long as the longer one, since an error here would hold up every schedule.

    Args:
        connection: a transaction that writes.
        rows: the stretches.
        at: the present, epoch ms.
    """
    values = [_row(schedule_id, skipped, at) for schedule_id, skipped in rows]
    if not values:
        return
    try:
        with connection.begin_nested():
            connection.execute(insert(t), values)
    except IntegrityError:
        for row in values:
            _add_one(connection, row)


def _row(schedule_id: int, skipped: Skipped, at: int) -> dict[str, Any]:
    return {
        "schedule_id": schedule_id,
        "first_at": skipped.first,
        "cause": skipped.cause,
        "last_at": skipped.last,
        "count": skipped.count,
        "recorded_at": at,
    }


def _add_one(connection: Connection, row: dict[str, Any]) -> None:
    try:
        with connection.begin_nested():
            connection.execute(insert(t), row)
    except IntegrityError:
        connection.execute(
            update(t)
            .where(
                t.c.schedule_id == row["schedule_id"],
                t.c.first_at == row["first_at"],
                t.c.cause == row["cause"],
                t.c.last_at < row["last_at"],
            )
            .values(last_at=row["last_at"], count=row["count"], recorded_at=row["recorded_at"])
        )


def lengthen(connection: Connection, rows: Sequence[tuple[int, int, Skipped]], *, at: int) -> None:
    """Lengthen stretches: (schedule id, first time of the stretch, the times that come to it)."""
    if rows:
        connection.execute(
            _lengthen(),
            [
                {
                    "p_schedule": schedule_id,
                    "p_first": first,
                    "p_cause": skipped.cause,
                    "p_last": skipped.last,
                    "p_count": skipped.count,
                    "p_at": at,
                }
                for schedule_id, first, skipped in rows
            ],
        )


@cache
def _lengthen() -> Update:
    return (
        update(t)
        .where(
            t.c.schedule_id == bindparam("p_schedule"),
            t.c.first_at == bindparam("p_first"),
            t.c.cause == bindparam("p_cause"),
        )
        .values(
            last_at=bindparam("p_last"),
            count=t.c.count + bindparam("p_count"),
            recorded_at=bindparam("p_at"),
        )
    )

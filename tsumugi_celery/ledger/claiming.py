"""What a claim asks of occurrences, and the rows that it makes: one a scheduled time."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, literal_column, select
from sqlalchemy.exc import IntegrityError

from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.ledger.schema import schedule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Select

_INSERT = insert(t)


def insert_all(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert occurrences; all rows name the same columns.

    Raises:
        IntegrityError: a time has its row already; see `insert_or_lose`.
    """
    if rows:
        connection.execute(_INSERT, rows)


def insert_or_lose(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Insert occurrences; a time that has its row already is left as it is.

    Args:
        connection: a transaction that writes.
        rows: values of the table; all rows name the same columns.

    Returns:
        The ids that were inserted.
    """
    if not rows:
        return set()
    try:
        with connection.begin_nested():
            insert_all(connection, rows)
    except IntegrityError:
        if len(rows) == 1:
            return set()
        middle = len(rows) // 2
        return insert_or_lose(connection, rows[:middle]) | insert_or_lose(connection, rows[middle:])
    return {row["id"] for row in rows}


def unfinished_schedules(connection: Connection, schedule_ids: Sequence[int]) -> set[int]:
    """Return those of the schedules that have an unfinished execution."""
    if not schedule_ids:
        return set()
    return set(connection.execute(_unfinished(), {"p_ids": list(schedule_ids)}).scalars())


@cache
def _unfinished() -> Select[int]:
    return (
        select(t.c.schedule_id)
        .distinct()
        .where(
            t.c.state.in_([literal_column(f"'{each}'") for each in states.UNFINISHED]),
            t.c.schedule_id.in_(bindparam("p_ids", expanding=True)),
            t.c.untracked.is_(False),
        )
    )


def ahead(connection: Connection, schedule_ids: Sequence[int]) -> dict[int, set[int]]:
    """Return the regular times that have a row although they are not accounted for yet.

    Only a clock that ran ahead makes such rows (decision 0020).

    Returns:
        Times in epoch ms, by schedule.
    """
    found: dict[int, set[int]] = {}
    if schedule_ids:
        query = (
            select(t.c.schedule_id, t.c.scheduled_at)
            .join(schedule, schedule.c.id == t.c.schedule_id)
            .where(
                t.c.schedule_id.in_(schedule_ids),
                t.c.scheduled_at > schedule.c.accounted_until,
                t.c.manual == 0,
            )
        )
        for schedule_id, at in connection.execute(query):
            found.setdefault(schedule_id, set()).add(at)
    return found

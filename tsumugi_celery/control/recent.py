"""The last occurrences of many schedules at once, for a strip of them in the list."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, union_all

from tsumugi_celery.control.views import Outcome
from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import occurrence as o
from tsumugi_celery.ledger.schema import stretch as s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Column, CompoundSelect, Connection

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
        executed, skipped = _statements(connection.dialect.name, len(part), count)
        given = {f"schedule_{number}": each for number, each in enumerate(part)}
        for row in connection.execute(executed, given):
            outcome = Outcome(row.id, row.scheduled_at, 1, row.state, row.cause)
            found.setdefault(row.schedule_id, []).append(outcome)
        for schedule_id, first_at, times, cause in connection.execute(skipped, given):
            outcome = Outcome(None, first_at, times, states.NOT_EXECUTED, cause)
            found.setdefault(schedule_id, []).append(outcome)
    return {
        each: sorted(outcomes, key=lambda one: one.scheduled_at, reverse=True)[:count]
        for each, outcomes in found.items()
    }


@lru_cache(maxsize=64)
def _statements(dialect: str, size: int, count: int) -> tuple[CompoundSelect, CompoundSelect]:  # type: ignore[type-arg]
    """Return what asks for executions and for stretches; making them costs more than running."""

    def last(columns: Sequence[Column[Any]], newest: Column[Any]) -> CompoundSelect:  # type: ignore[type-arg]
        parts = [
            select(*columns)
            .where(columns[0] == bindparam(f"schedule_{number}"))
            .order_by(newest.desc())
            .limit(count)
            for number in range(size)
        ]
        # SQLite takes no order within a union. MariaDB makes a table of each subquery, slowly.
        whole = [select(each.subquery()) for each in parts] if dialect == "sqlite" else parts
        return union_all(*whole)

    return (
        last((o.c.schedule_id, o.c.id, o.c.scheduled_at, o.c.state, o.c.cause), o.c.scheduled_at),
        last((s.c.schedule_id, s.c.first_at, s.c.count, s.c.cause), s.c.first_at),
    )

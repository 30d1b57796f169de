"""Occurrences that wait in the ledger: who they are, and how many of each kind are let through."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.ledger.schema import schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

#: (binding, concurrency key or None): those that share a limit.
Group = tuple[str, str | None]
#: Why a SCHEDULED one waits. The ledger sends those of the first three, Celery those of the last.
SLOT = "slot"
BINDING = "binding"
RETRY = "retry"
BROKER = "broker"
HELD = (SLOT, BINDING)
IN_LEDGER = (SLOT, BINDING, RETRY)


def expire(connection: Connection, namespace: str, *, now: int) -> None:
    """Cancel those that may not start any more."""
    connection.execute(
        update(t)
        .where(waits(namespace, IN_LEDGER), t.c.expires_at <= now)
        .values(
            state=states.CANCELLED,
            wait=None,
            due_at=None,
            ended_at=now,
            error="expired while it waited in the ledger",
        )
    )


def ready_again(
    connection: Connection, namespace: str, *, now: int, limit: int
) -> Sequence[Row[Any]]:
    """Return those whose next attempt is due, longest due first; they still have their slots."""
    query = _rows().where(waits(namespace, (RETRY,)), t.c.due_at <= now)
    query = query.order_by(t.c.due_at, t.c.scheduled_at, t.c.id).limit(limit)
    return connection.execute(query).all()


def groups(connection: Connection, namespace: str, *, now: int) -> list[Group]:
    """Return the groups of those that have not been let through."""
    query = (
        select(t.c.binding, t.c.concurrency_key)
        .distinct()
        .where(waits(namespace, HELD), t.c.due_at <= now, t.c.binding.is_not(None))
    )
    return [(name, key) for name, key in connection.execute(query)]


def oldest(
    connection: Connection, namespace: str, group: Group, *, now: int, limit: int
) -> Sequence[Row[Any]]:
    """Return the oldest of a group from `groups`, by their scheduled time."""
    binding, key = group
    column = t.c.concurrency_key
    same = column.is_(None) if key is None else column == key
    query = _rows().where(waits(namespace, HELD), t.c.due_at <= now)
    query = query.where(t.c.binding == binding, same)
    return connection.execute(query.order_by(t.c.scheduled_at, t.c.id).limit(limit)).all()


def used(connection: Connection, namespace: str, names: Sequence[str]) -> Counter[Group]:
    """Count the unfinished ones that were let through, by (binding, None) and (binding, key)."""
    through = (t.c.state != states.SCHEDULED) | t.c.wait.not_in(HELD)
    query = (
        select(t.c.binding, t.c.concurrency_key, func.count())
        .where(
            t.c.state.in_(states.UNFINISHED),
            t.c.namespace == namespace,
            t.c.binding.in_(names),
            # Of such a one nobody will ever say that it has ended.
            t.c.untracked.is_(False),
            through,
        )
        .group_by(t.c.binding, t.c.concurrency_key)
    )
    counted: Counter[Group] = Counter()
    for name, key, count in connection.execute(query):
        counted[name, None] += count
        if key is not None:
            counted[name, key] += count
    return counted


def waits(namespace: str | ColumnElement[str], why: Sequence[str]) -> ColumnElement[bool]:
    """Return what a row fulfils that waits for one of these reasons."""
    return (t.c.state == states.SCHEDULED) & (t.c.namespace == namespace) & t.c.wait.in_(why)


def _rows() -> Select[Any]:
    """Select whole rows, with what `Plans.of` needs of the schedule besides."""
    return select(t, schedule.c.name, schedule.c.active.label("schedule_active")).join(
        schedule, schedule.c.id == t.c.schedule_id
    )

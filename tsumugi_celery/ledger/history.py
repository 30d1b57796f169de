"""Removing old history, a few rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, exists, func, select

from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import attempt, node, occurrence, run_task, schedule, stretch

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


def sweep_ended(
    connection: Connection, namespace: str, state: str, *, before: int, limit: int
) -> int:
    """Remove occurrences that came to `state` before a time, and what hangs on them.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        state: one of `states.FINISHED`.
        before: epoch ms.
        limit: how many at the most.

    Returns:
        How many were removed.
    """
    old = (
        (occurrence.c.namespace == namespace)
        & (occurrence.c.state == state)
        & (occurrence.c.ended_at < before)
    )
    return _sweep(connection, old, occurrence.c.ended_at, limit)


def sweep_untracked(connection: Connection, namespace: str, *, before: int, limit: int) -> int:
    """Remove occurrences sent before a time of which nobody will ever say that they ended."""
    old = (
        (occurrence.c.namespace == namespace)
        & occurrence.c.state.in_((states.QUEUED, states.SCHEDULED))
        & occurrence.c.untracked.is_(True)
        & (occurrence.c.fired_at < before)
    )
    return _sweep(connection, old, occurrence.c.fired_at, limit)


def sweep_stretches(connection: Connection, namespace: str, *, before: int, limit: int) -> int:
    """Remove times not executed that were recorded before a time; their counts stay.

    A stretch that the next time not executed may lengthen is kept.
    """
    growing = exists().where(
        schedule.c.id == stretch.c.schedule_id,
        schedule.c.stretch_first == stretch.c.first_at,
        schedule.c.stretch_cause == stretch.c.cause,
    )
    mine = exists().where(schedule.c.id == stretch.c.schedule_id, schedule.c.namespace == namespace)
    query = (
        select(stretch.c.schedule_id, stretch.c.first_at, stretch.c.cause)
        .where(stretch.c.recorded_at < before, mine, ~growing)
        .order_by(stretch.c.recorded_at)
        .limit(limit)
        .with_for_update(of=stretch, skip_locked=True)
    )
    rows = connection.execute(query).all()
    for row in rows:
        connection.execute(
            delete(stretch).where(
                and_(
                    stretch.c.schedule_id == row.schedule_id,
                    stretch.c.first_at == row.first_at,
                    stretch.c.cause == row.cause,
                )
            )
        )
    return len(rows)


def sweep_nodes(connection: Connection, namespace: str, *, before: int, limit: int) -> int:
    """Remove beats and workers that stopped, or were last seen, before a time.

    The worker seen last is kept: it shows that workers of this package have been here.
    """
    newest = (
        select(node.c.id)
        .where(node.c.namespace == namespace, node.c.role == "worker")
        .order_by(node.c.seen_at.desc())
        .limit(1)
    )
    kept = connection.execute(newest).scalar()
    old = (node.c.namespace == namespace) & (
        func.coalesce(node.c.stopped_at, node.c.seen_at) < before
    )
    query = select(node.c.id).where(old, node.c.id != (kept or "")).limit(limit)
    identifiers = list(connection.execute(query).scalars())
    if identifiers:
        # Seen again meanwhile: then it stays.
        connection.execute(delete(node).where(node.c.id.in_(identifiers), old))
    return len(identifiers)


def _sweep(
    connection: Connection, old: ColumnElement[bool], order: ColumnElement[int], limit: int
) -> int:
    query = (
        select(occurrence.c.id)
        .where(old)
        .order_by(order)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    identifiers = list(connection.execute(query).scalars())
    if identifiers:
        connection.execute(delete(attempt).where(attempt.c.occurrence_id.in_(identifiers)))
        connection.execute(delete(run_task).where(run_task.c.run_id.in_(identifiers)))
        connection.execute(delete(occurrence).where(occurrence.c.id.in_(identifiers)))
    return len(identifiers)

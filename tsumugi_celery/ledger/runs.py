"""Questions about Runs that are under way; all of them few, and found by index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import case, exists, func, select, update

from tsumugi_celery.core import states
from tsumugi_celery.ledger.run_tasks import LIVE, UNFINISHED
from tsumugi_celery.ledger.schema import occurrence
from tsumugi_celery.ledger.schema import run_task as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row


def overdue(connection: Connection, namespace: str, *, now: int) -> Sequence[Row[Any, Any]]:
    """Return the Runs (id, expires_at) whose deadline has passed."""
    query = select(occurrence.c.id, occurrence.c.expires_at).where(
        live(namespace), occurrence.c.expires_at <= now
    )
    return connection.execute(query).all()


def without_tasks_left(connection: Connection, namespace: str, *, limit: int) -> list[str]:
    """Return the ids of Runs that are RUNNING though no task of theirs is out or runs."""
    left = exists().where(t.c.run_id == occurrence.c.id, t.c.state.in_(UNFINISHED))
    query = select(occurrence.c.id).where(
        live(namespace), occurrence.c.state == states.RUNNING, ~left
    )
    return list(connection.execute(query.limit(limit)).scalars())


def running(connection: Connection, namespace: str, *, limit: int) -> Sequence[Row[Any]]:
    """Return the tasks that are running, longest running first."""
    query = select(t).where(t.c.state == states.RUNNING, _of_live(namespace))
    return connection.execute(query.order_by(t.c.started_at).limit(limit)).all()


def stale(connection: Connection, namespace: str, *, before: int, limit: int) -> Sequence[Row[Any]]:
    """Return the tasks that should have started before a moment (epoch ms), oldest first."""
    due = case((t.c.due_at > t.c.queued_at, t.c.due_at), else_=func.coalesce(t.c.queued_at, 0))
    query = select(t).where(t.c.state == states.QUEUED, due < before, _of_live(namespace))
    return connection.execute(query.order_by(due).limit(limit)).all()


def let_go(connection: Connection, run_id: str) -> None:
    """Mark a Run as one that nobody reports of: it does not hold back its schedule."""
    connection.execute(
        update(occurrence)
        .where(occurrence.c.id == run_id, occurrence.c.state.in_(LIVE))
        .values(untracked=True)
    )


def live(namespace: str | ColumnElement[str]) -> ColumnElement[bool]:
    """Return what the occurrence of a Run fulfils that has begun and not ended."""
    return (
        occurrence.c.state.in_(LIVE)
        & (occurrence.c.namespace == namespace)
        & (occurrence.c.kind == "flow")
    )


def _of_live(namespace: str) -> ColumnElement[bool]:
    return exists().where(occurrence.c.id == t.c.run_id, live(namespace))

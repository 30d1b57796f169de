"""Rows of beats and workers: who is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from tsumugi_celery.ledger.schema import node as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row


def register(connection: Connection, **values: object) -> None:
    """Add a node; `role` is 'beat' or 'worker', times are epoch ms."""
    connection.execute(insert(t).values(**values))


def refresh(connection: Connection, node_id: str, *, at: int, info: str | None) -> bool:
    """Count one more heartbeat; False when the row is gone and must be registered anew."""
    statement = (
        update(t)
        .where(t.c.id == node_id)
        .values(beats=t.c.beats + 1, seen_at=at, info=info, stopped_at=None)
    )
    return bool(connection.execute(statement).rowcount)


def stop(connection: Connection, node_id: str, *, at: int) -> None:
    """Note that a node ended in good order."""
    connection.execute(update(t).where(t.c.id == node_id).values(stopped_at=at))


def get(connection: Connection, node_id: str) -> Row[Any] | None:
    """Return one node, or None."""
    return connection.execute(select(t).where(t.c.id == node_id)).one_or_none()


def of_namespace(connection: Connection, namespace: str) -> Sequence[Row[Any]]:
    """Return all nodes of the namespace."""
    return connection.execute(select(t).where(t.c.namespace == namespace)).all()


def forget(connection: Connection, node_ids: Sequence[str]) -> None:
    """Remove nodes that are gone and own nothing any more."""
    if node_ids:
        connection.execute(delete(t).where(t.c.id.in_(node_ids)))

"""Rows of beats and workers: who is there."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, insert, select, update

from tsumugi_celery.ledger.schema import node as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row, Select, Update


def register(connection: Connection, **values: object) -> None:
    """Add a node; `role` is 'beat' or 'worker', times are epoch ms."""
    connection.execute(insert(t).values(**values))


def refresh(connection: Connection, node_id: str, *, at: int, info: str | None) -> bool:
    """Count one more heartbeat; False when the row is gone and must be registered anew."""
    values = {"p_id": node_id, "p_at": at, "p_info": info}
    return bool(connection.execute(_refresh(), values).rowcount)


@cache
def _refresh() -> Update:
    return (
        update(t)
        .where(t.c.id == bindparam("p_id"))
        .values(
            beats=t.c.beats + 1,
            seen_at=bindparam("p_at"),
            info=bindparam("p_info"),
            stopped_at=None,
        )
    )


def stop(connection: Connection, node_id: str, *, at: int) -> None:
    """Note that a node ended in good order."""
    connection.execute(update(t).where(t.c.id == node_id).values(stopped_at=at))


def get(connection: Connection, node_id: str) -> Row[Any] | None:
    """Return one node, or None."""
    return connection.execute(select(t).where(t.c.id == node_id)).one_or_none()


def of_namespace(connection: Connection, namespace: str) -> Sequence[Row[Any]]:
    """Return all nodes of the namespace."""
    return connection.execute(_of_namespace(), {"p_namespace": namespace}).all()


@cache
def _of_namespace() -> Select[Any]:
    return select(t).where(t.c.namespace == bindparam("p_namespace"))


def forget(connection: Connection, node_ids: Sequence[str]) -> None:
    """Remove nodes that are gone and own nothing any more."""
    if node_ids:
        connection.execute(delete(t).where(t.c.id.in_(node_ids)))

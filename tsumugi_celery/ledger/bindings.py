"""Rows of bindings: whether the jobs enqueued to one may run, and the lock of its limits."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from tsumugi_celery.ledger.schema import binding as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Select


def paused(connection: Connection, namespace: str) -> frozenset[str]:
    """Return the names of the bindings that are paused."""
    return frozenset(connection.execute(_paused(), {"p_namespace": namespace}).scalars())


@cache
def _paused() -> Select[str]:
    return select(t.c.name).where(t.c.namespace == bindparam("p_namespace"), t.c.paused.is_(True))


def ensure(connection: Connection, namespace: str, name: str) -> None:
    """Make the row of a binding where there is none."""
    here = (t.c.namespace == namespace) & (t.c.name == name)
    if connection.execute(select(t.c.name).where(here)).one_or_none() is None:
        try:
            with connection.begin_nested():
                connection.execute(insert(t).values(namespace=namespace, name=name))
        except IntegrityError:
            return


def lock(connection: Connection, namespace: str, names: Sequence[str]) -> None:
    """Lock the rows of bindings until the commit; names in order, so that nobody deadlocks."""
    for name in names:
        ensure(connection, namespace, name)
        connection.execute(
            select(t.c.name).where(t.c.namespace == namespace, t.c.name == name).with_for_update()
        )

"""Rows of the histogram of lateness: one a bucket, counted up by all beats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from tsumugi_celery.ledger.schema import lateness as t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row

#: Upper bounds of the buckets, ms.
BOUNDS = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000, 600_000)
#: Stands for what lies above the last bound.
BEYOND = -1


def add(connection: Connection, namespace: str, counts: Mapping[int, tuple[int, int]]) -> None:
    """Add (how many, their lateness in all in ms) to the buckets of a namespace."""
    for bound, (count, total) in sorted(counts.items()):
        here = (t.c.namespace == namespace) & (t.c.bound_ms == bound)
        more = update(t).where(here).values(count=t.c.count + count, total_ms=t.c.total_ms + total)
        if connection.execute(more).rowcount:
            continue
        row = {"namespace": namespace, "bound_ms": bound, "count": count, "total_ms": total}
        try:
            with connection.begin_nested():
                connection.execute(insert(t).values(row))
        except IntegrityError:
            # Another beat made the row in the meantime.
            connection.execute(more)


def of_namespace(connection: Connection, namespace: str) -> Sequence[Row[Any, Any, Any]]:
    """Return the buckets that have been counted: bound_ms, number, total_ms."""
    # Not named `count`: that is a method of every row.
    columns = (t.c.bound_ms, t.c.count.label("number"), t.c.total_ms)
    return connection.execute(select(*columns).where(t.c.namespace == namespace)).all()

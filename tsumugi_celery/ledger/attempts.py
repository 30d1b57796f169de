"""Rows of attempts that have ended; the present one is on its occurrence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from tsumugi_celery.ledger.schema import attempt as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row


def add(connection: Connection, occurrence_id: str, number: int, **values: object) -> None:
    """Record an attempt that has ended; one that is recorded already stays as it is."""
    try:
        with connection.begin_nested():
            connection.execute(
                insert(t).values(occurrence_id=occurrence_id, attempt=number, **values)
            )
    except IntegrityError:
        return


def of_occurrence(connection: Connection, occurrence_id: str) -> Sequence[Row[Any]]:
    """Return the ended attempts of an occurrence, first to last."""
    return connection.execute(
        select(t).where(t.c.occurrence_id == occurrence_id).order_by(t.c.attempt)
    ).all()

"""Rows of occurrences: one a scheduled time, moved by compare-and-set."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, insert, literal_column, select, update
from sqlalchemy.exc import IntegrityError

from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.ledger.schema import schedule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select, Update

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


def get(connection: Connection, occurrence_id: str, *, lock: bool = False) -> Row[Any] | None:
    """Return one occurrence, or None."""
    query = select(t).where(t.c.id == occurrence_id)
    if lock:
        query = query.with_for_update()
    return connection.execute(query).one_or_none()


def settle_sent(connection: Connection, node_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Note that messages were sent: CLAIMED becomes QUEUED; a worker may be ahead.

    Args:
        connection: a transaction that writes.
        node_id: the claiming node; a claim that another node took over is not touched.
        rows: mappings with id, fired_at, body, queue.
    """
    if not rows:
        return
    connection.execute(
        _settling(),
        [
            {
                "p_id": row["id"],
                "p_node": node_id,
                "p_fired": row["fired_at"],
                "p_body": row["body"],
                "p_queue": row["queue"],
            }
            for row in rows
        ],
    )


@cache
def _settling() -> Update:
    mine = (t.c.state == states.CLAIMED) & (t.c.claimed_by == bindparam("p_node"))
    return (
        update(t)
        .where(t.c.id == bindparam("p_id"))
        .values(
            state=case((mine, states.QUEUED), else_=t.c.state),
            fired_at=func.coalesce(t.c.fired_at, bindparam("p_fired")),
            body=func.coalesce(t.c.body, bindparam("p_body")),
            queue=bindparam("p_queue"),
        )
    )


def move(
    connection: Connection,
    occurrence_id: str,
    state: str,
    where: ColumnElement[bool] | None = None,
    **values: object,
) -> bool:
    """Compare-and-set: move an occurrence to `state` from a state that allows it.

    Args:
        connection: any connection.
        occurrence_id: the id.
        state: the new state.
        where: what must hold besides.
        values: further columns to write.

    Returns:
        Whether the row was moved; False when another one was first.
    """
    condition = (t.c.id == occurrence_id) & t.c.state.in_(states.sources(state))
    if where is not None:
        condition &= where
    result = connection.execute(update(t).where(condition).values(state=state, **values))
    return bool(result.rowcount)


def finish(
    connection: Connection,
    occurrence_id: str,
    attempt: int,
    state: str,
    *,
    ended_at: int,
    error: str | None,
) -> bool:
    """Compare-and-set: end an occurrence whose attempt is running.

    Args:
        connection: any connection.
        occurrence_id: the id.
        attempt: the number of the attempt.
        state: one of `states.FINISHED` that may follow RUNNING.
        ended_at: epoch ms.
        error: why it failed; None where it did not.

    Returns:
        Whether it was ended; False when it runs no more, or another attempt of it does.
    """
    values = {
        "p_id": occurrence_id,
        "p_attempt": attempt,
        "p_state": state,
        "p_ended": ended_at,
        "p_error": error,
    }
    return bool(connection.execute(_finishing(), values).rowcount)


@cache
def _finishing() -> Update:
    # Made once: every job needs it, and making it costs more than running it.
    return (
        update(t)
        .where(
            t.c.id == bindparam("p_id"),
            t.c.state == states.RUNNING,
            t.c.attempt == bindparam("p_attempt"),
        )
        .values(
            state=bindparam("p_state"), ended_at=bindparam("p_ended"), error=bindparam("p_error")
        )
    )

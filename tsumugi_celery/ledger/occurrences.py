"""Rows of occurrences: one a scheduled time, moved by compare-and-set."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, select, update

from tsumugi_celery.core import states
from tsumugi_celery.ledger.schedules import CHUNK
from tsumugi_celery.ledger.schema import occurrence as t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Update


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
        rows: mappings with id, fired_at, body (None where the row has it already), queue.
    """
    alike: dict[tuple[int, str | None], list[str]] = {}
    others = []
    for row in rows:
        if row["body"] is None:
            alike.setdefault((row["fired_at"], row["queue"]), []).append(row["id"])
        else:
            others.append(row)
    for (fired_at, queue), ids in alike.items():
        for start in range(0, len(ids), CHUNK):
            values = {"p_node": node_id, "p_fired": fired_at, "p_body": None, "p_queue": queue}
            part = {"p_ids": ids[start : start + CHUNK]}
            connection.execute(_settling_alike(), {**values, **part})
    if others:
        connection.execute(
            _settling_one(),
            [
                {
                    "p_id": row["id"],
                    "p_node": node_id,
                    "p_fired": row["fired_at"],
                    "p_body": row["body"],
                    "p_queue": row["queue"],
                }
                for row in others
            ],
        )


@cache
def _settling_alike() -> Update:
    return _settling(t.c.id.in_(bindparam("p_ids", expanding=True)))


@cache
def _settling_one() -> Update:
    return _settling(t.c.id == bindparam("p_id"))


def _settling(which: ColumnElement[bool]) -> Update:
    mine = (t.c.state == states.CLAIMED) & (t.c.claimed_by == bindparam("p_node"))
    return (
        update(t)
        .where(which)
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

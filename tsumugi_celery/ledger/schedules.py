"""Rows of schedules: what is due, and moving it on."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, insert, or_, select, update

from tsumugi_celery.ledger.schema import schedule as t

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select, Update

#: How many values one IN list or one bulk statement carries.
CHUNK = 500
#: What a claim reads of a schedule that is due: a row has long texts besides.
CLAIMING = (
    t.c.id,
    t.c.namespace,
    t.c.collection,
    t.c.name,
    t.c.overlap,
    t.c.fingerprint,
    t.c.first_at,
    t.c.paused,
    t.c.next_at,
    t.c.accounted_until,
    t.c.last_skipped_at,
    t.c.n_overlap,
    t.c.n_delay,
    t.c.n_pause,
    t.c.stretch_first,
    t.c.stretch_cause,
)


def of_namespace(
    connection: Connection, namespace: str, *, lock: bool = False
) -> dict[str, Row[Any]]:
    """Return the schedules that code owns, by name; removed ones too."""
    query = select(t).where(t.c.namespace == namespace, t.c.collection == "")
    if lock:
        query = query.order_by(t.c.id).with_for_update()
    return {row.name: row for row in connection.execute(query)}


def names(connection: Connection, namespace: str) -> frozenset[str]:
    """Return the names of the schedules that code owns; removed ones too."""
    query = select(t.c.name).where(t.c.namespace == namespace, t.c.collection == "")
    return frozenset(connection.execute(query).scalars())


def find(
    connection: Connection, namespace: str, name: str, *, lock: bool = False
) -> Row[Any] | None:
    """Return one schedule that code owns, or None."""
    query = select(t).where(t.c.namespace == namespace, t.c.collection == "", t.c.name == name)
    if lock:
        query = query.with_for_update()
    return connection.execute(query).one_or_none()


def active_names(connection: Connection, namespace: str) -> frozenset[str]:
    """Return the names of the schedules that code owns and still defines."""
    query = select(t.c.name).where(
        t.c.namespace == namespace, t.c.collection == "", t.c.active.is_(True)
    )
    return frozenset(connection.execute(query).scalars())


def by_ids(connection: Connection, ids: Sequence[int]) -> dict[int, Row[Any]]:
    """Return schedules by their row number."""
    found: dict[int, Row[Any]] = {}
    for start in range(0, len(ids), CHUNK):
        query = select(t).where(t.c.id.in_(ids[start : start + CHUNK]))
        found |= {row.id: row for row in connection.execute(query)}
    return found


def due(
    connection: Connection, namespace: str, *, now: int, limit: int, foreign: Collection[str] = ()
) -> Sequence[Row[Any]]:
    """Lock and return the schedules of the code that are due, longest due first.

    Rows that another beat has locked are left to it.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        now: epoch ms.
        limit: how many at the most.
        foreign: fingerprints of definitions that this beat does not have.
    """
    values = {"p_namespace": namespace, "p_now": now, "p_limit": limit}
    return connection.execute(_due(tuple(sorted(foreign))), values).all()


@lru_cache(maxsize=64)
def _due(foreign: tuple[str, ...]) -> Select[Any]:
    return (
        select(*CLAIMING)
        .where(_waiting(foreign), t.c.next_at <= bindparam("p_now"))
        .order_by(t.c.next_at)
        .limit(bindparam("p_limit"))
        .with_for_update(skip_locked=True)
    )


def next_due(
    connection: Connection, namespace: str, *, foreign: Collection[str] = ()
) -> int | None:
    """Return when the first schedule of the code is due, epoch ms, or None."""
    query = _next_due(tuple(sorted(foreign)))
    return connection.execute(query, {"p_namespace": namespace}).scalar()


@lru_cache(maxsize=64)
def _next_due(foreign: tuple[str, ...]) -> Select[int]:
    return select(func.min(t.c.next_at)).where(_waiting(foreign))


def insert_all(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add schedules."""
    for start in range(0, len(rows), CHUNK):
        connection.execute(insert(t), [dict(row) for row in rows[start : start + CHUNK]])


def update_all(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the given columns of each row, found by its `id`; all rows name the same columns."""
    if not rows:
        return
    connection.execute(
        _update(tuple(name for name in rows[0] if name != "id")),
        [{f"b_{name}": value for name, value in row.items()} for row in rows],
    )


@cache
def _update(columns: tuple[str, ...]) -> Update:
    return (
        update(t)
        .where(t.c.id == bindparam("b_id"))
        .values({name: bindparam(f"b_{name}") for name in columns})
    )


def retire(connection: Connection, ids: Sequence[int]) -> None:
    """Mark schedules as no longer defined; their history stays."""
    for start in range(0, len(ids), CHUNK):
        part = ids[start : start + CHUNK]
        connection.execute(update(t).where(t.c.id.in_(part)).values(active=False, next_at=None))


def record_fired(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Note executions on their schedules, unless a later one is noted already.

    Args:
        connection: a transaction that writes.
        rows: mappings with schedule_id, scheduled_at, fired_at, and job_id or run_id.
    """
    if not rows:
        return
    connection.execute(
        _fired(),
        [
            {
                "p_schedule": row["schedule_id"],
                "p_at": row["scheduled_at"],
                "p_fired": row["fired_at"],
                "p_job": row["job_id"],
                "p_run": row["run_id"],
            }
            for row in rows
        ],
    )


@cache
def _fired() -> Update:
    newer = or_(t.c.last_run_at.is_(None), t.c.last_run_at <= bindparam("p_at"))
    return (
        update(t)
        .where(t.c.id == bindparam("p_schedule"), newer)
        .values(
            last_run_at=bindparam("p_at"),
            last_fired_at=bindparam("p_fired"),
            last_job_id=func.coalesce(bindparam("p_job"), t.c.last_job_id),
            last_run_id=func.coalesce(bindparam("p_run"), t.c.last_run_id),
            last_error=None,
            last_error_at=None,
            # The next time not executed starts a stretch of its own.
            stretch_cause=case(
                (t.c.stretch_first <= bindparam("p_at"), None), else_=t.c.stretch_cause
            ),
        )
    )


def record_failure(
    connection: Connection, schedule_id: int, *, scheduled_at: int, at: int, error: str
) -> None:
    """Count an occurrence that failed to be enqueued, and keep the reason for the list."""
    connection.execute(
        update(t)
        .where(t.c.id == schedule_id)
        .values(
            n_failure=t.c.n_failure + 1,
            last_error=error,
            last_error_at=at,
            last_skipped_at=case(
                (func.coalesce(t.c.last_skipped_at, scheduled_at) <= scheduled_at, scheduled_at),
                else_=t.c.last_skipped_at,
            ),
        )
    )


def record_error(
    connection: Connection, schedule_id: int, *, at: int, error: str, next_at: int
) -> None:
    """Keep why a schedule could not be evaluated, and when it is tried again."""
    connection.execute(
        update(t)
        .where(t.c.id == schedule_id)
        .values(last_error=error, last_error_at=at, next_at=next_at)
    )


def _waiting(foreign: tuple[str, ...]) -> ColumnElement[bool]:
    known: ColumnElement[bool] = (t.c.namespace == bindparam("p_namespace")) & (
        t.c.collection == ""
    )
    return known & t.c.fingerprint.not_in(foreign) if foreign else known

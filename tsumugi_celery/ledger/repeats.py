"""Rows of repeats that the data owns: each statement finds the few it touches by an index."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, case, exists, func, null, or_, select, true, update
from sqlalchemy.dialects import mysql, postgresql, sqlite

from tsumugi_celery.core import states
from tsumugi_celery.core.repeat import HELD, prefix_end
from tsumugi_celery.ledger.schedules import CHUNK, CLAIMING
from tsumugi_celery.ledger.schema import occurrence
from tsumugi_celery.ledger.schema import schedule as t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

#: What `upsert` writes of each row.
COLUMNS = [
    "namespace",
    "collection",
    "name",
    "kind",
    "form",
    "target",
    "every_ms",
    "cron",
    "time_zone",
    "schedule_text",
    "overlap",
    "payload",
    "fingerprint",
    "timing_fingerprint",
    "registered_at",
    "first_at",
    "next_at",
    "accounted_until",
]
_KEY = ("namespace", "collection", "name")
#: MySQL sees the new value of what stands before, so what others depend on is written last.
_ALWAYS = [
    "target",
    "every_ms",
    "cron",
    "time_zone",
    "schedule_text",
    "payload",
    "first_at",
    "timing_fingerprint",
]
#: What an unchanged repeat keeps.
_KEPT = ("registered_at", "accounted_until")


def upsert(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add repeats, or change those that exist; one whose times are unchanged keeps its next time.

    Args:
        connection: a transaction that writes.
        rows: mappings with all of COLUMNS.
    """
    if rows:
        connection.execute(_upsert(connection.dialect.name), [dict(row) for row in rows])


def due(
    connection: Connection, namespace: str, collection: str, *, now: int, limit: int
) -> Sequence[Row[Any]]:
    """Lock and return the repeats that are due, longest due first.

    Rows that another beat has locked are left to it.
    """
    values = {"p_namespace": namespace, "p_collection": collection, "p_now": now, "p_limit": limit}
    return connection.execute(_due(), values).all()


@cache
def _due() -> Select[Any]:
    here = t.c.namespace == bindparam("p_namespace"), t.c.collection == bindparam("p_collection")
    return (
        select(*CLAIMING, t.c.cron, t.c.time_zone, t.c.every_ms, t.c.payload, t.c.last_job_id)
        .where(*here, t.c.next_at <= bindparam("p_now"))
        .order_by(t.c.next_at)
        .limit(bindparam("p_limit"))
        .with_for_update(skip_locked=True)
    )


def next_due(connection: Connection, namespace: str, collections: Sequence[str]) -> dict[str, int]:
    """Return when the first repeat of each collection is due, epoch ms; none where none waits."""
    if not collections:
        return {}
    query = _next_due(tuple(collections))
    found = connection.execute(query, {"p_namespace": namespace}).one()
    return {each: at for each, at in zip(collections, found, strict=True) if at is not None}


@lru_cache(maxsize=64)
def _next_due(collections: tuple[str, ...]) -> Select[Any]:
    here = t.c.namespace == bindparam("p_namespace")
    return select(
        *(
            select(func.min(t.c.next_at))
            .where(here, t.c.collection == each, t.c.next_at < HELD)
            .scalar_subquery()
            for each in collections
        )
    )


def last_ends(connection: Connection, identifiers: Sequence[str]) -> dict[int, int]:
    """Return when the given occurrences ended, by the row of their schedule."""
    found: dict[int, int] = {}
    for start in range(0, len(identifiers), CHUNK):
        query = select(occurrence.c.schedule_id, occurrence.c.ended_at).where(
            occurrence.c.id.in_(identifiers[start : start + CHUNK]),
            occurrence.c.ended_at.is_not(None),
        )
        found |= {row.schedule_id: row.ended_at for row in connection.execute(query)}
    return found


def to_let_go(
    connection: Connection, namespace: str, collections: Sequence[str], *, limit: int
) -> Sequence[Row[Any]]:
    """Lock and return the repeats that waited for a run which has ended."""
    unfinished = exists().where(
        occurrence.c.schedule_id == t.c.id,
        occurrence.c.state.in_(states.UNFINISHED),
        occurrence.c.untracked.is_(False),
    )
    query = (
        select(t)
        .where(t.c.namespace == namespace, t.c.collection.in_(collections))
        .where(t.c.next_at == HELD, ~unfinished)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return connection.execute(query).all()


def find(
    connection: Connection, namespace: str, collection: str, name: str, *, lock: bool = False
) -> Row[Any] | None:
    """Return one repeat that is set, or None."""
    query = select(t).where(_set(namespace, collection), t.c.name == name)
    if lock:
        query = query.with_for_update()
    return connection.execute(query).one_or_none()


def page(
    connection: Connection,
    namespace: str,
    collection: str,
    *,
    prefix: str = "",
    after: str | None = None,
    limit: int,
) -> Sequence[Row[Any]]:
    """Return repeats in the order of their ids' bytes.

    Args:
        connection: any connection.
        namespace: the namespace of the app.
        collection: the name of the repeats.
        prefix: only ids that begin so.
        after: only ids behind this one.
        limit: how many at the most.
    """
    query = select(t).where(_set(namespace, collection), _begins(prefix))
    if after is not None:
        query = query.where(t.c.name > after)
    return connection.execute(query.order_by(t.c.name).limit(limit)).all()


def collections(connection: Connection, namespace: str) -> list[str]:
    """Return the names of the collections that have a repeat set, in order.

    Each is one step down an index, however many repeats it holds.
    """
    found: list[str] = []
    name: str | None = ""
    while name is not None:
        following = select(func.min(t.c.collection)).where(
            t.c.namespace == namespace, t.c.collection > name
        )
        name = connection.execute(following).scalar()
        if name is not None:
            query = select(t.c.id).where(_set(namespace, name)).limit(1)
            if connection.execute(query).first() is not None:
                found.append(name)
    return found


def count(connection: Connection, namespace: str, collection: str, *, prefix: str = "") -> int:
    """Return how many repeats are set."""
    query = select(func.count()).select_from(t).where(_set(namespace, collection), _begins(prefix))
    return int(connection.execute(query).scalar_one())


def change(
    connection: Connection, namespace: str, collection: str, name: str, **values: object
) -> bool:
    """Write columns of one repeat; return whether it is set."""
    here = _set(namespace, collection) & (t.c.name == name)
    return bool(connection.execute(update(t).where(here).values(**values)).rowcount)


def _set(namespace: str, collection: str) -> ColumnElement[bool]:
    return and_(t.c.namespace == namespace, t.c.collection == collection, t.c.active.is_(True))


def _begins(prefix: str) -> ColumnElement[bool]:
    here: ColumnElement[bool] = t.c.name >= prefix
    end = prefix_end(prefix)
    return here if end is None else here & (t.c.name < end)


def _upsert(dialect: str) -> Any:
    values = {name: bindparam(name, type_=t.c[name].type) for name in COLUMNS}
    if dialect in {"mysql", "mariadb"}:
        statement = mysql.insert(t).values(values)
        return statement.on_duplicate_key_update(list(_changes(statement.inserted).items()))
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    upserting = make(t).values(values)
    new = upserting.excluded
    changed = or_(
        t.c.active.is_(False),
        t.c.timing_fingerprint != new.timing_fingerprint,
        t.c.payload != new.payload,
        t.c.target != new.target,
    )
    return upserting.on_conflict_do_update(
        index_elements=list(_KEY), set_=_changes(new), where=changed
    )


def _changes(new: Any) -> dict[str, Any]:
    same = t.c.active.is_(True) & (t.c.timing_fingerprint == new.timing_fingerprint)
    return {
        "next_at": case((same, t.c.next_at), (t.c.paused.is_(True), null()), else_=new.next_at),
        **{name: case((same, t.c[name]), else_=new[name]) for name in _KEPT},
        **{name: new[name] for name in _ALWAYS},
        # No parameter: PyMySQL cannot send many rows at once where one stands behind VALUES.
        "active": true(),
    }

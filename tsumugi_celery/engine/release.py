"""Release: send jobs that wait in the ledger, once nothing holds them back any more.

A job waits for a slot of its `concurrencyKey` or binding, for its binding to be resumed, or for its
next attempt after its worker was lost. Oldest first; a limit holds across all beats, since
whoever counts holds the lock of the binding's row.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from tsumugi_celery.core import states
from tsumugi_celery.engine.claim import Claim
from tsumugi_celery.engine.plan import BINDING, RETRY, SLOT
from tsumugi_celery.ledger import bindings
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.ledger.schema import schedule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row

    from tsumugi_celery.definitions.model import Binding
    from tsumugi_celery.engine.plan import Plan


def release(
    connection: Connection,
    namespace: str,
    plans: Mapping[str, Plan],
    *,
    node_id: str,
    now: int,
    limit: int,
) -> list[Claim]:
    """Claim waiting jobs that may be sent now.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: all schedules of this process, by name.
        node_id: this node.
        now: epoch ms.
        limit: how many at the most.

    Returns:
        The claims to send.
    """
    waiting = _waiting(connection, namespace, now, limit)
    known = [row for row in waiting if row.name in plans]
    if not known:
        return []
    names = sorted({row.binding for row in known if row.binding is not None})
    bindings.lock(connection, namespace, names)
    paused = bindings.paused(connection, namespace)
    used = _used(connection, namespace, names)
    claims = []
    for row in known:
        plan = plans[row.name]
        if row.binding in paused or not _fits(row, plan.definition.binding, used):
            continue
        taken = connection.execute(
            update(t)
            .where(t.c.id == row.id, t.c.state == states.SCHEDULED, t.c.wait == row.wait)
            .values(
                state=states.CLAIMED, claimed_by=node_id, claimed_at=now, wait=None, due_at=None
            )
        )
        if taken.rowcount:
            if row.wait != RETRY:
                _count(used, row)
            claims.append(
                Claim(
                    row.id, row.schedule_id, plan, row.scheduled_at, base=row.attempt, body=row.body
                )
            )
    return claims


def _waiting(connection: Connection, namespace: str, now: int, limit: int) -> Sequence[Row[Any]]:
    query = (
        select(t, schedule.c.name)
        .join(schedule, schedule.c.id == t.c.schedule_id)
        .where(
            t.c.state == states.SCHEDULED,
            t.c.namespace == namespace,
            t.c.wait.in_((SLOT, BINDING, RETRY)),
            t.c.due_at <= now,
        )
        .order_by(t.c.due_at, t.c.scheduled_at, t.c.id)
        .limit(limit)
    )
    return connection.execute(query).all()


def _used(
    connection: Connection, namespace: str, names: Sequence[str]
) -> Counter[tuple[str, str | None]]:
    """Count the jobs let through, by binding and by binding and key."""
    through = (t.c.state != states.SCHEDULED) | t.c.wait.not_in((SLOT, BINDING))
    query = (
        select(t.c.binding, t.c.concurrency_key, func.count())
        .where(
            t.c.state.in_(states.UNFINISHED),
            t.c.namespace == namespace,
            t.c.binding.in_(names),
            through,
        )
        .group_by(t.c.binding, t.c.concurrency_key)
    )
    used: Counter[tuple[str, str | None]] = Counter()
    for name, key, count in connection.execute(query):
        used[name, None] += count
        if key is not None:
            used[name, key] += count
    return used


def _fits(row: Row[Any], binding: Binding | None, used: Counter[tuple[str, str | None]]) -> bool:
    # A job whose worker was lost still has the slot it was let through with.
    if binding is None or row.wait == RETRY:
        return True
    if binding.concurrency is not None and used[row.binding, None] >= binding.concurrency:
        return False
    return (
        row.concurrency_key is None
        or used[row.binding, row.concurrency_key] < binding.per_key_concurrency
    )


def _count(used: Counter[tuple[str, str | None]], row: Row[Any]) -> None:
    used[row.binding, None] += 1
    if row.concurrency_key is not None:
        used[row.binding, row.concurrency_key] += 1

"""Recover: take over what a beat that is gone has claimed (protocol step 5).

So are claims that stand under this beat's own name without it knowing of them: the ledger took the
claim and went away before it could say so.

The occurrence keeps its id, so a message that the lost beat did send is executed once all the same.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, update

from tsumugi_celery.core import states
from tsumugi_celery.engine.claim import Claim
from tsumugi_celery.engine.plan import RETRY
from tsumugi_celery.engine.plans import Plans
from tsumugi_celery.ledger import occurrences
from tsumugi_celery.ledger.schedules import record_failure
from tsumugi_celery.ledger.schema import occurrence, schedule

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from tsumugi_celery.engine.heartbeat import Watch
    from tsumugi_celery.engine.plan import Plan

#: How often a claim is taken over. A payload callable that ends its process would end every beat.
MOST_TAKEN_OVER = 5
REMOVED = "its schedule was removed before its payload callable was called"
DEADLY = (
    f"{MOST_TAKEN_OVER + 1} processes that claimed it vanished before they had sent it; "
    "does its payload callable end its process?"
)


def take_over(
    connection: Connection,
    namespace: str,
    plans: Mapping[str, Plan],
    watch: Watch,
    *,
    node_id: str,
    now: int,
    limit: int,
    in_hand: Collection[str] = (),
) -> list[Claim]:
    """Make the claims of nodes that are gone this node's own.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: all schedules of this process, by name.
        watch: knows who is gone.
        node_id: this node.
        now: epoch ms.
        limit: how many at the most.
        in_hand: ids of this node's own claims that it is still working on.

    Returns:
        The claims to send.
    """
    claimed = _claimed(namespace)
    holders = holders_of_claims(connection, namespace)
    gone = [holder for holder in holders - {node_id} if watch.is_gone(holder)]
    mine = _forgotten(connection, claimed, node_id, in_hand)[:limit] if node_id in holders else []
    if not (gone or mine):
        return []
    query = (
        select(occurrence, schedule.c.name, schedule.c.active.label("schedule_active"))
        .join(schedule, schedule.c.id == occurrence.c.schedule_id)
        .where(claimed, occurrence.c.claimed_by.in_(gone) | occurrence.c.id.in_(mine))
        .limit(limit)
        .with_for_update(of=occurrence, skip_locked=True)
    )
    claims = []
    for row in connection.execute(query).all():
        plan = plans.of(row) if isinstance(plans, Plans) else plans.get(row.name)
        if plan is None:
            # Where the schedule is still defined, the beat that has it takes the claim over.
            if not row.schedule_active:
                give_up(connection, row, now=now)
            continue
        if row.republished >= MOST_TAKEN_OVER:
            give_up(connection, row, now=now, error=DEADLY)
            continue
        connection.execute(
            update(occurrence)
            .where(occurrence.c.id == row.id)
            .values(claimed_by=node_id, claimed_at=now, republished=row.republished + 1)
        )
        claims.append(
            Claim(row.id, row.schedule_id, plan, row.scheduled_at, base=row.attempt, body=row.body)
        )
    return claims


def holders_of_claims(connection: Connection, namespace: str) -> set[str]:
    """Return the nodes that claims stand for."""
    return set(connection.execute(_holders(), {"p_namespace": namespace}).scalars())


@cache
def _holders() -> Select[str]:
    return select(occurrence.c.claimed_by).distinct().where(_claimed(bindparam("p_namespace")))


def _claimed(namespace: str | ColumnElement[str]) -> ColumnElement[bool]:
    return (occurrence.c.state == states.CLAIMED) & (occurrence.c.namespace == namespace)


def _forgotten(
    connection: Connection, claimed: ColumnElement[bool], node_id: str, in_hand: Collection[str]
) -> list[str]:
    query = select(occurrence.c.id).where(claimed, occurrence.c.claimed_by == node_id)
    return sorted(set(connection.execute(query).scalars()) - set(in_hand))


def put_back(connection: Connection, identifiers: Sequence[str], *, node_id: str, now: int) -> None:
    """Return claims that this node cannot send: the next beat that looks sends them."""
    connection.execute(
        update(occurrence)
        .where(
            occurrence.c.id.in_(identifiers),
            occurrence.c.state == states.CLAIMED,
            occurrence.c.claimed_by == node_id,
        )
        .values(state=states.SCHEDULED, wait=RETRY, due_at=now)
    )


def give_up(connection: Connection, row: Row[Any], *, now: int, error: str = REMOVED) -> None:
    """Record that nobody can send an occurrence any more.

    Args:
        connection: a transaction that writes.
        row: the occurrence.
        now: epoch ms.
        error: why; by default, that its schedule was removed, and its arguments would have come
            from a callable that went with it.
    """
    if row.state == states.SCHEDULED:
        occurrences.move(
            connection, row.id, states.CANCELLED, wait=None, due_at=None, ended_at=now, error=error
        )
    elif row.attempt:
        # It has run before, so it is no occurrence "not executed".
        occurrences.move(connection, row.id, states.FAILED, ended_at=now, error=error)
    elif occurrences.move(
        connection, row.id, states.NOT_EXECUTED, cause=states.FAILURE, ended_at=now, error=error
    ):
        record_failure(
            connection, row.schedule_id, scheduled_at=row.scheduled_at, at=now, error=error
        )

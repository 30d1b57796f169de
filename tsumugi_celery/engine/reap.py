"""Reap: settle what a vanished worker left running, by the job's guarantee (protocol step 8)."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from tsumugi_celery.core import states
from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.core.options import AT_MOST_ONCE
from tsumugi_celery.engine.plan import RETRY, UNTIL
from tsumugi_celery.ledger import attempts, occurrences
from tsumugi_celery.ledger.schema import occurrence as t

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tsumugi_celery.engine.heartbeat import Watch


def reap(
    connection: Connection, namespace: str, watch: Watch, *, now: int, limit: int
) -> list[tuple[str, str]]:
    """Settle the running jobs of workers that are gone.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        watch: knows who is gone.
        now: epoch ms.
        limit: how many at the most.

    Returns:
        (occurrence id, its new state).
    """
    holders = connection.execute(
        select(t.c.node_id)
        .distinct()
        .where(t.c.state == states.RUNNING, t.c.namespace == namespace)
    ).scalars()
    gone = [holder for holder in holders if holder is not None and watch.is_gone(holder)]
    if not gone:
        return []
    query = (
        select(t)
        .where(t.c.state == states.RUNNING, t.c.node_id.in_(gone))
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [
        (row.id, settle_lost(connection, row, f"its worker {row.worker} vanished", now=now))
        for row in connection.execute(query).all()
    ]


def settle_lost(
    connection: Connection, row: Row[Any], why: str, *, now: int, timed_out: bool = False
) -> str:
    """Settle one attempt whose process is gone: again, FAILED or STALLED.

    An attempt that was killed at its time limit has failed, whatever the guarantee; it is run
    again only where the schedule gave `maxAttempts`, since Celery does not retry it either.

    Args:
        connection: a transaction that writes.
        row: the running occurrence.
        why: what happened.
        now: epoch ms.
        timed_out: whether it was killed at its hard time limit.

    Returns:
        The new state.
    """
    same = (t.c.attempt == row.attempt) & (t.c.state == states.RUNNING)
    remain = row.attempt < (row.max_attempts or 1)
    values: dict[str, Any] = {"error": why}
    kept = json.loads(row.options or "{}")
    if timed_out and "backoff" not in kept:
        remain = False
    wait = next_wait(row) if remain else 0
    # A repeat is not retried past its next time.
    remain = remain and not (UNTIL in kept and now + wait >= kept[UNTIL])
    if row.guarantee == AT_MOST_ONCE and not timed_out:
        state = states.STALLED
        values |= {"error": f"{why}; under at-most-once it is not run again", "ended_at": now}
    elif remain:
        state = states.SCHEDULED
        values |= {"wait": RETRY, "due_at": now + wait}
    else:
        state = states.FAILED
        values |= {"error": f"{why}; no attempt remains", "ended_at": now}
    if occurrences.move(connection, row.id, state, same, **values):
        attempts.add(
            connection,
            row.id,
            row.attempt,
            state=states.FAILED if state != states.STALLED else state,
            started_at=row.started_at,
            ended_at=now,
            worker=row.worker,
            error=why,
        )
    return state


def next_wait(row: Row[Any]) -> int:
    """Return how long the next attempt of a lost one waits, ms."""
    backoff = json.loads(row.options or "{}").get("backoff")
    if backoff is None:
        return 0
    return Backoff(**backoff).delay_ms(row.attempt, random.random())  # noqa: S311 - jitter, not a secret

"""Retention: old history goes, in small batches that never hold up a tick (decision 0065).

What the list shows stays, since counters and the last execution are columns of the schedule. No
occurrence can run again because its row is gone: a schedule never looks at times before its
`accounted_until`, and the worker side refuses a message without a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsumugi_celery.core import states
from tsumugi_celery.core.ages import DAY_MS
from tsumugi_celery.ledger import history

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tsumugi_celery.core.ages import Retention

#: The most rows that one sweep removes.
BATCH = 200
#: Seconds between two sweeps: while there is more to remove, and when there is not.
BUSY, IDLE = 0.5, 60.0
#: A sweep waits while a schedule is due within this many ms, for at most so many seconds.
CALM, PATIENCE = 300, 30.0
#: Seconds without a sweep after the clock was set: a wrong clock must not age all of history.
AFTER_JUMP = 3600.0
#: How long beats and workers that are gone are remembered.
NODES_MS = DAY_MS


def sweep(
    connection: Connection, namespace: str, retention: Retention, *, now: int, limit: int = BATCH
) -> int:
    """Remove some of what is older than its age.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        retention: the ages.
        now: epoch ms.
        limit: how many rows at the most.

    Returns:
        How many rows were removed; fewer than the limit when no more is left.
    """
    removed = 0
    ages = {
        states.COMPLETED: retention.completed,
        states.FAILED: retention.failed,
        states.CANCELLED: retention.cancelled,
        states.STALLED: retention.stalled,
        states.NOT_EXECUTED: retention.not_executed,
    }
    for state, age in ages.items():
        if age is not None and removed < limit:
            removed += history.sweep_ended(
                connection, namespace, state, before=now - age, limit=limit - removed
            )
    if retention.completed is not None and removed < limit:
        removed += history.sweep_untracked(
            connection, namespace, before=now - retention.completed, limit=limit - removed
        )
    if retention.not_executed is not None and removed < limit:
        removed += history.sweep_stretches(
            connection, namespace, before=now - retention.not_executed, limit=limit - removed
        )
    if removed < limit:
        removed += history.sweep_nodes(
            connection, namespace, before=now - NODES_MS, limit=limit - removed
        )
    return removed

"""Claim repeats that the data owns, and let go those whose run has ended (section 6).

While a run is shorter than its interval, its next time is right from the claim on and nothing more
is written. Only a repeat whose next time finds the run unfinished is held; a chore lets it go once
the run has ended, however that came about: reported, reaped, revoked, expired (decision 0081).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsumugi_celery.core.decide import Decision
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.core.repeat import decide_repeat, repeat_timing
from tsumugi_celery.engine.claim import RETRY_EVALUATION, Batch, Claimed
from tsumugi_celery.ledger import bindings, claiming, repeats, schedules

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tsumugi_celery.engine.repeat_plans import RepeatPlans


def claim_repeats(
    connection: Connection,
    *,
    namespace: str,
    collection: str,
    plans: RepeatPlans,
    node_id: str,
    now: int,
    limit: int,
    careful: bool = False,
) -> Claimed:
    """Decide on the repeats of a collection that are due and record each decision.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        collection: one that this process knows.
        plans: of its collections.
        node_id: who claims.
        now: epoch ms.
        limit: how many repeats at the most.
        careful: whether a time may have its row already.

    Raises:
        IntegrityError: a time has its row already; to be done again, `careful`.
    """
    result = Claimed()
    rows = repeats.due(connection, namespace, collection, now=now, limit=limit)
    result.looked_at = len(rows)
    if not rows:
        return result
    busy = claiming.unfinished_schedules(connection, [row.id for row in rows])
    last = [row.last_job_id for row in rows if row.last_job_id is not None]
    ends = repeats.last_ends(connection, last)
    batch = Batch(connection, node_id, now, bindings.paused(connection, namespace), result)
    for row in rows:
        try:
            decision = decide_repeat(
                repeat_timing(row.cron, row.time_zone, row.every_ms, row.first_at),
                next_at=row.next_at,
                accounted_until=row.accounted_until,
                now=now,
                unfinished=row.id in busy,
                ended_at=ends.get(row.id),
            )
            plan = plans.of(row)
        except Exception as exc:  # noqa: BLE001 - one damaged row must not stop the others
            result.failed.append((f"{collection}: {row.name}", reason(exc)))
            schedules.record_error(
                connection, row.id, at=now, error=reason(exc), next_at=now + RETRY_EVALUATION
            )
            continue
        batch.add(row, plan, Decision(decision.execute_at, (), decision.next_at))
    batch.write(careful=careful)
    return result


def let_go(
    connection: Connection, namespace: str, plans: RepeatPlans, *, now: int, limit: int
) -> int:
    """Give the repeats whose run has ended their next time: the first after its end.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: of the collections of this process.
        now: epoch ms.
        limit: how many at the most.

    Returns:
        How many were let go.
    """
    if not plans:
        return 0
    rows = repeats.to_let_go(connection, namespace, sorted(plans), limit=limit)
    last = [row.last_job_id for row in rows if row.last_job_id is not None]
    ends = repeats.last_ends(connection, last) if last else {}
    updates = []
    for row in rows:
        after = max(row.accounted_until, ends.get(row.id, now))
        try:
            timing = repeat_timing(row.cron, row.time_zone, row.every_ms, row.first_at)
            following = timing.next_after(after)
        except Exception:  # noqa: BLE001 - a damaged row; the claim says so
            following = now
        updates.append({"id": row.id, "next_at": following})
    schedules.update_all(connection, updates)
    return len(rows)

"""Mend: a next time may be wrong after the clock or the zone data changed (design, invariant).

The next time of a schedule is never later than the one computed from now, over the times that are
not dealt with yet. Times recorded as missed stay missed, unless the clock that recorded them was
more than a day ahead: then what has not come yet cannot have been missed, and a schedule that
would stay silent for a year is worse than a corrected record (decision 0020).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from tsumugi_celery.core.reasons import reason
from tsumugi_celery.ledger import schedules
from tsumugi_celery.ledger.schema import schedule, stretch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Row

    from tsumugi_celery.core.timing import Timing
    from tsumugi_celery.engine.plan import Plan

#: How far ahead of now a record may lie before it is taken for a wrong clock's, ms.
WRONG_CLOCK = 24 * 3_600_000


def mend(
    connection: Connection, namespace: str, plans: Mapping[str, Plan], *, now: int
) -> list[tuple[str, str]]:
    """Correct next times that lie too late, or that are no scheduled times any more.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: all schedules of this process, by name.
        now: epoch ms.

    Returns:
        (name, what was corrected).
    """
    mended: list[tuple[str, str]] = []
    updates: list[dict[str, Any]] = []
    for name, row in schedules.of_namespace(connection, namespace, lock=True).items():
        plan = plans.get(name)
        if plan is None or not row.active or plan.definition.fingerprint != row.fingerprint:
            continue
        until = row.accounted_until
        try:
            if until > now + WRONG_CLOCK:
                until = _cut_back(connection, row, plan.definition.timing(row.first_at), now)
                words = "times recorded by a clock that ran more than a day ahead are open again"
                mended.append((name, words))
            expected = _expected(row, plan, max(now, until))
        except Exception as exc:  # noqa: BLE001 - one definition's fault is that definition's alone
            mended.append((name, f"its next time cannot be computed: {reason(exc)}"))
            continue
        overdue = row.next_at is not None and until < row.next_at <= now
        if not overdue and (until != row.accounted_until or expected != row.next_at):
            mended.append((name, f"next time {row.next_at} corrected to {expected}"))
            updates.append({"id": row.id, "next_at": expected, "accounted_until": until})
    schedules.update_all(connection, updates)
    return mended


def _expected(row: Row[Any], plan: Plan, until: int) -> int | None:
    timing = plan.definition.timing(row.first_at)
    if hasattr(timing, "ask"):
        # Such a schedule has no times of its own; only a check far in the future is wrong.
        return min(row.next_at or until, until + 24 * 3_600_000)
    return timing.next_after(until)


def _cut_back(connection: Connection, row: Row[Any], timing: Timing, now: int) -> int:
    """Shorten the stretches that reach into the future; return the time accounted for."""
    late = select(stretch).where(stretch.c.schedule_id == row.id, stretch.c.last_at > now)
    for each in connection.execute(late).all():
        key = (
            (stretch.c.schedule_id == row.id)
            & (stretch.c.first_at == each.first_at)
            & (stretch.c.cause == each.cause)
        )
        past = None if hasattr(timing, "ask") else timing.stretch(each.first_at - 1, now)
        if past is None:
            connection.execute(delete(stretch).where(key))
        else:
            connection.execute(
                update(stretch).where(key).values(last_at=past.last, count=past.count)
            )
        counter = schedule.c[f"n_{each.cause}"]
        kept = past.count if past is not None else 0
        connection.execute(
            update(schedule)
            .where(schedule.c.id == row.id)
            .values({counter: counter - each.count + kept, schedule.c.stretch_cause: None})
        )
    return now

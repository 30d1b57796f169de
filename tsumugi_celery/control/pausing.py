"""Pause and resume a schedule (section 3 of the contract).

The row is locked while it changes, and a beat claims with the row locked too: what was claimed
before a pause goes on, and nothing is claimed after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import update

from tsumugi_celery.control.registering import ensure_registered
from tsumugi_celery.control.times import timing_of
from tsumugi_celery.core.decide import Decision, decide
from tsumugi_celery.engine.claim import account
from tsumugi_celery.ledger.schema import schedule as t

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tsumugi_celery.control.source import Source
    from tsumugi_celery.core.timing import Timing


def pause(source: Source, name: str) -> bool:
    """Suppress the executions of a schedule from now on.

    Returns:
        Whether anything changed: pausing twice is fine.

    Raises:
        UnknownSchedule: no schedule has this name.
    """
    ensure_registered(source, name)

    def work(connection: Connection) -> bool:
        row = _row(source, connection, name)
        if row.paused:
            return False
        values = {"paused": True, "paused_at": source.now()}
        connection.execute(update(t).where(t.c.id == row.id).values(values))
        return True

    return source.transact(work)


def resume(source: Source, name: str) -> bool:
    """Let a schedule run again, from its first time after now.

    The times that passed meanwhile are counted as not executed, those too that no beat has looked
    at. Where this process cannot tell the times of the schedule (a schedule class of the user's
    own, not defined here), those since a beat last looked are left out of the count.

    Returns:
        Whether anything changed: a schedule that is not paused stays as it is.

    Raises:
        UnknownSchedule: no schedule has this name.
    """
    ensure_registered(source, name)

    def work(connection: Connection) -> bool:
        row = _row(source, connection, name)
        if not row.paused:
            return False
        now = source.now()
        account(connection, row, *_passed(source, row, now), now=now)
        until = max(row.accounted_until, now)
        values = {"paused": False, "paused_at": None, "accounted_until": until}
        connection.execute(update(t).where(t.c.id == row.id).values(values))
        return True

    return source.transact(work)


def _row(source: Source, connection: Connection, name: str) -> Row[Any]:
    row = source.row(connection, name, lock=True)
    if row is None:  # pragma: no cover - it was registered a moment ago, and rows are not deleted
        raise source.unknown(connection, name)
    return row


def _passed(source: Source, row: Row[Any], now: int) -> tuple[Decision, Timing | None]:
    try:
        timing = timing_of(row, source.defined.get(row.name))
        if timing is not None and not hasattr(timing, "ask"):
            first = row.next_at if row.next_at is not None else row.accounted_until + 1
            decision = decide(
                timing,
                next_at=first,
                accounted_until=row.accounted_until,
                now=now,
                paused=True,
                blocked=False,
            )
            return decision, timing
    except Exception:  # noqa: BLE001 - a schedule class of the user's own; its beat says what it raises
        timing = None
    # Its beat works out what comes next, and `accounted_until` keeps it from what has passed.
    return Decision(None, (), max(row.next_at or 0, now + 1)), None

"""Cancel, pause and resume one repeat (section 6 of the contract): one rule for all who ask.

The row is locked while it changes, and a beat claims with the row locked too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsumugi_celery.core.repeat import repeat_timing
from tsumugi_celery.ledger import repeats

if TYPE_CHECKING:
    from sqlalchemy import Connection


def cancel(connection: Connection, namespace: str, collection: str, name: str) -> bool:
    """End a repeat; a run under way finishes. Return whether there was one."""
    gone = {"active": False, "next_at": None, "paused": False, "paused_at": None}
    return repeats.change(connection, namespace, collection, name, **gone)


def pause(connection: Connection, namespace: str, collection: str, name: str, *, now: int) -> bool:
    """Let a repeat rest; a run under way finishes. Return whether there is one.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        collection: the name of the repeats.
        name: its id.
        now: epoch ms.
    """
    row = repeats.find(connection, namespace, collection, name, lock=True)
    if row is not None and not row.paused:
        values = {"paused": True, "paused_at": now, "next_at": None}
        repeats.change(connection, namespace, collection, name, **values)
    return row is not None


def resume(connection: Connection, namespace: str, collection: str, name: str, *, now: int) -> bool:
    """Let a repeat run again, from its first time after now. Return whether there is one.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        collection: the name of the repeats.
        name: its id.
        now: epoch ms.
    """
    row = repeats.find(connection, namespace, collection, name, lock=True)
    if row is not None and row.paused:
        timing = repeat_timing(row.cron, row.time_zone, row.every_ms, row.first_at)
        following = timing.next_after(max(now, row.accounted_until))
        values = {"paused": False, "paused_at": None, "next_at": following}
        repeats.change(connection, namespace, collection, name, **values)
    return row is not None

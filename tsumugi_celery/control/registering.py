"""A schedule that no beat has seen yet can be paused and triggered all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from tsumugi_celery.core.errors import LedgerAway
from tsumugi_celery.engine.plan import make_plan
from tsumugi_celery.engine.register import restore

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tsumugi_celery.control.source import Source


def ensure_registered(source: Source, name: str) -> None:
    """Write the row of a schedule that is defined here and not in the ledger yet.

    Reading never registers: a look at a ledger from a developer's branch must not change it.

    Raises:
        UnknownSchedule: no schedule has this name, or it was removed from the code.
    """
    with source.read() as connection:
        if source.row(connection, name) is not None:
            return
    plan = make_plan(source.app, source.state.settings, source.defined[name])

    def work(connection: Connection) -> None:
        restore(connection, source.namespace, {name: plan}, now=source.now())

    try:
        source.transact(work)
    except LedgerAway as exc:
        # A beat that starts at this moment was first.
        if not isinstance(exc.__cause__, IntegrityError):
            raise

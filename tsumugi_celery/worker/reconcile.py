"""Reconcile: what the ledger says runs here is compared with what really does (protocol step 7).

A pool process may be lost in ways that Celery tells nobody of: after the result was stored, with
`task_reject_on_worker_lost`, or with a report in its hands that the ledger could not take yet. The
worker lives, so no reaper comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from tsumugi_celery.core import states
from tsumugi_celery.engine.absent import Absent
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.worker import inventory, report

if TYPE_CHECKING:
    from collections.abc import Callable

    from tsumugi_celery.app import AppState

WHY = "the process that ran it was lost without a report"


class Reconciler:
    """Settles jobs that run here by the ledger alone.

    Args:
        state: of the app.
        patience: seconds that such a row is given: a report may be on its way.
        held: gives the ids of the jobs that this worker has.
    """

    def __init__(
        self, state: AppState, patience: float, held: Callable[[], set[str]] = inventory.held
    ) -> None:
        """Start with nothing missed."""
        self._state = state
        self._held = held
        self._absent: Absent[tuple[str, int]] = Absent(patience)

    def look(self, node_id: str) -> None:
        """Compare once; called after each heartbeat.

        Raises:
            DBAPIError: the ledger is away.
        """
        query = select(t.c.id, t.c.attempt).where(
            t.c.state == states.RUNNING, t.c.node_id == node_id
        )
        with self._state.ledger.read() as connection:
            rows = connection.execute(query).all()
        now, held = self._state.clock.monotonic(), self._held()
        missing = [(row.id, row.attempt) for row in rows if row.id not in held]
        for identifier, attempt in self._absent.overdue(missing, now):
            change = report.lost(
                identifier, self._state.clock.now(), WHY, timed_out=False, attempt=attempt
            )
            self._state.ledger.transact(change)

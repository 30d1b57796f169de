"""Reconcile the tasks of Runs: what the ledger says runs here is compared with what really does.

A pool process may be lost after Celery has stored its result: then Celery tells nobody, and the
worker lives, so no reaper comes. What such a task ended in, the result backend knows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from celery import states as celery_states

from tsumugi_celery.core import states
from tsumugi_celery.engine.absent import Absent
from tsumugi_celery.flows.end import finish_if_done
from tsumugi_celery.ledger import run_tasks
from tsumugi_celery.worker import inventory
from tsumugi_celery.worker.reconcile import WHY

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Row

    from tsumugi_celery.app import AppState

Key = tuple[str, str, int]


class RunReconciler:
    """Settles tasks of Runs that run here by the ledger alone.

    Args:
        state: of the app.
        patience: seconds that such a row is given: a report may be on its way.
        held: gives the ids of the tasks that this worker has.
    """

    def __init__(
        self, state: AppState, patience: float, held: Callable[[], set[str]] = inventory.held
    ) -> None:
        """Start with nothing missed."""
        self._state = state
        self._held = held
        self._absent: Absent[Key] = Absent(patience)

    def look(self, node_id: str) -> None:
        """Compare once; called after each heartbeat.

        Raises:
            DBAPIError: the ledger is away.
        """
        with self._state.ledger.read() as connection:
            rows = {_key(row): row for row in run_tasks.running_on(connection, node_id)}
        now, held = self._state.clock.monotonic(), self._held()
        missing = [key for key, row in rows.items() if row.task_id not in held]
        for key in self._absent.overdue(missing, now):
            self._settle(rows[key])

    def _settle(self, row: Row[str, str, int]) -> None:
        done = self._state.app.AsyncResult(row.task_id).state == celery_states.SUCCESS
        change = partial(_end, row=row, done=done, now=self._state.clock.now())
        self._state.ledger.transact(change)


def _key(row: Row[str, str, int]) -> Key:
    return row.run_id, row.task_id, row.turn


def _end(connection: Connection, row: Row[str, str, int], now: int, *, done: bool) -> None:
    moved = run_tasks.end(
        connection,
        row.run_id,
        row.task_id,
        states.COMPLETED if done else states.FAILED,
        turn=row.turn,
        ended_at=now,
        error=None if done else WHY,
    )
    if moved:
        finish_if_done(connection, row.run_id, now)

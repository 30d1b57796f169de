"""What became of a Run's tasks, and what they send: told to the ledger in this order.

Each report is one compare-and-set. After the end of a task its Run is looked at; where the ledger
is away, both wait in the reporter's queue, in order.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from celery import current_app
from celery import states as celery_states
from celery.exceptions import Reject
from sqlalchemy.exc import SQLAlchemyError

from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.flows.end import IGNORED, finish_if_done
from tsumugi_celery.flows.names import RUN_HEADER, may_be_run
from tsumugi_celery.ledger import run_tasks
from tsumugi_celery.worker.run_guard import RUN_NOTE, RunNote, is_run, may_belong, run_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery
    from sqlalchemy import Connection

    from tsumugi_celery.app import AppState
    from tsumugi_celery.worker.reporter import Reporter

log = logging.getLogger(__name__)

#: What Celery's `Task.replace` raises Ignore with.
REPLACED = "Replaced by new task"


def on_publish(
    reporter: Reporter, root_id: str, headers: dict[str, Any], row: dict[str, Any]
) -> None:
    """Note a message that a process of this worker is about to send."""
    note: RunNote | None = None
    task = current_app.current_worker_task
    if task is not None:
        note = task.request.get(RUN_NOTE)
    if note is not None and note.run_id == root_id:
        state = note.state
        headers[RUN_HEADER] = note.fields
    else:
        # An errback of a lost process, for example, is sent by the main process.
        state = state_of(current_app)
        try:
            if RUN_HEADER not in headers and not is_run(state, root_id):
                return
            headers[RUN_HEADER] = run_fields(state)
        except SQLAlchemyError as exc:
            log.debug("Not known now whether %s is a Run: %s", root_id, reason(exc))
    row["queued_at"] = state.clock.now()
    reporter.report(state.ledger, partial(run_tasks.sent, run_id=root_id, row=row))


def on_postrun(reporter: Reporter, request: Any, state: str | None, retval: Any) -> None:
    """Report the end of a task by what its process knows."""
    note: RunNote | None = request.get(RUN_NOTE)
    if note is None or state is None or state == celery_states.RETRY:
        # A retry was noted as it was sent. Without a state the process is ending, and the main
        # process will say so.
        return
    error: str | None = None
    if state == celery_states.SUCCESS:
        to = states.COMPLETED
    elif state == celery_states.IGNORED and str(retval) == REPLACED:
        # Its id goes on: as the last task, or the body, of what replaces it.
        to = states.SCHEDULED
    elif state == celery_states.IGNORED:
        to, error = states.COMPLETED, IGNORED
    elif state == celery_states.REJECTED and isinstance(retval, Reject) and retval.requeue:
        _requeued(reporter, note)
        return
    else:
        to = states.FAILED
        error = reason(retval) if isinstance(retval, BaseException) else str(retval)
    now = note.state.clock.now()
    change = partial(
        run_tasks.end,
        run_id=note.run_id,
        task_id=note.task_id,
        state=to,
        turn=note.turn,
        ended_at=None if to == states.SCHEDULED else now,
        error=error,
    )
    _report_end(reporter, note.state, note.run_id, change)


def on_revoked(
    reporter: Reporter, app: Celery, request: Any, why: str, *, terminated: bool
) -> None:
    """Report a task that was revoked or has expired; one that runs only if it was terminated."""
    if not may_belong(request):
        return
    state = state_of(app)
    old = run_tasks.OPEN if terminated else (states.SCHEDULED, states.QUEUED)
    change = partial(
        run_tasks.end,
        run_id=request.root_id,
        task_id=request.id,
        state=states.CANCELLED,
        old=old,
        ended_at=state.clock.now(),
        error=why,
    )
    _report_end(reporter, state, request.root_id, change)


def on_lost(reporter: Reporter, state: AppState, task_id: str, why: str) -> None:
    """Report a task whose process was lost, or killed at its time limit."""

    def change(connection: Connection) -> None:
        now = state.clock.now()
        for run_id in run_tasks.runs_of_task(connection, task_id):
            run_tasks.end(connection, run_id, task_id, states.FAILED, ended_at=now, error=why)
            finish_if_done(connection, run_id, now)

    reporter.report(state.ledger, change)


def on_unknown(reporter: Reporter, headers: Mapping[str, Any], task_id: str, why: str) -> None:
    """Report a task that the worker which got its message does not have."""
    root_id = headers.get("root_id")
    if root_id is None or not may_be_run(root_id, task_id):
        return
    state = state_of(current_app)
    change = partial(
        run_tasks.end,
        run_id=root_id,
        task_id=task_id,
        state=states.FAILED,
        old=(states.SCHEDULED, states.QUEUED),
        ended_at=state.clock.now(),
        error=why,
    )
    _report_end(reporter, state, root_id, change)


def _requeued(reporter: Reporter, note: RunNote) -> None:
    change = partial(
        run_tasks.requeue, run_id=note.run_id, task_id=note.task_id, turn=note.turn, due_at=None
    )
    reporter.report(note.state.ledger, change)


def _report_end(reporter: Reporter, state: AppState, run_id: str, change: Any) -> None:
    reporter.report(state.ledger, change)
    try:
        # Nearly always another task is left: that is seen without a lock.
        with state.ledger.read() as connection:
            if run_tasks.unfinished(connection, run_id):
                return
    except SQLAlchemyError as exc:
        log.debug("Whether %s has ended is looked at later: %s", run_id, reason(exc))
    reporter.report(
        state.ledger, lambda connection: finish_if_done(connection, run_id, state.clock.now())
    )

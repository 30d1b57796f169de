"""Where Celery says what became of a task, in child and main process (protocol step 7)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from celery import current_app, signals
from celery import states as celery_states
from celery.exceptions import Reject, TimeLimitExceeded, WorkerLostError

from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.flows import publishing
from tsumugi_celery.worker import report, run_events
from tsumugi_celery.worker.identity import here
from tsumugi_celery.worker.note import note_of
from tsumugi_celery.worker.reporter import Reporter

if TYPE_CHECKING:
    from celery import Task

_reporter = Reporter()


def connect() -> None:
    """Connect to Celery's signals; connecting twice changes nothing."""
    signals.task_postrun.connect(_on_postrun, weak=False, dispatch_uid="tsumugi-postrun")
    signals.task_revoked.connect(_on_revoked, weak=False, dispatch_uid="tsumugi-revoked")
    signals.task_failure.connect(_on_failure, weak=False, dispatch_uid="tsumugi-failure")
    signals.task_unknown.connect(_on_unknown, weak=False, dispatch_uid="tsumugi-unknown")
    publishing.connect(partial(run_events.on_publish, _reporter))
    signals.worker_process_shutdown.connect(_on_end, weak=False, dispatch_uid="tsumugi-child-end")
    signals.worker_shutdown.connect(_on_end, weak=False, dispatch_uid="tsumugi-worker-end")


def forget_parent() -> None:
    """Begin anew in a forked child: reports that wait are the parent's."""
    _reporter.reset()


def _on_postrun(
    sender: Task, state: str | None = None, retval: Any = None, **_kwargs: object
) -> None:
    note = note_of(sender.request)
    if note is None:
        run_events.on_postrun(_reporter, sender.request, state, retval)
        return
    now = note.state.clock.now()
    ended = report.Ended(
        note.occurrence_id,
        note.attempt,
        note.started_at,
        now,
        here.hostname or sender.request.hostname,
    )
    if state == celery_states.SUCCESS:
        change = report.finished(ended, states.COMPLETED)
    elif state == celery_states.RETRY:
        change = report.retried(replace(ended, ended_at=note.failed_at or now), retval)
    elif note.resend_at is not None:
        why = "the broker did not take the next attempt"
        error = reason(note.error) if note.error is not None else why
        change = report.resent(ended, note.resend_at, error)
    elif state == celery_states.IGNORED:
        # The task ended by its own will; Celery keeps no result of it.
        change = report.finished(ended, states.COMPLETED)
    elif state == celery_states.REJECTED and isinstance(retval, Reject) and retval.requeue:
        change = report.requeued(ended, by_ledger=not sender.acks_late)
    elif state is None:
        # Neither returned nor failed: the process is ending, and the main process will say so.
        return
    else:
        change = report.finished(
            ended, states.FAILED, reason(retval) if isinstance(retval, BaseException) else None
        )
    _reporter.report(note.state.ledger, change)


def _on_revoked(
    sender: Task,
    request: Any = None,
    terminated: bool = False,  # noqa: FBT001, FBT002 - the signal's arguments
    signum: object = None,
    expired: bool = False,  # noqa: FBT001, FBT002 - the signal's arguments
    **_kwargs: object,
) -> None:
    if request is None:
        return
    why = (
        "expired before it could start"
        if expired
        else f"terminated ({signum})"
        if terminated
        else "revoked"
    )
    if request.get(HEADER) is None:
        run_events.on_revoked(_reporter, sender.app, request, why, terminated=terminated)
        return
    state = state_of(sender.app)
    _reporter.report(
        state.ledger, report.cancelled(request.id, state.clock.now(), why, terminated=terminated)
    )


def _on_failure(
    sender: Task, task_id: str = "", exception: BaseException | None = None, **_kwargs: object
) -> None:
    # Ordinary exceptions are the child's to report; these two are only known to the main process.
    if not isinstance(exception, (TimeLimitExceeded, WorkerLostError)):
        return
    state = state_of(sender.app)
    timed_out = isinstance(exception, TimeLimitExceeded)
    change = report.lost(task_id, state.clock.now(), reason(exception), timed_out=timed_out)
    _reporter.report(state.ledger, change)
    run_events.on_lost(_reporter, state, task_id, reason(exception))


def _on_unknown(message: Any = None, name: str = "", id: str = "", **_kwargs: object) -> None:  # noqa: A002
    headers = (message.headers if message is not None else None) or {}
    why = f"the worker that got it has no task named {name!r}"
    if HEADER not in headers:
        run_events.on_unknown(_reporter, headers, id, why)
        return
    state = state_of(current_app)
    _reporter.report(state.ledger, report.unknown(id, state.clock.now(), why))


def _on_end(**_kwargs: object) -> None:
    _reporter.flush()

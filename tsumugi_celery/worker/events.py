"""Where Celery says what became of a task, in child and main process (protocol step 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery import current_app, signals
from celery import states as celery_states
from celery.exceptions import Reject, TimeLimitExceeded, WorkerLostError

from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.worker import report
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
        change = report.retried(ended, retval)
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
    if request is None or request.get(HEADER) is None:
        return
    state = state_of(sender.app)
    why = (
        "expired before it could start"
        if expired
        else f"terminated ({signum})"
        if terminated
        else "revoked"
    )
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


def _on_unknown(message: Any = None, name: str = "", id: str = "", **_kwargs: object) -> None:  # noqa: A002
    if not (message is not None and HEADER in (message.headers or {})):
        return
    state = state_of(current_app)
    why = f"the worker that got it has no task named {name!r}"
    _reporter.report(state.ledger, report.unknown(id, state.clock.now(), why))


def _on_end(**_kwargs: object) -> None:
    _reporter.flush()

"""Retry: the schedule's `maxAttempts` and `backoff`, through Celery's own `task.retry`.

With `maxAttempts` the schedule's count wins over the task's own settings (decision 0060). So this
works where the task's function itself is called, inside of Celery's autoretry, and on what the
function calls as `self.retry`. Without `maxAttempts` nothing here takes part.
"""

from __future__ import annotations

import functools
import random
import sys
from typing import TYPE_CHECKING, Any

from celery.exceptions import Ignore, MaxRetriesExceededError, Reject, Retry

from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.worker.note import Note, note_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Task

#: Where these stand among the positional arguments of `Task.retry`.
_EXC, _ETA, _COUNTDOWN, _MAX_RETRIES = 2, 4, 5, 6


def install(task: Task) -> None:
    """Put the schedule's retries into a task: around its function and its `retry`."""
    # Celery's autoretry calls the function by this name.
    name = "_orig_run" if hasattr(task, "_orig_run") else "run"
    setattr(task, name, _retrying(task, getattr(task, name)))
    task.retry = _counted(task, task.retry)


def _retrying(task: Task, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        note = note_of(task.request)
        if note is None or note.inside:
            return function(*args, **kwargs)
        note.inside = True
        try:
            return function(*args, **kwargs)
        except (Retry, Ignore, Reject):
            raise
        except Exception as exc:
            if _may_retry(task, note, exc):
                # From its own line, so that the traceback names the task's error as the cause.
                raise task.retry(exc=exc, throw=False) from exc
            raise

    return run


def _may_retry(task: Task, note: Note, error: Exception) -> bool:
    most = note.max_attempts
    if most is None or note.attempt >= most:
        return False
    # The task's author says that trying again is no use.
    return not isinstance(error, tuple(getattr(task, "dont_autoretry_for", ()) or ()))


def _counted(task: Task, own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def retry(*args: Any, **kwargs: Any) -> Any:
        note = note_of(task.request)
        if note is None or (note.max_attempts is None and note.until is None and not note.here):
            return own(*args, **kwargs)
        if note.max_attempts is not None:
            args = args[:_MAX_RETRIES]
            kwargs.pop("max_retries", None)
        if not _has_time(args, kwargs):
            args = args[:_COUNTDOWN]
            wait = wait_ms(note) / 1000 if note.max_attempts is not None else None
            kwargs["countdown"] = task.default_retry_delay if wait is None else wait
        due = _due(note, args, kwargs)
        error = _error(args, kwargs)
        if note.until is not None and due >= note.until:
            # A repeat is not retried past its next time (section 6): this run has failed.
            raise error
        if note.here:
            _leave_to_ledger(task, note, due, error)
        if note.max_attempts is None:
            return own(*args, **kwargs)
        return _send(task, note, args, kwargs)

    return retry


def _due(note: Note, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    given = dict(zip(("eta", "countdown"), args[_ETA:_MAX_RETRIES], strict=False)) | kwargs
    eta, countdown = given.get("eta"), given.get("countdown")
    if eta is not None:
        return int(eta.timestamp() * 1000)
    return note.state.clock.now() + int(float(countdown or 0) * 1000)


def _error(args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException:
    given: object = kwargs.get("exc") or (args[_EXC] if len(args) > _EXC else sys.exc_info()[1])
    if isinstance(given, BaseException):
        return given
    nothing: BaseException = MaxRetriesExceededError("its next time comes first")
    return nothing


def _leave_to_ledger(task: Task, note: Note, due: int, error: BaseException) -> None:
    """End an attempt in a process without a broker; whoever looks at the ledger next goes on.

    Raises:
        Ignore: the ledger has the next attempt.
        BaseException: the error itself, where the task's own settings allow no further attempt.
    """
    own_limit = task.max_retries if note.max_attempts is None else None
    if own_limit is not None and note.attempt > own_limit:
        raise error
    note.resend_at, note.error = due, error
    raise Ignore("no broker here; the ledger sends the next attempt") from error


def wait_ms(note: Note) -> int:
    """Return how long the next attempt waits by the schedule's `backoff`, ms."""
    backoff = Backoff(**note.header["backoff"])
    return backoff.delay_ms(note.attempt, random.random())  # noqa: S311 - jitter, not a secret


def _has_time(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    given = [*args[_ETA:_MAX_RETRIES], kwargs.get("eta"), kwargs.get("countdown")]
    return any(value is not None for value in given)


def _send(task: Task, note: Note, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # `task.retry(max_retries=...)` would leave its number on the task, for others to find.
    twin = object.__new__(type(task))
    twin.__dict__.update(task.__dict__, max_retries=note.max_retries)
    try:
        return type(task).retry(twin, *args, **kwargs)
    except Reject as exc:
        # The broker did not take it. The attempt has failed; the ledger sends the next one.
        note.resend_at = note.state.clock.now() + wait_ms(note)
        note.error = kwargs.get("exc") or exc.__context__
        raise Ignore("the broker is away; the ledger sends the next attempt") from exc

"""Retry: the schedule's `maxAttempts` and `backoff`, through Celery's own `task.retry`.

With `maxAttempts` the schedule's count wins over the task's own settings (decision 0060). So this
works where the task's function itself is called, inside of Celery's autoretry, and on what the
function calls as `self.retry`. Without `maxAttempts` nothing here takes part.
"""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, Any

from celery.exceptions import Ignore, Reject, Retry

from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.worker.note import Note, note_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Task

#: Where `countdown` and `max_retries` stand among the positional arguments of `Task.retry`.
_ETA, _COUNTDOWN, _MAX_RETRIES = 4, 5, 6


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
        if note is None:
            return own(*args, **kwargs)
        note.failed_at = note.state.clock.now()
        if note.max_attempts is None:
            return own(*args, **kwargs)
        args = args[:_MAX_RETRIES]
        kwargs.pop("max_retries", None)
        if not _has_time(args, kwargs):
            args = args[:_COUNTDOWN]
            kwargs["countdown"] = wait_ms(note) / 1000
        return _send(task, note, args, kwargs)

    return retry


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
